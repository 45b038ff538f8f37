"""Tests that the backtrace of a crashed daemon can be read: backtrace_test.py [-v] SOURCE BIN."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop())
BACKTRACE = pathlib.Path(sys.argv.pop()) / "deploy/systemd/backtrace"


class BacktraceTest(unittest.TestCase):
    def setUp(self):
        for program in ("addr2line", "objcopy", "readelf"):
            if not shutil.which(program):
                self.skipTest(f"there is no {program} here (package binutils)")
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)
        for program in ("penstockd", "penstock-worker", "penstock-indexer"):
            shutil.copy(BIN / program, self.scratch)
        self.daemon = self.scratch / "penstockd"

    def strip(self):
        """As deploy/packages/stage.cmake does. Returns the folder of the symbols."""
        notes = subprocess.run(["readelf", "--notes", self.daemon], text=True, capture_output=True, check=True).stdout
        build = re.search("Build ID: ([0-9a-f]+)", notes).group(1)
        symbols = self.scratch / "debug/.build-id" / build[:2] / f"{build[2:]}.debug"
        symbols.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", self.daemon, symbols], check=True)
        subprocess.run(["strip", "--strip-unneeded", self.daemon], check=True)
        return self.scratch / "debug"

    def crash(self):
        """Returns the log of a daemon that was killed as if by a wrong access."""
        log = self.scratch / "log"
        with open(log, "w") as words:
            daemon = subprocess.Popen([self.daemon, "--private", self.scratch / "run", "--workers", "1"], stderr=words)
        deadline = time.monotonic() + 30
        while "event=serving" not in log.read_text():
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.05)
        daemon.send_signal(signal.SIGSEGV)
        self.assertEqual(daemon.wait(timeout=30), -signal.SIGSEGV)
        return log.read_text()

    def name(self, log, debug):
        return subprocess.run(["sh", BACKTRACE, self.daemon], input=log, text=True, capture_output=True,
                              env=dict(os.environ, PENSTOCK_DEBUG_DIR=str(debug)), timeout=60)

    def test_the_symbols_of_a_stripped_daemon_name_the_functions(self):
        symbols = self.strip()
        log = self.crash()
        frames = re.findall(r"#\d+ 0x[0-9a-f]+.*", log)
        self.assertGreater(len(frames), 3)
        self.assertNotIn("penstock::app", log)

        named = self.name("".join(f"Nov 28 10:00:00 node penstockd[7]: {line}\n" for line in log.splitlines()), symbols)

        self.assertEqual(named.returncode, 0, named.stderr)
        self.assertRegex(named.stdout, r"#\d+ 0x[0-9a-f]+ .*penstock::app::.*Main")
        self.assertEqual(len(re.findall(r"(?m)^#\d+ 0x", named.stdout)), len(frames))

    def test_a_crash_of_another_build_is_not_named(self):
        log = self.crash()
        other = re.sub("build_id=[0-9a-f]{8}", "build_id=00000000", log)
        self.assertNotEqual(log, other)

        self.assertEqual(self.name(log, self.scratch / "none").returncode, 0)
        older = log.replace(re.search(" build_id=[0-9a-f]+", log).group(0), "")
        named = self.name(other + older + log, self.scratch / "none")

        self.assertEqual(named.returncode, 1)
        self.assertRegex(named.stderr, "has the build ID [0-9a-f]{40}, but what crashed has 00000000")
        self.assertRegex(named.stderr, r"but what crashed has \(none\)")
        self.assertRegex(named.stdout, r"#\d+ 0x[0-9a-f]+ .*penstock::app::.*Main")  # the newest
        self.assertEqual(named.stdout.count("event=crashed"), 3)

    def test_without_the_symbols_it_says_what_to_install(self):
        self.strip()
        named = self.name("", self.scratch / "none")

        self.assertEqual(named.returncode, 1)
        self.assertIn("install penstock-dbgsym", named.stderr)


if __name__ == "__main__":
    unittest.main()
