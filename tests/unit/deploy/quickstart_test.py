"""deploy/quickstart.sh against fake programs: arguments, output, and cleanup."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop())

# A daemon that creates its socket, records its arguments and process id, and keeps running.
DAEMON = """#!/usr/bin/python3
import os, signal, socket, sys, time
here = os.path.dirname(sys.argv[0])
open(here + "/daemon.args", "w").write(" ".join(sys.argv[1:]))
open(here + "/daemon.pid", "w").write(str(os.getpid()))
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2] + "/penstock.sock")
time.sleep(60)
"""
STUBBORN_DAEMON = DAEMON.replace("listener =", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nlistener =")
BROKEN_DAEMON = "#!/bin/sh\necho 'the pool does not fit' >&2\nexit 1\n"
TRAINER = """#!/bin/sh
echo "$@" >"$(dirname "$0")/trainer.args"
echo 'a bar' >&2
echo '{"samples": 200}'
"""
SLOW_TRAINER = '#!/bin/sh\necho $$ >"$(dirname "$0")/trainer.pid"\nsleep 60 & wait\n'
GENERATOR = '#!/bin/sh\nmkdir -p "$1/class_000"\n'
SLOW_BUILD = '#!/bin/sh\necho $$ >"$(dirname "$0")/../build/release/bin/build.pid"\nsleep 60\n'


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        self.bin = self.tree / "build/release/bin"
        self.temporary = self.tree / "tmp"
        for folder in (self.bin, self.temporary, self.tree / "deploy", self.tree / "photographs"):
            folder.mkdir(parents=True)
        shutil.copy(ROOT / "deploy/quickstart.sh", self.tree / "deploy")
        self.fake("deploy/install-deps.sh", "#!/bin/sh\n")
        self.fake("deploy/build.sh", "#!/bin/sh\n")
        self.fake("build/release/bin/penstockd", DAEMON)
        self.fake("build/release/bin/penstockctl", "#!/bin/sh\n")
        self.fake("build/release/bin/penstock-example-epoch", TRAINER)
        self.fake("build/release/bin/penstock-make-photographs", GENERATOR)

    def fake(self, path, text):
        program = self.tree / path
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)

    def start(self, *arguments, path="/nonexistent"):
        environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}", TMPDIR=str(self.temporary),
                           XDG_CACHE_HOME=str(self.tree / "cache"))
        return subprocess.Popen([self.tree / "deploy/quickstart.sh", *arguments], cwd=self.tree,
                                env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_to_end(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=30)
        return process.returncode, output, errors

    def wait_for_pid(self, name):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            path = self.bin / name
            if path.exists() and path.read_text().strip():
                return int(path.read_text())
            time.sleep(0.02)
        self.fail(f"{name} did not come")

    def assert_gone(self, pid):
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), f"process {pid} is still there")

    def assert_nothing_is_left(self):
        self.assertEqual(list(self.temporary.iterdir()), [])

    def assert_refused(self, *arguments):
        code, output, errors = self.run_to_end(*arguments)
        self.assertEqual(code, 2)
        self.assertEqual(output, "")
        self.assertEqual(errors.count("\n"), 1, errors)
        return errors

    def test_bad_arguments_get_one_line_and_code_2(self):
        self.assertIn("'--fast'", self.assert_refused("--fast"))
        self.assertIn("--data needs a value", self.assert_refused("--data"))
        self.assertIn("'/nonexistent'", self.assert_refused("--data", "/nonexistent"))
        for bad in ("0", "-1", "two", "", "1.5"):
            self.assertIn("--workers", self.assert_refused("--workers", bad))
        self.assertIn("--seed", self.assert_refused("--seed", "x"))

    def test_a_daemon_that_does_not_start_is_shown_and_nothing_is_left(self):
        self.fake("build/release/bin/penstockd", BROKEN_DAEMON)
        code, _, errors = self.run_to_end()
        self.assertEqual(code, 1)
        self.assertIn("the pool does not fit", errors)
        self.assert_nothing_is_left()

    def test_a_failing_trainer_fails_the_whole_and_stops_the_daemon(self):
        self.fake("build/release/bin/penstock-example-epoch", "#!/bin/sh\nexit 1\n")
        code, _, errors = self.run_to_end()
        self.assertEqual(code, 1)
        self.assertIn("the trainer failed", errors)
        self.assert_gone(self.wait_for_pid("daemon.pid"))
        self.assert_nothing_is_left()

    def test_interrupted_at_any_step_it_leaves_nothing(self):
        self.fake("build/release/bin/penstock-example-epoch", SLOW_TRAINER)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for stale in self.bin.glob("*.pid"):
                stale.unlink()
            process = self.start()
            trainer = self.wait_for_pid("trainer.pid")
            process.send_signal(number)
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, code)
            self.assert_gone(trainer)
            self.assert_gone(self.wait_for_pid("daemon.pid"))
            self.assert_nothing_is_left()

    def test_interrupted_while_it_builds_it_stops_the_build(self):
        self.fake("deploy/build.sh", SLOW_BUILD)
        process = self.start()
        builder = self.wait_for_pid("build.pid")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        self.assert_gone(builder)
        self.assert_nothing_is_left()

    def test_interrupted_while_the_real_build_configures_it_leaves_nothing(self):
        shutil.copy(ROOT / "deploy/build.sh", self.tree / "deploy")
        self.fake("fakes/cmake", SLOW_BUILD)
        process = self.start(path=self.tree / "fakes")
        builder = self.wait_for_pid("build.pid")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assert_gone(builder)
        self.assert_nothing_is_left()

    def test_a_daemon_that_does_not_obey_is_killed(self):
        self.fake("build/release/bin/penstockd", STUBBORN_DAEMON)
        code, _, _ = self.run_to_end()
        self.assertEqual(code, 0)
        self.assert_gone(self.wait_for_pid("daemon.pid"))
        self.assert_nothing_is_left()

    def test_json_is_the_only_thing_on_standard_output(self):
        code, output, errors = self.run_to_end("--json")
        self.assertEqual(code, 0, errors)
        self.assertEqual(json.loads(output), {"samples": 200})
        self.assertIn("a bar", errors)

    def test_the_programs_are_given_what_was_asked(self):
        self.run_to_end("--data", "photographs", "--workers", "2", "--seed", "7", "--json")
        self.assertRegex((self.bin / "daemon.args").read_text(), r"^--private \S+ --workers 2$")
        self.assertRegex((self.bin / "trainer.args").read_text(),
                         rf"^--address \S+/penstock\.sock --data {self.tree}/photographs --seed 7 --json$")

    def test_without_data_photographs_are_made_once_and_kept(self):
        _, first, _ = self.run_to_end()
        _, second, _ = self.run_to_end()
        self.assertIn("generating 200", first)
        self.assertNotIn("generating", second)
        self.assertTrue((self.tree / "cache/penstock/photographs/v1/class_000").is_dir())


if __name__ == "__main__":
    unittest.main()
