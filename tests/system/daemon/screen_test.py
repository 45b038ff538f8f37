"""screen_test.py SOURCE PROGRAMS: penstockctl on a terminal: its width is kept, and it is given back however it ends."""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
import unittest

SOURCE, PROGRAMS = map(pathlib.Path, sys.argv[1:3])
os.environ["PENSTOCK_BIN"] = str(PROGRAMS)
sys.path.insert(0, str(SOURCE / "tests/python"))
import support  # noqa: E402

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?25h\x1b[?1049l"


class Terminal:
    """penstockctl on a terminal of its own."""

    def __init__(self, address, *words, columns=80, rows=24):
        size = struct.pack("HHHH", rows, columns, 0, 0)
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.environ["TERM"] = "xterm"
            os.execv(PROGRAMS / "penstockctl", ["penstockctl", "--address", address, *words])
        self.shown = b""

    def read_until(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition(self.shown):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {seconds} s; shown: {self.shown[-2000:]!r}")
            if select.select([self.end], [], [], 0.2)[0]:
                try:
                    more = os.read(self.end, 65536)
                except OSError:  # the program has ended
                    return
                self.shown += more

    def press(self, key):
        os.write(self.end, key)
        self.read_until(lambda shown: LEAVE in shown)

    def ended(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.end)
        return os.waitstatus_to_exitcode(status)

    def echoes(self):
        return bool(termios.tcgetattr(self.end)[3] & termios.ECHO)

    def last_frame(self):
        frame = self.shown.decode().split("\x1b[H")[-1]
        return [line.rstrip("\r") for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frame).split("\n")]


class ScreenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="penstock-screen-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.daemon = support.Daemon(folder)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)

    def test_top_keeps_to_the_width_of_its_terminal(self):
        for columns in (60, 80):
            top = Terminal(self.daemon.address, "top", columns=columns)
            top.read_until(lambda shown: shown.count(b"\x1b[H") >= 3)
            frame = top.last_frame()
            top.press(b"q")

            self.assertEqual(top.ended(), 0)
            self.assertTrue(frame[0].startswith("penstockd "), frame)
            self.assertLessEqual(max(map(len, frame)), columns)

    def test_whatever_ends_it_gives_the_terminal_back(self):
        for words in (("top",), ("-w", "status")):
            for key, code in ((b"q", 0), (b"\x03", -signal.SIGINT)):
                with self.subTest(words=words, key=key):
                    terminal = Terminal(self.daemon.address, *words)
                    terminal.read_until(lambda shown: b"penstockd " in shown)
                    self.assertIn(ENTER, terminal.shown)
                    self.assertFalse(terminal.echoes())
                    terminal.press(key)

                    self.assertTrue(terminal.echoes())
                    self.assertEqual(terminal.ended(), code)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
