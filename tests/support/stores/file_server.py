"""A fast HTTP/1.1 server of objects, plain or with S3's dialect, as a process of its own.

It serves /BUCKET/KEY by GET and HEAD with ranges, If-Match, If-None-Match and If-Range, keeps
connections alive, and sends files by sendfile, so that it is no bottleneck. With a key it also
checks signatures, lists, and answers errors as S3 does. Its objects come by the control port, which
also has its counters; `servers.FileStore` starts it. One thread serves all connections.
"""
import argparse
import json
import os
import re
import socket
import threading

from . import certificates, control, counters, loop, objects, processes, s3_dialect, sigv4, wire

_XML = {"Content-Type": "application/xml"}
_DATE = "Mon, 01 Jan 2024 00:00:00 GMT"
_REASONS = {200: "OK", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request",
            403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
            412: "Precondition Failed", 416: "Range Not Satisfiable"}


class Shelf:
    """The buckets and their objects; safe for any number of threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self._buckets = {}
        self._sorted = {}

    def add_bucket(self, bucket):
        with self._lock:
            self._buckets.setdefault(bucket, {})

    def put(self, bucket, key, thing):
        with self._lock:
            self._buckets.setdefault(bucket, {})[key] = thing
            self._sorted.pop(bucket, None)

    def delete(self, bucket, key):
        with self._lock:
            del self._buckets[bucket][key]
            self._sorted.pop(bucket, None)

    def has(self, bucket):
        return bucket in self._buckets

    def find(self, bucket, key):
        return self._buckets.get(bucket, {}).get(key)

    def keys(self, bucket):
        """Returns the sorted keys and the objects by key."""
        with self._lock:
            found = self._buckets[bucket]
            if bucket not in self._sorted:
                self._sorted[bucket] = sorted(found)
            return self._sorted[bucket], found


def span_of(text, size):
    """Parses a Range header: (first, last), None for the whole object, or ValueError for 416."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text.strip())
    if not match or match.groups() == ("", ""):
        return None  # several ranges, or none that one understands: the whole object
    first, last = match.groups()
    if not first:
        if int(last) == 0 or size == 0:
            raise ValueError(text)
        return max(0, size - int(last)), size - 1
    if int(first) >= size:
        raise ValueError(text)
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last), size - 1) if last else size - 1


