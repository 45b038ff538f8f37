"""Certificates, proxies and redirects."""
import http.server
import sys
import tempfile
import threading
import unittest

import store_client_test as client
from stores import certificates, fault_proxy, servers


class ForwardProxy:
    """An HTTP proxy that answers requests for http:// itself, and notes whatever it is asked."""

    def __init__(self):
        self.asked = asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def _answer(self):
                asked.append((self.command, self.path, dict(self.headers)))
                self.send_response(403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD = do_CONNECT = _answer

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class CertificatesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = servers.FileStore(tls=True)
        cls.addClassCleanup(cls.store.close)
        cls.store.put("files", "x.bin", b"secret bytes")

    def read(self, **environment):
        keys = {"AWS_ACCESS_KEY_ID": self.store.key, "AWS_SECRET_ACCESS_KEY": self.store.secret}
        return client.run(f"endpoint={self.store.endpoint}", "read", "s3://files/x.bin", 0, 6,
                          environment={**keys, **environment})

    def test_an_authority_that_nobody_trusts_is_refused_before_anything_is_sent(self):
        before = self.store.counts()["requests"]
        [status] = self.read()
        self.assertIn("FAILED_PRECONDITION", status)
        self.assertIn("AWS_CA_BUNDLE", status)
        self.assertEqual(self.store.counts()["requests"], before)

    def test_each_variable_that_names_an_authority_counts(self):
        for name in ("AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            with self.subTest(name):
                self.assertEqual(self.read(**{name: self.store.certificate.ca})[:2], ["OK", b"secret".hex()])

    def test_a_certificate_for_another_name_is_refused(self):
        endpoint = self.store.endpoint.replace("127.0.0.1", "127.0.0.2")
        [status] = client.run(f"endpoint={endpoint}", "stat", "s3://files/x.bin",
                              environment={"AWS_CA_BUNDLE": self.store.certificate.ca})
        self.assertNotIn("OK", status)

    def test_a_file_without_certificates_is_refused(self):
        [status] = self.read(AWS_CA_BUNDLE="/dev/null")
        self.assertIn("FAILED_PRECONDITION", status)


class ProxiesTest(unittest.TestCase):
    def setUp(self):
        self.proxy = ForwardProxy()
        self.addCleanup(self.proxy.close)

    def ask(self, url, **environment):
        return client.run("tries=1", "stat", url, environment=environment)

    def test_requests_go_through_the_proxy_of_their_scheme(self):
        self.ask("http://store.example/x.tar", http_proxy=self.proxy.endpoint)
        self.ask("https://store.example/x.tar", HTTPS_PROXY=self.proxy.endpoint)
        asked = [(method, path) for method, path, _ in self.proxy.asked]
        self.assertIn(("HEAD", "http://store.example/x.tar"), asked)
        self.assertIn(("CONNECT", "store.example:443"), asked)

    def test_names_in_no_proxy_do_not(self):
        with servers.FileStore(s3=False) as store:
            store.put("files", "x.bin", b"bytes")
            lines = self.ask(f"{store.endpoint}/files/x.bin", http_proxy=self.proxy.endpoint, NO_PROXY="127.0.0.1")
            self.assertEqual(lines[0], "OK")
        self.assertEqual(self.proxy.asked, [])


class RedirectsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = servers.FileStore(s3=False)
        cls.addClassCleanup(cls.store.close)
        cls.store.put("files", "x.bin", b"0123456789")
        cls.proxy = fault_proxy.FaultProxy(cls.store.address)
        cls.addClassCleanup(cls.proxy.close)

    def setUp(self):
        self.proxy.clear()

    def redirect(self, to, status=302, **rule):
        self.proxy.add("answer", status=status, headers={"Location": to}, **rule)

    def read(self, url, *options, **environment):
        return client.run("tries=1", *options, "read", url, 2, 3, environment=environment)

    def test_a_web_servers_redirects_are_followed(self):
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status):
                self.proxy.clear()
                self.redirect(f"{self.store.endpoint}/files/x.bin", status)
                self.assertEqual(self.read(f"{self.proxy.endpoint}/other")[:2], ["OK", b"234".hex()])

    def test_not_without_end(self):
        self.proxy.reset_counts()
        self.redirect(f"{self.proxy.endpoint}/again")
        self.assertIn("redirect", self.read(f"{self.proxy.endpoint}/other")[0])
        self.assertLessEqual(self.proxy.counts()["requests"], 12)  # HEAD, and GET for its reason

    def test_not_to_another_kind_of_url(self):
        for url in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"):
            with self.subTest(url):
                self.proxy.clear()
                self.redirect(url)
                self.assertNotIn("OK", self.read(f"{self.proxy.endpoint}/other"))

    def test_not_from_https_to_http(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate = certificates.Certificate(folder)
            with fault_proxy.FaultProxy(self.store.address, certificate) as proxy:
                url, ca = f"{proxy.endpoint}/files/x.bin", f"ca={certificate.ca}"
                self.assertEqual(self.read(url, ca)[:2], ["OK", b"234".hex()])
                proxy.add("answer", status=302, headers={"Location": f"{self.store.endpoint}/files/x.bin"})
                before = self.store.counts()["requests"]
                [status] = self.read(url, ca)
                self.assertIn("from https to http, which is not followed", status)
                self.assertEqual(self.store.counts()["requests"], before)

    def test_a_signed_request_follows_none_so_that_no_other_host_sees_a_signature(self):
        self.redirect(f"{self.store.endpoint}/files/x.bin", 307)
        before = self.store.counts()["requests"]
        keys = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "hunter2"}
        [status] = self.read("s3://files/x.bin", f"endpoint={self.proxy.endpoint}", **keys)
        self.assertIn(f"redirects to {self.store.endpoint}, which is not followed", status)
        self.assertEqual(self.store.counts()["requests"], before)

    def test_a_bucket_elsewhere_is_named(self):
        self.proxy.add("answer", status=301, body="<Error><Code>PermanentRedirect</Code>"
                       "<Endpoint>files.s3.eu-west-1.amazonaws.com</Endpoint></Error>")
        [status] = client.run("tries=1", f"endpoint={self.proxy.endpoint}", "list", "s3://files/")
        self.assertIn("the bucket is at the endpoint files.s3.eu-west-1.amazonaws.com", status)


if __name__ == "__main__":
    client.PROGRAM = sys.argv.pop(1)
    unittest.main()
