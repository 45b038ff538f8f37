"""The operators' port, with real daemons, penstockctl and certificates.

    remote_test.py -v BIN
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import authority
import daemons

BIN = pathlib.Path(sys.argv.pop()).resolve()
if not authority.OPENSSL:
    print("SKIPPED: there is no openssl; deploy/install-deps.sh --tests brings it")
    sys.exit(77)


class RemoteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="penstock-remote-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.nodes = authority.Authority(cls.folder / "nodes-ca", "nodes")
        cls.operators = authority.Authority(cls.folder / "operators-ca", "operators")
        cls.node_tls = cls.nodes.sign(cls.folder / "node")
        cls.daemon = daemons.Daemon(BIN, cls.folder / "daemon", cls.node_tls, cls.operators.certificate)
        cls.addClassCleanup(cls.daemon.stop)
        cls.daemon.start()
        cls.tls = cls.operator("operator", cls.operators)

    @classmethod
    def operator(cls, name, signed_by, **options):
        """A folder for --tls that trusts the nodes' authority."""
        folder = signed_by.sign(cls.folder / name, names="DNS:operator", **options)
        shutil.copy(cls.nodes.certificate, folder / "ca.crt")
        return folder

    def ctl(self, *arguments, tls=None, address=None):
        return daemons.ctl(BIN, "--address", address or self.daemon.address, "--tls", tls or self.tls, *arguments)

    def expect_refused(self, *words, **options):
        code, out, error = self.ctl("status", **options)
        self.assertEqual((code, out), (1, ""), error)
        for word in words:
            self.assertIn(word, error)


class LookingTest(RemoteTest):
    def test_an_operator_elsewhere_sees_what_one_here_sees(self):
        for command in ("status", "sessions", "workers", "datasets", "quarantine list", "top"):
            with self.subTest(command):
                code, out, error = self.ctl("-o", "json", *command.split())
                self.assertEqual((code, error), (0, ""))
                here = daemons.ctl(BIN, "--address", self.daemon.socket, "-o", "json", *command.split())[1]
                self.assertEqual(json.loads(out).keys(), json.loads(here).keys())
        self.assertEqual(json.loads(self.ctl("-o", "json", "status")[1])["pid"], self.daemon.process.pid)

    def test_it_changes_nothing(self):
        for command in ("workers --set 2", "drain", "reload", "quarantine clear noise", "index noise", "digest noise",
                        f"trace -o {self.folder}/trace"):
            with self.subTest(command):
                code, _, error = self.ctl(*command.split())
                self.assertEqual(code, 1)
                self.assertIn("is not answered over TCP", error)
                self.assertIn("operators' socket", error)
        self.assertIn("event=refused from=127.0.0.1:", self.daemon.text())
        self.assertNotIn("event=operator_action", self.daemon.text())
        self.assertEqual(json.loads(self.ctl("-o", "json", "status")[1])["workers"], 1)

    def test_check_is_for_this_machine(self):
        code, _, error = self.ctl("check")
        self.assertEqual(code, 2)
        self.assertIn("this machine", error)


