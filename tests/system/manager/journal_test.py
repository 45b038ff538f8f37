"""Tests what the daemon's log is for the journal and for programs: journal_test.py [-v] BIN.

The test is the service manager: standard error is a stream that $JOURNAL_STREAM names, and a socket of its own takes
entries in the journal's native protocol."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(sys.argv.pop())


def parse(datagram):
    """An entry as the journal reads it."""
    entry, at = {}, 0
    while at < len(datagram):
        line = datagram.index(b"\n", at)
        name, equals, value = datagram[at:line].partition(b"=")
        at = line + 1
        if not equals:
            size, = struct.unpack_from("<Q", datagram, at)
            value = datagram[at + 8:at + 8 + size]
            at += 8 + size + 1
        entry[name.decode()] = value.decode()
    return entry


class Daemon:
    """Runs penstockd until the `with` block ends."""

    def __init__(self, config="", journal=False, listening=True):
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.entries, self.text = [], b""
        self.address = self.folder / "run/penstock.sock"
        self.config = self.folder / "penstock.yaml"
        usual = (f"server: {{socket: {self.address}, group: '', state_dir: ''}}", "pool: {max: 16MiB}",
                 "workers: {count: 1}", "datasets: [{name: noise, synthetic: {samples: 64}}]")
        others = [line for line in usual if line.partition(":")[0] + ":" not in config]
        self.config.write_text("\n".join([*others, config, ""]))
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stream = self.stack.enter_context(mine)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # some lines fill the least that the kernel gives
        self.reads = threading.Event()
        self.reads.set()
        environment = {**os.environ, "JOURNAL_STREAM": ""}
        if journal:
            facts = os.fstat(theirs.fileno())
            environment["JOURNAL_STREAM"] = f"{facts.st_dev}:{facts.st_ino}"
            environment["PENSTOCK_TEST_JOURNAL_SOCKET"] = str(self.folder / "journal")
        self.native = self.stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        if listening:
            self.native.bind(str(self.folder / "journal"))
            self.native.settimeout(0.1)
            threading.Thread(target=self.read_entries, daemon=True).start()
        threading.Thread(target=self.read_text, daemon=True).start()
        self.process = subprocess.Popen([BIN / "penstockd", "--config", self.config], stderr=theirs, env=environment)
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stack.close()

    def read_entries(self):
        while True:
            try:
                self.entries.append(parse(self.native.recv(1 << 20)))
            except TimeoutError:
                continue
            except OSError:
                return

    def read_text(self):
        with contextlib.suppress(OSError):
            while self.reads.wait() and (piece := self.stream.recv(1 << 16)):
                self.text += piece

    def lines(self):
        return self.text.decode().splitlines()

    def found(self, event):
        return [entry for entry in self.entries if entry.get("PENSTOCK_EVENT") == event]

    def json(self, event):
        return [line for line in map(json.loads, self.lines()) if line["event"] == event]

    def ends(self, number=None):
        if number:
            self.process.send_signal(number)
        code = self.process.wait(30)
        time.sleep(0.3)  # the readers
        return code


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    return None


class JournalTest(unittest.TestCase):
    def test_the_journal_gets_priorities_and_fields(self):
        with Daemon(journal=True) as daemon:
            serving = until(lambda: daemon.found("serving"))
            self.assertTrue(serving, daemon.text)
            self.assertEqual(serving[0]["PRIORITY"], "6")
            self.assertEqual(serving[0]["SYSLOG_IDENTIFIER"], "penstockd")
            self.assertEqual(serving[0]["PENSTOCK_SOCKET"], str(daemon.address))
            self.assertRegex(serving[0]["MESSAGE"], r"^event=serving version=")
            daemon.config.write_text("nonsense: 1")
            daemon.process.send_signal(signal.SIGHUP)
            refused = until(lambda: daemon.found("reload_refused"))
            self.assertEqual(refused[0]["PRIORITY"], "3")
            self.assertIn("nonsense", refused[0]["PENSTOCK_REASON"])
            self.assertEqual(refused[0]["PENSTOCK_PID"], str(os.getpid()))
            self.assertEqual(refused[0]["PENSTOCK_USER"], str(os.getuid()))
            self.assertEqual(daemon.text, b"")

    def test_without_the_native_socket_lines_have_priorities(self):
        with Daemon(journal=True, listening=False) as daemon:
            self.assertTrue(until(lambda: b"event=serving" in daemon.text))
            self.assertTrue(all(re.match("<[3-7]>event=", line) for line in daemon.lines()), daemon.text)

    def test_a_configuration_that_is_refused_is_an_error_in_the_journal(self):
        with Daemon("pool: {max: 4}", journal=True) as daemon:
            self.assertEqual(daemon.ends(), 2)
            self.assertEqual(daemon.found("cannot_start")[0]["PRIORITY"], "3")
            self.assertIn("pool", daemon.found("cannot_start")[0]["PENSTOCK_REASON"])

    def test_every_line_of_a_crash_is_an_error_in_the_journal(self):
        with Daemon(journal=True) as daemon:
            self.assertTrue(until(lambda: daemon.found("serving")))
            self.assertEqual(daemon.ends(signal.SIGSEGV), -signal.SIGSEGV)
            self.assertIn("event=crashed", daemon.text.decode())
            self.assertTrue(all(line.startswith("<3>") for line in daemon.lines()), daemon.text)

    def test_a_journal_that_hangs_does_not_hang_the_daemon(self):
        with Daemon(journal=True, listening=False) as daemon:
            self.assertTrue(until(lambda: b"event=serving" in daemon.text))
            for _ in range(30):  # signals that come together count as one
                daemon.reads.clear()
                for _ in range(40):  # each is some lines
                    daemon.process.send_signal(signal.SIGHUP)
                    time.sleep(0.02)
                daemon.reads.set()
                daemon.process.send_signal(signal.SIGHUP)  # whose lines the journal takes
                if until(lambda: b"log_lines_lost" in daemon.text, 2):
                    break
            self.assertRegex(daemon.text.decode(), r"<4>event=log_lines_lost lines=[1-9]")

            daemon.reads.clear()
            self.assertEqual(daemon.ends(signal.SIGTERM), 0)


JOURNALD = pathlib.Path("/lib/systemd/systemd-journald")
# In a mount namespace of its own, with an empty /run. It prints the errors of the daemon whose standard error is a
# stream to this journal.
IN_A_NAMESPACE = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/log/journal
"$JOURNALD" >/dev/null 2>&1 &
trap 'kill $!' EXIT
until [ -S /run/systemd/journal/stdout ]; do sleep 0.1; done
/usr/bin/python3 -c '
import os, socket, subprocess, sys
stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
stream.connect("/run/systemd/journal/stdout")
stream.sendall(b"penstockd\\n\\n6\\n1\\n0\\n0\\n0\\n")
facts = os.fstat(stream.fileno())
environment = {**os.environ, "JOURNAL_STREAM": f"{facts.st_dev}:{facts.st_ino}"}
sys.exit(subprocess.run(sys.argv[1:], stderr=stream, env=environment, timeout=30).returncode)
' "$BIN/penstockd" --config "$CONFIG" || echo "exit code $?"
for attempt in $(seq 50); do
  journalctl --directory=/run/log/journal -p err -o json --no-pager PENSTOCK_EVENT=cannot_start | grep . && break
  sleep 0.1
done
"""


