"""deploy/install-deps.sh with a fake apt-get and dpkg-query ahead of the real ones in PATH."""
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

ROOT = pathlib.Path(sys.argv.pop())


class InstallDepsTest(unittest.TestCase):
    def setUp(self):
        self.bin = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.bin)
        self.fake("sudo", 'exec "$@"')
        self.fake("apt-get", f'echo "$@" >>{self.bin}/calls')

    def fake(self, name, text):
        program = self.bin / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def installed(self, missing=""):
        """Fakes a dpkg-query that reports every package except `missing` as installed."""
        self.fake("dpkg-query", 'shift 3; for p; do [ "$p" = "%s" ] || echo "installed $p"; done' % missing)

    def run_script(self, *arguments):
        return subprocess.run([ROOT / "deploy/install-deps.sh", *arguments], text=True, capture_output=True,
                              timeout=30, env=dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}"))

    def calls(self):
        path = self.bin / "calls"
        return path.read_text() if path.exists() else ""

    def test_an_unknown_argument_is_refused_with_code_2(self):
        self.assertEqual(self.run_script("--everything").returncode, 2)

    def test_a_failing_apt_gives_one_clear_line(self):
        self.installed(missing="libspdlog-dev")
        self.fake("apt-get", "echo 'Reading lists'; echo 'E: no network' >&2; exit 100")
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        error = result.stderr.splitlines()[-1]
        self.assertIn("E: no network", error)
        self.assertIn("libspdlog-dev", error)
        self.assertNotIn("Reading lists", result.stderr + result.stdout)

    def test_interrupted_it_leaves_no_file(self):
        self.installed(missing="cmake")
        self.fake("apt-get", f"echo $$ >{self.bin}/apt.pid; sleep 60")
        temporary = self.bin / "tmp"
        temporary.mkdir()
        environment = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", TMPDIR=str(temporary))
        process = subprocess.Popen([ROOT / "deploy/install-deps.sh"], start_new_session=True,
                                   stderr=subprocess.DEVNULL, env=environment)
        while not (self.bin / "apt.pid").exists():
            time.sleep(0.02)
        self.assertEqual(len(list(temporary.iterdir())), 1)
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 143)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_where_all_is_there_nothing_is_called_or_said(self):
        self.installed()
        result = self.run_script("--tests")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.calls(), "")

    def test_only_what_is_missing_is_installed(self):
        self.installed(missing="cmake")
        self.assertEqual(self.run_script().returncode, 0)
        self.assertRegex(self.calls(), r"install -y --no-install-recommends cmake\n$")

    def test_what_only_tests_need_is_left_to_the_tests(self):
        self.installed(missing="python3-pil")
        self.run_script()
        self.assertEqual(self.calls(), "")
        self.run_script("--tests")
        self.assertIn("python3-pil", self.calls())


class HeadersTest(unittest.TestCase):
    """Fails if install-deps.sh lacks a header's package, so that a build on a fresh machine doesn't fail."""

    INCLUDE = re.compile(r'^#include [<"]([^">]+)[">]', re.M)
    COMES_WITH_THE_COMPILER = re.compile(r"^(libc6-dev|linux-libc-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev)$")

    def headers(self):
        for folder in ("common", "server", "client", "tests"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".h", ".cc"):
                    yield from self.INCLUDE.findall(path.read_text())

    def test_each_librarys_header_comes_from_a_package_that_is_installed(self):
        paths = [str(pathlib.Path("/usr/include", header)) for header in set(self.headers())
                 if pathlib.Path("/usr/include", header).exists()]
        owners = subprocess.run(["dpkg-query", "-S", *paths], text=True, capture_output=True).stdout
        self.assertIn("libgtest-dev", owners)
        script = (ROOT / "deploy/install-deps.sh").read_text()
        for owner in owners.splitlines():
            package, header = re.match(r"([^:,]+)\S*: (.*)", owner).groups()
            if not self.COMES_WITH_THE_COMPILER.match(package):
                self.assertTrue(re.search(rf"[\s=]{re.escape(package)}[\s\"]", script),
                                f"{header} is included, and install-deps.sh lacks its package")


if __name__ == "__main__":
    unittest.main()