class StrangersTest(RemoteTest):
    def test_a_client_of_another_authority_is_refused(self):
        other = authority.Authority(self.folder / "other-ca", "operators")
        self.expect_refused("does not accept calls", tls=self.operator("stranger", other))

    def test_a_client_whose_certificate_has_expired_is_refused(self):
        self.expect_refused("does not accept calls", tls=self.operator("late", self.operators, expired=True))

    def test_a_client_without_a_certificate_is_refused(self):
        context = ssl.create_default_context(cafile=self.nodes.certificate)
        context.set_alpn_protocols(["h2"])
        found = b""
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as secure:
                    secure.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                    found = secure.recv(1000)  # in TLS 1.3 the refusal comes after the client's side is done
        self.assertEqual(found, b"", "the settings of HTTP/2 are for those who were admitted")

    def test_plain_text_is_closed(self):
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            self.assertNotIn(b"\0\0\0\4\0\0\0\0\0", self.all_of(plain), "no settings of HTTP/2")

    def test_who_says_nothing_is_closed_within_seconds(self):
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=15) as plain:
            self.all_of(plain)
        self.assertLess(time.monotonic() - begun, 12)

    def test_many_who_say_nothing_leave_places_for_others(self):
        silent = []
        try:
            # From this address; 127.0.0.2 is another host.
            for _ in range(60):
                silent.append(socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10,
                                                       source_address=("127.0.0.2", 0)))
            self.assertEqual(self.ctl("status")[0], 0)
        finally:
            for each in silent:
                each.close()

    def test_a_node_with_another_name_is_not_believed(self):
        tls = self.nodes.sign(self.folder / "elsewhere", names="DNS:elsewhere.test")
        daemon = daemons.Daemon(BIN, self.folder / "elsewhere-daemon", tls, self.operators.certificate)
        self.addCleanup(daemon.stop)
        daemon.start()
        self.expect_refused("does not accept calls", address=daemon.address)

    def test_a_node_of_another_authority_is_not_believed(self):
        folder = self.operators.sign(self.folder / "trusting", names="DNS:operator")  # trusts operators-ca
        self.expect_refused("does not accept calls", tls=folder)

    @staticmethod
    def all_of(connection):
        found = b""
        try:
            while True:
                piece = connection.recv(1000)
                if not piece:
                    return found
                found += piece
        except ConnectionError:
            return found


class RenewingTest(RemoteTest):
    def wait_for(self, words, seconds=10):
        deadline = time.monotonic() + seconds
        while words not in self.daemon.text():
            self.assertLess(time.monotonic(), deadline, self.daemon.text())
            time.sleep(0.05)

    def test_renewed_certificates_serve_and_bad_ones_leave_the_last_good_ones(self):
        shown = self.shown_certificate()
        with self.subTest("a key that is not the certificate's"):
            authority.run("req", *authority.NEW_KEY, "-subj", "/CN=x", "-keyout", self.node_tls / "tls.key",
                          "-out", self.folder / "unused")
            self.wait_for("event=operators_port_not_renewed")
            self.assertEqual(self.shown_certificate(), shown)
            self.assertEqual(self.ctl("status")[0], 0)
        with self.subTest("a new pair"):
            self.nodes.sign(self.node_tls)
            self.wait_for("event=operators_port_renewed")
            self.assertNotEqual(self.shown_certificate(), shown)
            self.assertEqual(self.ctl("status")[0], 0)
        with self.subTest("other authorities for clients: who came before is sent away"):
            secure = self.connection()
            self.addCleanup(secure.close)
            secure.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            self.assertNotEqual(secure.recv(1000), b"")
            new = authority.Authority(self.folder / "new-operators", "operators")
            os.replace(new.certificate, self.operators.certificate)
            deadline = time.monotonic() + 10
            while self.ctl("status")[0] == 0:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.2)
            while secure.recv(1000):  # until it ends; a time-out fails the test
                pass
            self.assertEqual(self.ctl("status", tls=self.operator("new-operator", self.resigned(new)))[0], 0)

    def resigned(self, new):
        new.certificate = self.operators.certificate
        return new

    def connection(self):
        context = ssl.create_default_context(cafile=self.nodes.certificate)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(self.tls / "tls.crt", self.tls / "tls.key")
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.daemon.port), timeout=10),
                                   server_hostname="localhost")

    def shown_certificate(self):
        with self.connection() as secure:
            return secure.getpeercert(binary_form=True)