@unittest.skipUnless(os.geteuid() == 0 and JOURNALD.exists(), "needs root and systemd-journald")
class RealJournalTest(unittest.TestCase):
    def test_journalctl_shows_the_errors_with_their_fields(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "penstock.yaml")
            config.write_text("nonsense: 1\n")
            shown = subprocess.run(["unshare", "--mount", "sh", "-c", IN_A_NAMESPACE], capture_output=True, text=True,
                                   env={**os.environ, "JOURNALD": str(JOURNALD), "BIN": str(BIN), "CONFIG": str(config)}, timeout=60)
        code, _, entries = shown.stdout.partition("\n")
        self.assertEqual(code, "exit code 2", shown)
        entry = json.loads(entries)
        self.assertEqual((entry["PRIORITY"], entry["_COMM"], entry["PENSTOCK_EXIT_CODE"]), ("3", "penstockd", "2"))
        self.assertIn("nonsense", entry["PENSTOCK_REASON"])


class JsonTest(unittest.TestCase):
    def test_every_line_is_json_with_typed_values_to_the_end(self):
        with Daemon("log: {format: json}") as daemon:
            serving = until(lambda: daemon.json("serving"))[0]
            self.assertIsInstance(serving["workers"], int)
            self.assertIsInstance(serving["version"], str)
            daemon.process.send_signal(signal.SIGHUP)
            reloaded = until(lambda: daemon.json("reloaded"))[0]
            self.assertEqual((reloaded["user"], reloaded["pid"]), (os.getuid(), os.getpid()))
            self.assertEqual(daemon.ends(signal.SIGTERM), 0)
            self.assertEqual(daemon.json("ending")[0]["level"], "info")

    def test_changes_say_which_process_asked(self):
        def ctl(*arguments):
            process = subprocess.Popen([BIN / "penstockctl", "--address", daemon.folder / "run-admin/admin.sock",
                                        *arguments], stdout=subprocess.DEVNULL)
            self.assertEqual(process.wait(30), 0, daemon.text)
            return process.pid

        with Daemon("log: {format: json}") as daemon:
            self.assertTrue(until(lambda: daemon.json("serving")))
            asked = {"workers_set": ctl("workers", "--set", "2"), "reloaded": ctl("reload"), "draining": ctl("drain")}
            for event, pid in asked.items():
                said = until(lambda event=event: daemon.json(event))[0]
                self.assertEqual((said["pid"], said["user"]), (pid, os.getuid()), event)

    def test_a_crash_is_one_object(self):
        with Daemon("log: {format: json}") as daemon:
            self.assertTrue(until(lambda: daemon.json("serving")))
            self.assertEqual(daemon.ends(signal.SIGSEGV), -signal.SIGSEGV)
            crashed = daemon.json("crashed")[0]
            self.assertEqual((crashed["signal"], crashed["level"]), ("SIGSEGV", "error"))
            self.assertEqual(crashed["pid"], daemon.process.pid)
            self.assertGreater(len(crashed["backtrace"]), 3)
            self.assertRegex(crashed["build_id"], "^[0-9a-f]{40}$")
            self.assertRegex(crashed["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_start_that_fails_is_one_object_whatever_is_wrong(self):
        for wrong in ("workers: {count: many}", "nonsense: 1", "datasets: [{name: a, folder: /nowhere}]"):
            with self.subTest(wrong=wrong), Daemon(f"log: {{format: json}}\n{wrong}") as daemon:
                self.assertEqual(daemon.ends(), 2)
                failed = daemon.json("cannot_start")
                self.assertEqual(len(failed), 1, daemon.text)
                self.assertEqual((failed[0]["level"], failed[0]["exit_code"]), ("error", 2))


if __name__ == "__main__":
    unittest.main()
