"""Object stores for tests, each a process on 127.0.0.1 with its own temporary folder.

    with servers.FileStore() as store:         # ours: fast, checks signatures, counts each range
        store.put("photos", "a/b.jpg", "/tmp/b.jpg")
        ...store.endpoint, store.key, store.secret, store.counts()

FileStore is also a plain web server (`s3=False`) and speaks TLS (`tls=True`). Moto and Rclone are
servers that others wrote, against whose understanding of S3 a client should be tested; requests to
them pass a FaultProxy, which counts them.
"""
import http.client
import os
import pathlib
import tempfile
import urllib.parse

from . import certificates, control, fault_proxy, processes, sigv4

KEY = "AKIAPENSTOCKTESTS"
SECRET = "not/a+secret/of/anybody/only/of/tests"


class Store:
    """What all have: endpoint, address (host, port), region, key, secret, put, request, counts."""

    scheme = "http"

    def __init__(self, key=KEY, secret=SECRET, region="us-east-1", token=None):
        self.key, self.secret, self.region, self.token = key, secret, region, token
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-store-")
        self.folder = pathlib.Path(self._folder.name)
        self.address = None
        self._processes = []

    @property
    def endpoint(self):
        return f"{self.scheme}://127.0.0.1:{self.address[1]}"

    @property
    def process_id(self):
        return self._processes[0].pid

    def environment(self):
        """The variables from which clients of S3 take endpoint and credentials."""
        named = {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret,
                 "AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region,
                 "AWS_ENDPOINT_URL": self.endpoint, "S3_ENDPOINT_URL": self.endpoint,
                 "AWS_EC2_METADATA_DISABLED": "true"}
        return {**named, "AWS_SESSION_TOKEN": self.token} if self.token else named

    def request(self, method, path, body=b"", headers=None, address=None):
        """Sends one signed request to `path`, percent-encoded, with its query. Returns the status,
        headers by lower-case name, and the body."""
        host, port = address or self.address
        url = f"{self.scheme}://{host}:{port}{path}"
        signed = sigv4.sign(method, url, self.key, self.secret, region=self.region, payload=body,
                            token=self.token, headers=headers)
        connection = http.client.HTTPConnection(host, port, timeout=120)
        try:
            connection.request(method, path, body or None, signed)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return response.status, names, response.read()
        finally:
            connection.close()

    def put(self, bucket, key, file):
        """Stores a copy of `file`, a path or bytes, and makes the bucket if it does not exist."""
        self.make_bucket(bucket)
        body = file if isinstance(file, bytes) else pathlib.Path(file).read_bytes()
        path = f"/{bucket}/{urllib.parse.quote(key)}"
        status, _, answer = self.request("PUT", path, body)
        if status != 200:
            raise RuntimeError(f"PUT {path}: {status}: {answer.decode(errors='replace')}")

    def make_bucket(self, bucket):
        status, _, answer = self.request("PUT", f"/{bucket}")
        if status not in (200, 409):
            raise RuntimeError(f"PUT /{bucket}: {status}: {answer.decode(errors='replace')}")

    def put_folder(self, bucket, folder, prefix=""):
        """Stores all files below `folder`."""
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                self.put(bucket, prefix + os.path.relpath(path, folder), path)

    def close(self):
        for process in reversed(self._processes):
            processes.end(process)
        self._processes.clear()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class FileStore(Store):
    """The rig's own server, `file_server`. `part_bytes` gives objects ETags of multipart uploads;
    buckets in `public` need no signature; a `token` must come with each signed request."""

    def __init__(self, s3=True, tls=False, public=(), port=0, **options):
        super().__init__(**options)
        self.certificate = certificates.Certificate(self.folder) if tls else None
        self.scheme = "https" if tls else "http"
        arguments = ["serve", "--port", port, "--region", self.region]
        if s3:
            arguments += ["--key", self.key, "--secret", self.secret]
        if self.token:
            arguments += ["--token", self.token]
        for bucket in public:
            arguments += ["--public", bucket]
        if tls:
            arguments += ["--certificate", self.certificate.server]
        process, said = processes.start_own(*arguments)
        self._processes.append(process)
        self.address, self.control = ("127.0.0.1", said["port"]), said["control"]

    def put(self, bucket, key, file, part_bytes=None):
        """Stores `file`, bytes or a path whose file must not change; returns the ETag. Files over
        256 KiB are served from where they are."""
        if isinstance(file, bytes):
            with tempfile.NamedTemporaryFile(dir=self.folder) as copy:
                copy.write(file)
                copy.flush()
                return self.put(bucket, key, copy.name, part_bytes)
        return control.call(self.control, "POST", "/put",
                            {"bucket": bucket, "key": key, "file": os.path.abspath(file),
                             "part_bytes": part_bytes})["etag"]

    def put_pattern(self, bucket, key, size, seed=1):
        """Stores an object of any size that takes no room: `objects.pattern` says its bytes."""
        return control.call(self.control, "POST", "/put",
                            {"bucket": bucket, "key": key, "size": size, "seed": seed})["etag"]

    def put_many(self, bucket, prefix, count, folders=1000, size=1000):
        """Stores `count` equal objects, NNNNNNNN.jpg in folders NNNN, that take no room."""
        return control.call(self.control, "POST", "/put_many",
                            {"bucket": bucket, "prefix": prefix, "count": count,
                             "folders": folders, "size": size})["objects"]

    def put_folder(self, bucket, folder, prefix=""):
        return control.call(self.control, "POST", "/put_folder",
                            {"bucket": bucket, "folder": os.path.abspath(folder),
                             "prefix": prefix})["objects"]

    def make_bucket(self, bucket):
        control.call(self.control, "POST", "/bucket", {"bucket": bucket})

    def delete(self, bucket, key):
        control.call(self.control, "POST", "/delete", {"bucket": bucket, "key": key})

    def counts(self):
        """requests, bytes of bodies, connections, get, head, list, other, statuses, under_way,
        most_under_way, and objects: by BUCKET/KEY their requests, bytes, and ranges as
        [first, last, bytes sent]."""
        return control.call(self.control, "GET", "/counts")

    def reset_counts(self):
        control.call(self.control, "POST", "/reset")


class Counted(Store):
    """A foreign server behind a FaultProxy, which counts, and can also make faults."""

    def _count(self, port):
        try:
            self.proxy = fault_proxy.FaultProxy(("127.0.0.1", port))
        except BaseException:
            self.close()
            raise
        self.address = self.proxy.address

    def counts(self):
        """The same names as FileStore.counts, and others."""
        return self.proxy.counts()

    def reset_counts(self):
        self.proxy.reset_counts()

    def close(self):
        if hasattr(self, "proxy"):
            self.proxy.close()
        super().close()


class Moto(Counted):
    """moto's server. It accepts any signature, and is slow: about 500 requests/s."""

    def __init__(self, **options):
        super().__init__(**options)
        port = processes.free_port()
        command = [processes.find_program("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
        self._processes.append(processes.start_foreign(command, port, self.folder / "log"))
        self._count(port)


class Rclone(Counted):
    """`rclone serve s3`, which checks signatures, over a folder of buckets."""

    def __init__(self, **options):
        super().__init__(**options)
        port = processes.free_port()
        buckets = self.folder / "buckets"
        buckets.mkdir()
        command = [processes.find_program("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}",
                   "--auth-key", f"{self.key},{self.secret}", "--dir-cache-time", "0s",
                   "--config", str(self.folder / "rclone.conf"), str(buckets)]
        self._processes.append(processes.start_foreign(command, port, self.folder / "log"))
        self._count(port)