class ManyTest(RemoteTest):
    def top(self, nodes, *arguments):
        return daemons.ctl(BIN, "--tls", self.tls, "top", "--all", nodes, *arguments)

    def test_a_row_a_node_and_one_that_is_not_there_is_a_row_that_says_so(self):
        second = daemons.Daemon(BIN, self.folder / "second", self.node_tls, self.operators.certificate)
        self.addCleanup(second.stop)
        second.start()
        nobody = f"127.0.0.1:{daemons.free_port()}"
        unknown = "there-is-no-such-node.invalid:7070"
        code, out, error = self.top(f"{self.daemon.address},{second.address},{nobody},{unknown}")
        self.assertEqual((code, error), (0, ""))
        rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
        for daemon in (self.daemon, second):
            self.assertIn("serving", rows[daemon.address])
            self.assertIn("1/1", rows[daemon.address])
            self.assertIn("no trainers", rows[daemon.address])
        self.assertIn("UNREACHABLE", rows[nobody])
        self.assertIn("refused", rows[nobody])
        self.assertIn("UNREACHABLE", rows[unknown])
        self.assertIn("does not resolve", rows[unknown])
        self.assertIn("2 of 4 nodes answer", out)

    def test_json_has_the_status_of_each(self):
        nobody = f"127.0.0.1:{daemons.free_port()}"
        code, out, _ = self.top(f"127.0.0.1:{self.daemon.port},{nobody}", "-o", "json")
        first, second = json.loads(out)["nodes"]
        self.assertEqual(code, 0)
        self.assertEqual(first["status"]["pid"], self.daemon.process.pid)
        self.assertEqual(first["error"], "")
        self.assertNotEqual(second["error"], "")

    def test_if_no_node_answers_it_has_failed(self):
        code, out, _ = self.top(f"127.0.0.1:{daemons.free_port()}")
        self.assertEqual(code, 1)
        self.assertIn("0 of 1 nodes answer", out)

    def test_a_daemon_that_hangs_is_a_row_within_seconds(self):
        hung = daemons.Daemon(BIN, self.folder / "hung", self.node_tls, self.operators.certificate)
        self.addCleanup(hung.stop)
        hung.start()
        hung.process.send_signal(19)  # SIGSTOP
        self.addCleanup(hung.process.send_signal, 18)  # before it is stopped
        begun = time.monotonic()
        code, out, _ = self.top(f"{self.daemon.address},{hung.address}")
        self.assertLess(time.monotonic() - begun, 9)  # twice 2 s, and a second between
        self.assertEqual(code, 0)
        self.assertIn("does not answer in time", out)

    def test_a_list_that_is_none_is_refused(self):
        for nodes in ("node1", "node1:0", "a:1,,b:2", "node1:70000", "no de:1"):
            with self.subTest(nodes):
                code, _, error = self.top(nodes)
                self.assertEqual(code, 2)
                self.assertIn("expected a node and its port", error)

    def test_files_that_are_missing_are_named(self):
        code, _, error = daemons.ctl(BIN, "--tls", self.folder / "nowhere", "top", "--all", "node1:7070")
        self.assertEqual(code, 2)
        self.assertIn("nowhere/ca.crt", error)
        self.assertIn("--tls", error)


class ConfigTest(RemoteTest):
    def check(self, text):
        file = self.folder / "checked.yaml"
        file.write_text(text)
        done = subprocess.run([BIN / "penstockd", "--check-config", file], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=20)
        return done.returncode, done.stderr

    def test_a_file_that_is_missing_ends_the_start_and_the_check_says_so(self):
        text = self.daemon.config.read_text().replace("tls.key", "lost.key")
        text = text.replace(str(self.daemon.port), str(daemons.free_port())).replace("/daemon/run", "/third/run")
        (self.folder / "third").mkdir()
        code, error = self.check(text)
        self.assertEqual(code, 2)
        self.assertIn("server.admin_key", error)
        done = subprocess.run([BIN / "penstockd", "--config", self.folder / "checked.yaml"], stderr=subprocess.PIPE,
                              text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr), (code, error))

    def test_what_does_not_go_together_is_refused_with_file_and_line(self):
        tls = "  admin_certificate: /x/c\n  admin_key: /x/k\n  admin_client_ca: /x/a\n"
        for text, line, words in (
                ("server:\n  admin_address: 127.0.0.1:7070\n", 2, "without server.admin_certificate"),
                ("server:\n  admin_key: /x/k\n", 2, "server.admin_address is not set"),
                ("server:\n" + tls + "  admin_address: localhost:7070\n", 5, "a numeric address and a port"),
                ("server:\n" + tls + "  admin_address: 1.2.3.4:1\n  health_address: 1.2.3.4:1\n", 5, "another port"),
                ("server:\n" + tls.replace("/x/k", "k") + "  admin_address: 127.0.0.1:7070\n", 3, "absolute path")):
            with self.subTest(words):
                code, error = self.check(text)
                self.assertEqual(code, 2)
                self.assertIn(f"checked.yaml:{line}: server.admin_", error)
                self.assertIn(words, error)


if __name__ == "__main__":
    unittest.main()