class Server:
    def __init__(self, context=None, checker=None, public=(), region="us-east-1"):
        self._loop, self._context = loop.Loop(), context
        self.shelf, self.counters = Shelf(), counters.Counters()
        self._checker, self._public, self._region = checker, set(public), region

    def run(self, listener):
        watch = self._loop.watch(listener)
        self._loop.spawn(loop.accept(self._loop, listener, watch, self.serve))
        self._loop.run()

    async def serve(self, sock):
        """Serves one connection to its end."""
        if self._context:
            sock = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        connection = wire.Connection(self._loop, sock)
        self.counters.connected()
        try:
            if self._context:
                await connection.handshake()
            while (head := await connection.read_head()) is not None:
                self.counters.begin()
                if not await self._answer(connection, head):
                    break
        except wire.Broken:
            pass
        finally:
            connection.close()
            self.counters.disconnected()

    async def _answer(self, connection, head):
        """Answers one request; returns whether the connection stays."""
        method, target = head.first[0], head.first[1]
        kind, name = counters.kind_of(method, target)
        keep = not head.has("connection", "close") and head.first[-1] != "HTTP/1.0"
        status, sent, span = 500, 0, None
        try:
            if head.length:
                await connection.read_exactly(min(head.length, wire.MAX_COLLECTED_BYTES))
            status, headers, body, span, thing = self._response(method, target, name, head)
            length = span[1] - span[0] + 1 if span else len(body)
            text = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}",
                    "Server: penstock-test-store", f"Content-Length: {length}",
                    f"Connection: {'keep-alive' if keep else 'close'}",
                    *(f"{key}: {value}" for key, value in headers.items())]
            start = "\r\n".join(text).encode("latin-1") + b"\r\n\r\n"
            if method == "HEAD" or status == 304:
                span = None
                await connection.send(start)
            elif span is None:
                await connection.send(start + body)
                sent = len(body)
            else:
                async for sent in self._send(connection, start, thing, span):  # noqa: B007
                    pass
        finally:
            self.counters.end(kind, status, name, span, sent)
        return keep

    def _response(self, method, target, name, head):
        """Returns the status, headers, a body, or what to send as (first, last) of an object."""
        bucket, _, key = name.partition("/")
        path, _, query = target.partition("?")
        try:
            if method not in ("GET", "HEAD"):
                raise sigv4.Refused(405, "MethodNotAllowed", "The specified method is not allowed "
                                                             "against this resource.")
            if self._checker and bucket not in self._public:
                self._checker.check(method, target, head.headers)
            if not self.shelf.has(bucket):
                raise sigv4.Refused(404, "NoSuchBucket", "The specified bucket does not exist",
                                    BucketName=bucket)
            if key:
                status, headers, span, thing = self._object(bucket, key, head)
                return status, headers, b"", span, thing
            return 200, dict(_XML), self._bucket(bucket, query), None, None
        except sigv4.Refused as refusal:
            headers = {**refusal.details.pop("headers", {}), **_XML}
            body = s3_dialect.error(refusal.code, refusal.message, path, **refusal.details)
            return refusal.status, headers, body, None, None

    def _bucket(self, bucket, query):
        if self._checker is None:
            raise sigv4.Refused(404, "NoSuchKey", "this server does not list")
        if "location" in query.split("&")[0]:
            return s3_dialect.location(self._region)
        keys, found = self.shelf.keys(bucket)
        try:
            return s3_dialect.list_objects(bucket, keys, found, query)
        except ValueError as error:
            raise sigv4.Refused(400, "InvalidArgument", str(error)) from None

    def _object(self, bucket, key, head):
        """Returns the status, headers, what to send as (first, last), and the object."""
        thing = self.shelf.find(bucket, key)
        if thing is None:
            raise sigv4.Refused(404, "NoSuchKey", "The specified key does not exist.", Key=key)
        asked = head.headers
        headers = {"ETag": thing.etag, "Accept-Ranges": "bytes", "Last-Modified": _DATE}
        if "if-match" in asked and not self._names(asked["if-match"], thing.etag):
            raise sigv4.Refused(412, "PreconditionFailed", "At least one of the pre-conditions you "
                                "specified did not hold", Condition="If-Match", headers=headers)
        if "if-none-match" in asked and self._names(asked["if-none-match"], thing.etag):
            return 304, headers, None, thing
        headers["Content-Type"] = "application/octet-stream"
        wanted = asked.get("range")
        if wanted and asked.get("if-range", thing.etag) != thing.etag:
            wanted = None
        try:
            span = span_of(wanted, thing.size) if wanted else None
        except ValueError:
            raise sigv4.Refused(416, "InvalidRange", "The requested range is not satisfiable",
                                ActualObjectSize=thing.size, RangeRequested=wanted,
                                headers={"Content-Range": f"bytes */{thing.size}"}) from None
        if span:
            headers["Content-Range"] = f"bytes {span[0]}-{span[1]}/{thing.size}"
            return 206, headers, span, thing
        return 200, headers, (0, thing.size - 1), thing

    @staticmethod
    def _names(text, etag):
        return text.strip() == "*" or etag in (part.strip() for part in text.split(","))

    @staticmethod
    async def _send(connection, start, thing, span):
        """Yields how many bytes of the object have been sent so far."""
        done = sent = 0
        for data, fd, offset, count in thing.pieces(span[0], span[1] - span[0] + 1):
            if data is not None:
                await connection.send(start + data)
                yield len(data)
                return
            async for sent in connection.send_file(start, fd, offset, count):
                yield done + sent
            start, done = b"", done + count
        if start:
            await connection.send(start)

    def actions(self):
        def put(value):
            part_bytes = value.get("part_bytes")
            if "size" in value:
                thing = objects.Pattern(value["size"], value.get("seed", 1))
            else:
                thing = objects.load(value["file"], part_bytes)
            self.shelf.put(value["bucket"], value["key"], thing)
            return {"etag": thing.etag, "size": thing.size}

        def put_folder(value):
            folder, count = value["folder"], 0
            for place, _, names in os.walk(folder):
                for name in names:
                    path = os.path.join(place, name)
                    key = value.get("prefix", "") + os.path.relpath(path, folder)
                    self.shelf.put(value["bucket"], key, objects.load(path))
                    count += 1
            return {"objects": count}

        def put_many(value):
            thing, folders = objects.Pattern(value["size"]), value["folders"]
            for number in range(value["count"]):
                key = f"{value['prefix']}{number % folders:04d}/{number:08d}.jpg"
                self.shelf.put(value["bucket"], key, thing)
            return {"objects": value["count"]}

        return {
            "POST /put_many": put_many,
            "POST /bucket": lambda value: self.shelf.add_bucket(value["bucket"]),
            "POST /put": put,
            "POST /put_folder": put_folder,
            "POST /delete": lambda value: self.shelf.delete(value["bucket"], value["key"]),
            "GET /counts": lambda _: self.counters.read(),
            "POST /reset": lambda _: self.counters.reset(),
        }


def main(arguments):
    parser = argparse.ArgumentParser(prog="stores serve", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", help="check signatures by this access key, and answer as S3")
    parser.add_argument("--secret", default="secret")
    parser.add_argument("--token", help="session token that requests must carry")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--public", action="append", default=[], help="bucket open to anyone")
    parser.add_argument("--certificate", help="PEM file with certificate and key: use TLS")
    options = parser.parse_args(arguments)
    processes.take_all_descriptors()
    context = certificates.load_context(options.certificate)
    checker = None
    if options.key:
        checker = sigv4.Checker(options.key, options.secret, options.region, options.token)
    server = Server(context, checker, options.public, options.region)
    listener = socket.create_server(("127.0.0.1", options.port), backlog=1024)
    control_port = control.serve(server.actions())
    print(json.dumps({"port": listener.getsockname()[1], "control": control_port}), flush=True)
    server.run(listener)
