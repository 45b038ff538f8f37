"""Each fault of tests/support/stores reaches a plain client as it was set, and is counted."""
import http.client
import json
import socket
import time
import unittest
import urllib.request

import rig
from stores import fault_proxy, load, objects, servers

PATH, SIZE = "/b/object", 200_000
FIRST, LAST = 1000, 100_999
RANGE = {"Range": f"bytes={FIRST}-{LAST}"}
RIGHT = objects.pattern(1, FIRST, LAST - FIRST + 1)
SLACK_S = 1.0  # on a busy machine


class FaultTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = servers.FileStore(s3=False)
        cls.addClassCleanup(cls.store.close)
        cls.etag = cls.store.put_pattern("b", "object", SIZE)
        cls.proxy = fault_proxy.FaultProxy(cls.store.address)
        cls.addClassCleanup(cls.proxy.close)

    def setUp(self):
        self.proxy.clear()
        self.wait_until_idle()
        self.proxy.reset_counts()

    def wait_until_idle(self):
        deadline = time.monotonic() + rig.WAIT_S
        while self.proxy.counts()["under_way"]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def get(self, headers=RANGE, **options):
        return rig.get(self.proxy.address, PATH, headers, **options)

    def test_without_rules_all_is_passed_on_and_counted(self):
        status, headers, body, _ = self.get()
        self.get(method="HEAD")

        self.assertEqual((status, body, headers["etag"]), (206, RIGHT, self.etag))
        counts = self.proxy.counts()
        self.assertEqual((counts["get"], counts["head"], counts["bytes"]), (1, 1, len(RIGHT)))
        self.assertEqual(counts["objects"]["b/object"]["ranges"], [[FIRST, LAST, len(RIGHT)]])
        self.assertEqual((counts["under_way"], counts["statuses"]), (0, {"206": 2}))

    def test_latency_adds_up(self):
        self.proxy.add("latency", ms=60)
        self.proxy.add("latency", ms=40, method="GET")

        seconds = min(self.get()[3] for _ in range(5))

        self.assertGreaterEqual(seconds, 0.100)
        self.assertLess(seconds, 0.100 + SLACK_S)

    def test_three_hundred_requests_wait_at_once(self):
        self.proxy.add("latency", ms=30)

        seconds, total, latencies = load.read_all(
            self.proxy.address, [(PATH, at, at + 99) for at in range(1500)], 300)

        self.assertEqual((total, len(latencies)), (150_000, 1500))
        self.assertGreaterEqual(latencies[0], 0.030)
        self.assertGreater(self.proxy.counts()["most_under_way"], 100)
        self.assertLess(seconds, 15)

    def test_bandwidth(self):
        self.proxy.add("bandwidth", bytes_per_s=400_000)

        _, _, body, seconds = self.get()

        self.assertEqual(body, RIGHT)
        self.assertGreater(seconds, 0.2)
        self.assertLess(seconds, 0.25 + SLACK_S)

    def test_a_reset_after_some_bytes(self):
        self.proxy.add("reset", after_bytes=5000)

        with self.assertRaises(ConnectionResetError):
            self.get()
        self.assertEqual(self.proxy.counts()["bytes"], 5000)

    def test_a_truncated_body_of_the_right_length(self):
        self.proxy.add("truncate", after_bytes=70_001)

        with self.assertRaises(http.client.IncompleteRead) as caught:
            self.get()
        self.assertEqual(caught.exception.partial, RIGHT[:70_001])
        self.assertEqual(caught.exception.expected, len(RIGHT) - 70_001)

    def test_a_stall_in_the_body(self):
        self.proxy.add("stall", after_bytes=50_000, seconds=0.3)

        _, _, body, seconds = self.get()

        self.assertEqual(body, RIGHT)
        self.assertGreaterEqual(seconds, 0.3)

    def test_a_stall_before_the_body_comes_behind_the_head(self):
        self.proxy.add("stall", after_bytes=0, seconds=30)

        with socket.create_connection(self.proxy.address, timeout=rig.WAIT_S) as sock:
            sock.sendall(f"GET {PATH} HTTP/1.1\r\n\r\n".encode())
            head = sock.recv(4096)
            sock.settimeout(0.2)
            self.assertTrue(head.endswith(b"\r\n\r\n"))
            with self.assertRaises(TimeoutError):
                sock.recv(1)

    def test_requests_whose_client_is_gone_are_not_under_way(self):
        self.proxy.add("latency", ms=30_000)
        with self.assertRaises(TimeoutError):
            self.get(timeout_s=0.1)

        self.wait_until_idle()

    def test_corrupted_bytes(self):
        self.proxy.add("corrupt", at=99_990, bytes=3)

        body = self.get()[2]

        self.assertEqual([at for at in range(len(RIGHT)) if body[at] != RIGHT[at]],
                         [99_990, 99_991, 99_992])

    def test_a_corrupted_byte_anywhere(self):
        self.proxy.add("corrupt")

        body = self.get()[2]

        self.assertEqual(sum(a != b for a, b in zip(body, RIGHT)), 1)

    def test_a_shifted_range(self):
        self.proxy.add("shifted", by=512)
        status, headers, body, _ = self.get()
        self.assertEqual(headers["content-range"], f"bytes {FIRST + 512}-{LAST + 512}/{SIZE}")
        self.assertEqual((status, len(body), body[:-512]), (206, len(RIGHT), RIGHT[512:]))

        self.proxy.clear()
        self.proxy.add("shifted", by=512, hidden=True)
        status, headers, body, _ = self.get()
        self.assertEqual(headers["content-range"], f"bytes {FIRST}-{LAST}/{SIZE}")
        self.assertEqual(body[:-512], RIGHT[512:])

    def test_a_content_range_that_lies(self):
        self.proxy.add("content_range", by=100)

        _, headers, body, _ = self.get()

        self.assertEqual(headers["content-range"], f"bytes {FIRST + 100}-{LAST + 100}/{SIZE}")
        self.assertEqual(body, RIGHT)

    def test_a_shorter_range_than_asked_for(self):
        self.proxy.add("short", by=10)

        status, headers, body, _ = self.get()

        self.assertEqual((status, body), (206, RIGHT[:-10]))
        self.assertEqual(headers["content-range"], f"bytes {FIRST}-{LAST - 10}/{SIZE}")

    def test_200_for_206(self):
        self.proxy.add("status", code=200)
        self.assertEqual(self.get()[::2], (200, RIGHT))

        self.proxy.clear()
        self.proxy.add("ignore_range")
        self.assertEqual(self.get()[::2], (200, objects.pattern(1, 0, SIZE)))

    def test_a_storm_of_slow_downs_has_a_share_and_an_end(self):
        self.proxy.add("slow_down", share=0.5, seconds=1.0)
        statuses = [self.get()[0] for _ in range(100)]
        time.sleep(1.0)

        self.assertIn(b"<Code>SlowDown</Code>", self.answer_of("slow_down"))
        self.assertTrue(25 < statuses.count(503) < 75 or 206 in statuses[-5:], statuses)
        self.proxy.clear()
        self.assertEqual(self.get()[0], 206)

    def answer_of(self, fault, **fields):
        self.proxy.clear()
        self.proxy.add(fault, **fields)
        return self.get()[2]

    def test_only_some_requests_meet_a_fault(self):
        self.proxy.add("slow_down", skip=1, count=2, path="object$", ranged=True)

        self.assertEqual([self.get()[0] for _ in range(5)], [206, 503, 503, 206, 206])
        self.assertEqual(self.get({})[0], 200)
        self.assertEqual(self.proxy.counts()["faults"], {"slow_down": 2})

    def test_429_says_when_to_try_again(self):
        self.proxy.add("too_many", retry_after_s=7)

        status, headers, _, _ = self.get()

        self.assertEqual((status, headers["retry-after"]), (429, "7"))

    def test_any_answer(self):
        self.proxy.add("answer", status=301, headers={"x-amz-bucket-region": "eu-west-1"}, body="<x/>")

        status, headers, body, _ = self.get()

        self.assertEqual((status, headers["x-amz-bucket-region"], body), (301, "eu-west-1", b"<x/>"))

    def test_an_etag_changes(self):
        pinned = {**RANGE, "If-Match": self.etag}
        self.assertEqual(self.get(pinned)[0], 206)

        self.proxy.add("etag")

        self.assertEqual(self.get(pinned)[0], 412)
        etag = self.get()[1]["etag"]
        self.assertNotEqual(etag, self.etag)
        self.assertEqual(self.get({**RANGE, "If-Match": etag})[0], 206)

    def test_connections_that_end_silently(self):
        self.proxy.add("close")
        connection = http.client.HTTPConnection(*self.proxy.address, timeout=rig.WAIT_S)
        connection.request("GET", PATH, headers=RANGE)
        response = connection.getresponse()
        self.assertEqual((response.read(), response.will_close), (RIGHT, False))
        sock = connection.sock
        self.assertEqual(sock.recv(1), b"")
        connection.close()

    def test_an_outage_that_refuses(self):
        kept = socket.create_connection(self.proxy.address, timeout=rig.WAIT_S)

        self.proxy.add("outage", mode="refuse", seconds=0.5)

        with self.assertRaises(ConnectionRefusedError):
            self.get()
        with self.assertRaises(ConnectionResetError):
            kept.recv(1)
        kept.close()
        self.wait_for_answer()

    def test_an_outage_that_hangs(self):
        self.proxy.add("outage", mode="hang", seconds=1.0)

        with self.assertRaises(TimeoutError):
            self.get(timeout_s=0.2)
        time.sleep(1.0)
        self.wait_for_answer()
        self.assertEqual(self.proxy.counts()["faults"], {"outage": 1})

    def wait_for_answer(self):
        deadline = time.monotonic() + rig.WAIT_S
        while time.monotonic() < deadline:
            try:
                self.assertEqual(self.get()[0], 206)
                return
            except ConnectionError:
                time.sleep(0.01)
        self.fail("the proxy did not come back")

    def test_the_control_port_is_for_any_language(self):
        url = f"http://127.0.0.1:{self.proxy.control}"

        def ask(method, path, data=None):
            request = urllib.request.Request(url + path, data, method=method)
            with urllib.request.urlopen(request, timeout=rig.WAIT_S) as response:
                return json.load(response)

        rule = ask("POST", "/rules", b'{"fault": "slow_down"}')["rule"]
        self.assertEqual(self.get()[0], 503)
        ask("DELETE", f"/rules/{rule}")
        self.assertEqual(self.get()[0], 206)
        self.assertEqual(ask("GET", "/counts")["requests"], 2)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            ask("POST", "/rules", b'{"fault": "latency"}')
        self.assertIn("ms must be given", caught.exception.read().decode())

    def test_tls_to_the_client(self):
        with servers.FileStore(s3=False, tls=True) as other, \
                fault_proxy.FaultProxy(self.store.address, other.certificate) as proxy:
            import ssl
            trust = ssl.create_default_context(cafile=other.certificate.ca)
            proxy.add("corrupt", at=0)
            with urllib.request.urlopen(proxy.endpoint + PATH, context=trust, timeout=10) as found:
                body = found.read()
            self.assertEqual((len(body), body[1:]), (SIZE, objects.pattern(1, 1, SIZE - 1)))


if __name__ == "__main__":
    unittest.main()
