"""The client of object stores, against servers that check signatures and a proxy that makes faults."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from stores import fault_proxy, objects, processes, servers  # noqa: E402  (after the path)

PROGRAM = ""
NAMES = ("plain", "with space", "plus+and&", "ümläut/deep/=;,", "per%25cent", "tilde~(x)!'*", "a//b", "./../x", "?#")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("AWS_", "GCS_", "CURL_", "SSL_")) and not name.lower().endswith("_proxy")}
CLEAN["AWS_EC2_METADATA_DISABLED"] = "true"


def run(*words, environment=None, timeout_s=60):
    """Runs read_object: its lines."""
    ran = subprocess.run([PROGRAM, *map(str, words)], env={**CLEAN, "HOME": "/nonexistent", **(environment or {})},
                         capture_output=True, text=True, timeout=timeout_s)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


class StoreCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = servers.FileStore(public=("open",))
        cls.addClassCleanup(cls.store.close)
        cls.proxy = fault_proxy.FaultProxy(cls.store.address)
        cls.addClassCleanup(cls.proxy.close)
        for name in NAMES:
            cls.store.put("names", name, name.encode())
        cls.store.put_pattern("names", "big", 50 << 30)
        cls.store.put_pattern("open", "public", 1 << 20)

    def setUp(self):
        self.proxy.clear()

    def keys(self):
        return {"AWS_ACCESS_KEY_ID": self.store.key, "AWS_SECRET_ACCESS_KEY": self.store.secret}

    def call(self, *words, through=None, **options):
        endpoint = (through or self.store).endpoint
        options.setdefault("environment", self.keys())
        environment = options.pop("environment")
        named = [f"{name}={value}" for name, value in options.items()]
        return run(f"endpoint={endpoint}", *named, *words, environment=environment)

    def read(self, url, offset, count, *more, **options):
        lines = self.call("read", url, offset, count, *more, **options)
        return lines[0], bytes.fromhex(lines[1]) if len(lines) > 1 else b"", int(lines[2]) if len(lines) > 2 else 0


class SignedTest(StoreCase):
    def test_objects_of_any_name_are_read(self):
        for name in NAMES:
            with self.subTest(name):
                status, data, _ = self.read(f"s3://names/{name}", 0, len(name.encode()))
                self.assertEqual((status, data), ("OK", name.encode()))

    def test_a_range_far_into_an_object_is_that_range(self):
        offset = (49 << 30) + 12345
        status, data, _ = self.read("s3://names/big", offset, 100_000)
        self.assertEqual(status, "OK")
        self.assertEqual(data, objects.pattern(1, offset, 100_000))

    def test_wrong_keys_and_no_keys_are_refused_in_words_without_a_secret(self):
        wrong = {**self.keys(), "AWS_SECRET_ACCESS_KEY": "wrong" * 8}
        for environment in (wrong, {}):
            [status] = self.call("stat", "s3://names/plain", environment=environment)
            self.assertIn("PERMISSION_DENIED", status)
            self.assertIn("'s3://names/plain'", status)
            self.assertNotIn("wrong", status)

    def test_a_public_object_needs_no_keys(self):
        status, data, _ = self.read("s3://open/public", 0, 10, environment={})
        self.assertEqual((status, data), ("OK", objects.pattern(1, 0, 10)))

    def test_keys_come_from_a_profile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            file.write(f"[default]\naws_access_key_id=x\naws_secret_access_key=y\n[mine]\n"
                       f"aws_access_key_id = {self.store.key}\naws_secret_access_key = {self.store.secret}\n")
            file.flush()
            environment = {"AWS_SHARED_CREDENTIALS_FILE": file.name, "AWS_PROFILE": "mine"}
            self.assertEqual(self.read("s3://names/plain", 0, 5, environment=environment)[1], b"plain")
            [status] = self.call("stat", "s3://names/plain", environment={**environment, "AWS_PROFILE": "none"})
            self.assertIn("there is no profile 'none'", status)

    def test_a_missing_object_is_named(self):
        [status] = self.call("stat", "s3://names/nothing")
        self.assertIn("NOT_FOUND: 's3://names/nothing' is not there (404", status)

    def test_rclone_accepts_the_signatures(self):
        try:
            rclone = servers.Rclone()
        except processes.Missing as error:
            self.skipTest(str(error))
        with rclone:
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"0123456789")
                file.flush()
                rclone.put("names", "with space+", file.name)
            keys = {"AWS_ACCESS_KEY_ID": rclone.key, "AWS_SECRET_ACCESS_KEY": rclone.secret}
            lines = run(f"endpoint={rclone.endpoint}", "read", "s3://names/with space+", 2, 5, environment=keys)
            self.assertEqual(lines[:2], ["OK", b"23456".hex()])


class PinnedTest(StoreCase):
    def test_another_version_is_never_read(self):
        self.proxy.add("etag", method="GET")
        [status] = self.call("read", "s3://names/plain", 0, 5, through=self.proxy)
        self.assertIn("DATA_LOSS: 's3://names/plain' has changed since it was indexed", status)

    def test_what_is_cut_off_is_read_again_and_then_is_trouble(self):
        for fault in ("reset", "truncate"):
            with self.subTest(fault):
                self.proxy.clear()
                self.proxy.add(fault, after_bytes=1000, method="GET", count=2)
                status, data, retries = self.read("s3://names/big", 7, 50_000, through=self.proxy)
                self.assertEqual((status, data, retries), ("OK", objects.pattern(1, 7, 50_000), 2))
        self.proxy.add("truncate", after_bytes=1000, method="GET")
        status, _, _ = self.read("s3://names/big", 7, 50_000, through=self.proxy, tries=2)
        self.assertIn("UNAVAILABLE: 's3://names/big'", status)

    def test_another_range_than_the_one_asked_for_is_refused(self):
        for fault, how in (("shifted", {"by": 7}), ("content_range", {"by": 7}), ("short", {}), ("ignore_range", {})):
            with self.subTest(fault):
                self.proxy.clear()
                self.proxy.add(fault, method="GET", **how)
                status, _, _ = self.read("s3://names/big", 1000, 5000, through=self.proxy, tries=1)
                self.assertRegex(status, "^(DATA_LOSS|UNAVAILABLE): 's3://names/big'")

    def test_a_storm_of_503_passes(self):
        for fault in ("slow_down", "too_many"):
            with self.subTest(fault):
                self.proxy.clear()
                self.proxy.add(fault, count=2)
                status, data, _ = self.read("s3://names/plain", 0, 5, through=self.proxy)
                self.assertEqual((status, data), ("OK", b"plain"))

    def test_a_store_that_falls_silent_is_trouble_after_the_stall_timeout(self):
        self.proxy.add("stall", after_bytes=100, seconds=30, method="GET")
        status, _, _ = self.read("s3://names/big", 0, 5000, through=self.proxy, tries=1, stall_s=1)
        self.assertIn("UNAVAILABLE", status)

    def test_a_store_that_stays_silent_is_not_tried_for_minutes(self):
        self.proxy.add("outage", mode="hang", seconds=60)
        began = time.monotonic()
        status, _, _ = self.read("s3://names/plain", 0, 5, through=self.proxy, tries=100, stall_s=1, trying_s=2)
        self.assertIn("UNAVAILABLE", status)
        self.assertLess(time.monotonic() - began, 30)  # a try may wait 10 s for a connection

    def test_a_store_that_drips_is_as_one_that_falls_silent(self):
        self.proxy.add("bandwidth", bytes_per_s=100, method="GET")
        status, _, _ = self.read("s3://names/big", 0, 5000, through=self.proxy, tries=1, stall_s=1)
        self.assertIn("UNAVAILABLE", status)

    def test_a_store_that_is_away_is_trouble(self):
        self.proxy.add("outage", seconds=30)
        status, _, _ = self.read("s3://names/plain", 0, 5, through=self.proxy, tries=2)
        self.assertIn("UNAVAILABLE: 's3://names/plain'", status)

    def test_connections_are_used_again_and_many_requests_are_under_way(self):
        self.proxy.add("latency", ms=30)
        status, _, _ = self.read("s3://names/big", 0, 1000, 5, 64, through=self.proxy)
        self.assertEqual(status, "OK")
        self.assertGreaterEqual(self.proxy.counts()["most_under_way"], 32)


class HedgedTest(StoreCase):
    def test_late_requests_are_sent_again_and_those_are_few(self):
        self.proxy.add("latency", ms=5)
        self.proxy.add("latency", ms=2500, share=0.01, method="GET")
        reads, threads = 150, 8
        lines = self.call("read", "s3://names/big", 7, 20_000, reads, threads, through=self.proxy)
        hedges, first = map(int, lines[3].split())
        self.assertEqual(bytes.fromhex(lines[1]), objects.pattern(1, 7, 20_000))
        self.assertGreaterEqual(first, 3)
        self.assertLessEqual(hedges, 0.02 * reads * threads + 1)

    def test_an_answer_that_comes_later_is_never_read(self):
        # The first answer begins, and stalls; the second one is complete first.
        self.proxy.add("latency", ms=5)
        self.proxy.add("stall", after_bytes=5000, seconds=2, share=0.02, skip=2, method="GET")
        lines = self.call("read", "s3://names/big", 7, 20_000, 200, 4, through=self.proxy)
        self.assertEqual((lines[0], bytes.fromhex(lines[1])), ("OK", objects.pattern(1, 7, 20_000)))
        self.assertGreaterEqual(int(lines[3].split()[1]), 1)


class AnswersTest(StoreCase):
    def test_headers_without_end_are_refused(self):
        self.proxy.add("answer", status=200, headers={"x-large": "x" * 70_000})
        [status] = self.call("stat", "s3://names/plain", through=self.proxy, tries=1)
        self.assertIn("UNAVAILABLE: 's3://names/plain': the answer's headers have more than 64 KiB", status)

    def test_a_server_that_names_no_version_is_refused(self):
        self.proxy.add("answer", status=200, headers={"Content-Length": "5"}, method="HEAD")
        [status] = self.call("stat", f"{self.proxy.endpoint}/open/public")
        self.assertIn("neither an ETag nor Last-Modified", status)


class ListingTest(unittest.TestCase):
    names = sorted([f"a b+&<ü/{number:05}.tar" for number in range(1203)] + ["a b+&<ü/per%25cent", "a b+&<ü/below/x"],
                   key=str.encode)

    def listed(self, store, names, folder):
        for name in names:
            store.put("listed", name, b"x")
        keys = {"AWS_ACCESS_KEY_ID": store.key, "AWS_SECRET_ACCESS_KEY": store.secret}
        status, *found = run(f"endpoint={store.endpoint}", "list", f"s3://listed/{folder}", environment=keys)
        self.assertEqual(status, "OK")
        return found

    def test_of_several_pages(self):
        with servers.FileStore() as store:
            wanted = [name for name in self.names if "below" not in name]
            self.assertEqual(self.listed(store, self.names, "a b+&<ü/"), wanted)

    def test_of_stores_that_others_wrote(self):
        for make in (servers.Moto, servers.Rclone):
            with self.subTest(make.__name__):
                try:
                    store = make()
                except processes.Missing as error:
                    self.skipTest(str(error))
                with store:
                    names = self.names[:20] + self.names[-2:]
                    wanted = [name for name in names if "below" not in name]
                    self.assertEqual(self.listed(store, names, "a b+&<ü/"), wanted)


class ElsewhereTest(unittest.TestCase):
    def test_a_bucket_in_another_region_is_found_there(self):
        with servers.FileStore(region="eu-west-1", token="token") as store, \
                fault_proxy.FaultProxy(store.address) as proxy:
            store.put("names", "plain", b"plain")
            keys = {"AWS_ACCESS_KEY_ID": store.key, "AWS_SECRET_ACCESS_KEY": store.secret,
                    "AWS_SESSION_TOKEN": "token"}
            words = (f"endpoint={proxy.endpoint}", "tries=1", "read", "s3://names/plain", 0, 5)
            self.assertEqual(run(*words, environment=keys)[:2], ["OK", b"plain".hex()])  # the answer names it
            proxy.add("answer", status=400, headers={"x-amz-bucket-region": "eu-west-1"}, count=1)
            self.assertEqual(run(*words, environment=keys)[:2], ["OK", b"plain".hex()])
            [status] = run(*words, environment={**keys, "AWS_SESSION_TOKEN": "other"})
            self.assertNotIn("OK", status)


class TlsTest(unittest.TestCase):
    def test_certificates_are_verified(self):
        with servers.FileStore(tls=True, s3=False) as store:
            store.put("files", "x.bin", b"secret bytes")
            url = f"{store.endpoint}/files/x.bin"
            lines = run(f"ca={store.certificate.ca}", "read", url, 0, 6)
            self.assertEqual(lines[:2], ["OK", b"secret".hex()])
            [status] = run("read", url, 0, 6)
            self.assertIn("FAILED_PRECONDITION", status)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
