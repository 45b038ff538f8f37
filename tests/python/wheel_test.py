"""Runs pip install ./client/python in fresh virtual environments, for this Python and for Python 3.12
(PENSTOCK_PYTHON312 or in the path)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

sys.path.append(str(support.ROOT / "tests/system/libraries"))
import carried  # noqa: E402

# Libraries that every system has. All others must be in the wheel.
EVERYBODYS = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s))\.so")

FEED = """
import sys, {module}, penstock
with {loader}(sys.argv[1], 10, transform=[penstock.RandomResizedCrop(32)], timeout=60) as loader:
    print("fed", sum(len(batch["label"]) for batch in loader), penstock.__file__)
"""


def run(*command, **keywords):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500,
                          **keywords)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def python312():
    """Returns a Python 3.12 with headers to build extensions, or None."""
    asks = ("import os, sys, sysconfig; assert sys.version_info[:2] == (3, 12); "
            "assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')); print(sys.executable)")
    for name in (os.environ.get("PENSTOCK_PYTHON312", "python3.12"), "python3"):
        found = shutil.which(name) and subprocess.run([name, "-c", asks], capture_output=True, text=True)
        if found and found.returncode == 0:
            return found.stdout.strip()
    return None


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-wheel-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.photographs = os.path.join(cls.folder, "photographs")
        run(support.program("penstock-make-photographs"), cls.photographs, "--images", "100", "--classes", "10")

    def install(self, python, *options):
        """Installs the package into a fresh environment, and returns that environment's Python."""
        scratch = os.path.join(tempfile.mkdtemp(dir=self.folder), "venv")
        run(python, "-m", "venv", *options, scratch)
        environment = dict(os.environ)
        # Uses the compiler's name and the paths of the other builds, so that ccache finds their objects.
        environment.setdefault("CXX", "c++")
        environment.update(CCACHE_BASEDIR=str(support.ROOT), CCACHE_NOHASHDIR="1")
        run(os.path.join(scratch, "bin/pip"), "install", "--disable-pip-version-check",
            str(support.ROOT / "client/python"), env=environment)
        return os.path.join(scratch, "bin/python")

    def feed(self, python, module, loader):
        """Takes an epoch with the package's own daemon, from another folder and without access to the build."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("PENSTOCK_") and name != "PYTHONPATH"}
        environment["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(dir=self.folder)
        said = run(python, "-c", FEED.format(module=module, loader=loader), self.photographs, cwd="/", env=environment)
        self.assertIn("fed 100", said)
        return pathlib.Path(re.search(r"fed 100 (\S+)", said).group(1)).parent

    def check_decoder(self, python):
        """Imports the decoder from another folder: it finds its libraries in the wheel."""
        said = run(python, "-c", "from penstock import _decode\n"
                   "print(_decode.Decoder(1024, 1024, 10).shape(b'GIF87a', _decode.Spec.whole()))", cwd="/")
        self.assertEqual(said.strip(), "truncated")

    def check_libraries(self, package):
        binaries = [*package.glob("*.so"), *package.glob("lib/*"), *package.glob("bin/*")]
        self.assertTrue({"penstockd", "penstock-worker", "penstock-indexer", "penstockctl", "libpenstock.so.1"} <=
                        {binary.name for binary in binaries})
        self.assertEqual(list(carried.problems(package / "lib", package / "licenses")), [])
        for binary in [*package.glob("*.so"), *package.glob("bin/*")]:
            for name, place in re.findall(r"(\S+) => (.+?)(?: \(0x|\n|$)", run("ldd", binary)):
                if not EVERYBODYS.match(name):
                    self.assertEqual(pathlib.Path(place).resolve().parent, (package / "lib").resolve(), binary)
        for binary in [*package.glob("*.so"), *package.glob("bin/*"), package / "lib/libpenstock.so.1"]:
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", binary))
            for path in ":".join(paths).split(":"):  # an empty entry would mean the working directory
                self.assertTrue(path.startswith("$ORIGIN"), f"{binary} looks in {paths}")

    def test_for_python_312_one_wheel_serves_all_later_ones(self):
        python = python312()
        if python is None:
            self.skipTest("there is no Python 3.12 with its headers")

        installed = self.install(python)
        self.check_decoder(installed)
        package = self.feed(installed, "penstock", "penstock.Loader")

        self.assertTrue((package / "_penstock.abi3.so").exists())
        self.assertTrue((package / "_decode.abi3.so").exists())
        self.check_libraries(package)
        for beside in ("py.typed", "_penstock.pyi", "_decode.pyi", "_pydata/slot.py"):
            self.assertTrue((package / beside).exists())
        self.assertIn("class Session", (package / "_penstock.pyi").read_text())

    def test_for_this_python_and_its_torch(self):
        loader = ("penstock.torch", "penstock.torch.DataLoader")
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
            loader = ("penstock", "penstock.Loader")

        self.check_libraries(self.feed(self.install(sys.executable, "--system-site-packages"), *loader))


if __name__ == "__main__":
    support.main()
