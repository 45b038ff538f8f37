"""Shared by the Python tests: a daemon for each test class, photographs, and skips with a reason.

PENSTOCK_BIN is the programs' folder. PENSTOCK_TEST_DATA, if set, has real photographs.
"""
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PENSTOCK_BIN", ROOT / "build/release/bin"))
DATA = os.environ.get("PENSTOCK_TEST_DATA")


def program(name):
    return str(BIN / name)


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def wait_until_serving(process, log, said_before=0):
    """Waits for the daemon's log. The sockets' existence proves little: a killed daemon leaves them behind."""
    said = lambda: log.read_bytes()[said_before:]
    wait_until(lambda: process.poll() is not None or b"event=serving" in said(), "the daemon to serve")
    if process.poll() is not None:
        raise AssertionError("the daemon did not start: " + said().decode())


class Daemon:
    """A private daemon in its own folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.address = str(self.folder / "penstock.sock")
        self.process = None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            said_before = log.tell()
            self.process = subprocess.Popen([program("penstockd"), "--private", str(self.folder)], stderr=log)
        wait_until_serving(self.process, self.folder / "log", said_before)

    def freeze(self):
        """Stops the daemon, and waits until the signal takes effect."""
        self.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: self._state() == "T", "the daemon to stop")

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def _state(self):
        return pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=30)
        if self.process.returncode not in (0, -signal.SIGKILL):
            raise AssertionError(f"the daemon ended with {self.process.returncode}: {(self.folder / 'log').read_text()}")


class FeedTest(unittest.TestCase):
    """Provides a daemon, `self.daemon`, and 100 photographs in 10 classes, `self.photographs`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-python-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.photographs = os.path.join(cls.folder, "photographs")
        subprocess.run([program("penstock-make-photographs"), cls.photographs, "--images", "100", "--classes", "10"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        scratch = os.path.join(cls.folder, "daemon")
        os.mkdir(scratch, 0o700)
        cls.daemon = Daemon(scratch)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.environ["PENSTOCK_ADDRESS"] = cls.daemon.address


def script(text, *arguments, **keywords):
    """Runs Python text in a separate process and returns its output."""
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, **keywords)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def draw():
    """Returns `crop(width, height, key)` and `flip(key, p)`, as specified in server/plan/README.md."""
    names = {}
    text = (ROOT / "server/plan/README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, names)
    return names


def need(module):
    """Imports the module, or skips with the reason."""
    try:
        return __import__(module)
    except ImportError as error:
        skip(f"{module} is not installed ({error})")


def skip(why):
    print(f"SKIPPED: {pathlib.Path(sys.argv[0]).stem}: {why}")
    sys.exit(77)


def main():
    unittest.main(verbosity=2)
