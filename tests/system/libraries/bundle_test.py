"""Checks the tarball that deploy/bundle.sh makes of build/release as it is: bundle_test.py SOURCE."""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

import carried

SOURCE = pathlib.Path(sys.argv.pop())


class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        packed = pathlib.Path(scratch.name, "bundle.tar.gz")
        subprocess.run([SOURCE / "deploy/bundle.sh", "--no-build", "--output", packed], check=True)
        with tarfile.open(packed) as tar:
            tar.extractall(scratch.name)
        cls.tree, = pathlib.Path(scratch.name).glob("penstock-*")

    def test_its_libjbig_is_ours_and_each_library_has_its_licence(self):
        self.assertEqual(list(carried.problems(self.tree / "lib", self.tree / "licenses")), [])

    def test_its_programs_load_its_libraries_and_run(self):
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        loaded = subprocess.run(["ldd", self.tree / "bin/penstock-worker"], check=True, capture_output=True, text=True,
                                env=environment).stdout
        self.assertIn(f"libjbig.so.0 => {self.tree}/bin/../lib/libjbig.so.0", loaded)
        self.assertIn(f"libtiff.so.6 => {self.tree}/bin/../lib/libtiff.so.6", loaded)
        for program in ("penstockd", "penstockctl"):
            subprocess.run([self.tree / "bin" / program, "--version"], check=True, env=environment)
        worker = subprocess.run([self.tree / "bin/penstock-worker"], capture_output=True, text=True, env=environment)
        self.assertIn("it has no channel", worker.stderr)


if __name__ == "__main__":
    unittest.main()
