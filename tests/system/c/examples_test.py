"""examples_test.py SOURCE LIBRARY PROGRAMS: builds and runs the C example and the ctypes binding against a daemon."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY, PROGRAMS = map(pathlib.Path, sys.argv[1:4])
os.environ["PENSTOCK_BIN"] = str(PROGRAMS)
sys.path.insert(0, str(SOURCE / "tests/python"))
import support  # noqa: E402

IMAGES = 100


class ExamplesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-c-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.photographs = cls.folder / "photographs"
        subprocess.run([PROGRAMS / "penstock-make-photographs", cls.photographs, "--images", str(IMAGES)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        private = cls.folder / "daemon"
        private.mkdir(mode=0o700)
        cls.daemon = support.Daemon(private)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.trainer = cls.folder / "trainer"
        subprocess.run(["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-o", cls.trainer,
                        SOURCE / "client/examples/trainer.c", "-I", SOURCE / "client/include",
                        LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)

    def run_it(self, *command, address=None):
        return subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, env={**os.environ, "PENSTOCK_ADDRESS": address or self.daemon.address})

    def bind(self, address, dataset):
        return self.run_it("/usr/bin/python3", "-B", SOURCE / "client/examples/binding.py", address, dataset, LIBRARY)

    def test_the_c_trainer_takes_an_epoch(self):
        done = self.run_it(self.trainer, self.photographs)

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^step 0: 32 images, first label \d+$")
        self.assertRegex(lines[3], r"^step 3: 4 images, first label \d+$")

    def test_the_c_trainer_says_what_is_wrong(self):
        unknown = self.run_it(self.trainer, "/no/such/folder")
        away = self.run_it(self.trainer, self.photographs, address=str(self.folder / "none.sock"))

        self.assertEqual((unknown.returncode, unknown.stdout), (1, ""))
        self.assertIn("/no/such/folder", unknown.stderr)
        self.assertEqual(away.returncode, 1)
        self.assertRegex(away.stderr, r"^penstock: not found: .*none\.sock")

    def test_the_binding_takes_what_the_c_trainer_takes(self):
        bound = self.bind(self.daemon.address, self.photographs)

        self.assertEqual((bound.returncode, bound.stderr), (0, ""))
        self.assertEqual(bound.stdout, self.run_it(self.trainer, self.photographs).stdout)

    def test_the_binding_raises_errors_with_their_text(self):
        failed = self.bind(self.daemon.address, "/no/such/folder")

        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stderr, r"PenstockError: .*/no/such/folder")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
