"""Tests the previous release's client with this build's daemon: compat_test.py [-v] [--record] SOURCE PROGRAMS
FOLDER.

It builds the client of the commit or tag in PREVIOUS, once, in FOLDER. --record records anew what that client
sends."""
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

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
RECORDS = "--record" in sys.argv
if RECORDS:
    sys.argv.remove("--record")
ROOM = pathlib.Path(sys.argv.pop()).resolve()
PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
PREVIOUS = (HERE / "PREVIOUS").read_text().strip()
STATE = "state "


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


try:
    import recorder
except ImportError:
    skip("/usr/bin/python3 has no grpc; deploy/install-deps.sh --tests installs it")


def run(*command, **options):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if ended.returncode != 0:
        raise RuntimeError(f"{command} ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


def has_previous():
    found = subprocess.run(["git", "-C", SOURCE, "cat-file", "-e", f"{PREVIOUS}^{{commit}}"], capture_output=True)
    return found.returncode == 0


def compile_trainer(client, libraries, program):
    """Compiles the same trainer against one release's public headers and library."""
    program.parent.mkdir(parents=True, exist_ok=True)
    run("c++", "-std=c++20", "-O1", "-I", client / "include", HERE / "trainer.cc", "-o", program, "-L", libraries,
        "-lpenstock", f"-Wl,-rpath,{libraries}")
    return program


def build_previous():
    """Builds the previous release's library and example from its own source."""
    source, build = ROOM / PREVIOUS / "source", ROOM / PREVIOUS / "build"
    if not source.exists():
        shutil.rmtree(ROOM / PREVIOUS, ignore_errors=True)
        source.mkdir(parents=True)
        archive = subprocess.run(["git", "-C", SOURCE, "archive", PREVIOUS], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    # Lets ccache recognize files that were compiled in another folder.
    environment = os.environ | {"CCACHE_BASEDIR": str(ROOM / PREVIOUS), "CCACHE_NOHASHDIR": "1"}
    run("cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DPENSTOCK_TESTS=OFF",
        "-DPENSTOCK_PYTHON=OFF", env=environment)
    run("cmake", "--build", build, "--parallel", "2", "--target", "penstock-example-epoch", env=environment)
    return source, build


class CompatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        source, build = build_previous()
        cls.old = compile_trainer(source / "client", build / "lib", ROOM / "previous/penstock-compat-trainer")
        cls.old_epoch = build / "bin/penstock-example-epoch"
        cls.new = compile_trainer(SOURCE / "client", PROGRAMS.parent / "lib", ROOM / "this/penstock-compat-trainer")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = pathlib.Path(cls.folder.name)
        run(PROGRAMS / "penstock-make-photographs", folder / "photographs", "--images", 100)
        cls.address = folder / "run/penstock.sock"
        (folder / "config.yaml").write_text(
            f"server: {{socket: {cls.address}, group: '', state_dir: ''}}\npool: {{max: 128MiB}}\n"
            f"datasets: [{{name: photographs, folder: {folder}/photographs}}]\n")
        with open(folder / "log", "w", encoding="utf-8") as log:
            cls.daemon = subprocess.Popen([PROGRAMS / "penstockd", "--config", folder / "config.yaml", "--workers", "1"],
                                          stderr=log)
        cls.addClassCleanup(cls.end)
        while not cls.address.exists():
            if cls.daemon.poll() is not None:
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.05)

    @classmethod
    def end(cls):
        cls.daemon.send_signal(signal.SIGTERM)
        cls.daemon.wait(20)

    def train(self, trainer, batches=0, state=()):
        """Returns the batches that arrived, and the session's state after them."""
        *lines, last = run(trainer, self.address, "photographs", batches, *state, timeout=120).splitlines()
        self.assertTrue(last.startswith(STATE), last)
        return [line.split()[2:] for line in lines], last.removeprefix(STATE)

    def test_a_whole_epoch_is_the_same_to_the_byte(self):
        arguments = ("--address", self.address, "--data", "photographs", "--batch", 16, "--json")
        old, new = (json.loads(run(program, *arguments, timeout=120))
                    for program in (self.old_epoch, PROGRAMS / "penstock-example-epoch"))

        self.assertEqual(old["samples"], 100)
        self.assertEqual(old["sha256"], new["sha256"])

    def test_a_session_begun_with_either_client_is_resumed_with_the_other(self):
        whole, end = self.train(self.new)
        self.assertEqual(len(whole), 7)
        for first, second in ((self.old, self.new), (self.new, self.old)):
            begun, state = self.train(first, 3)
            rest, ended = self.train(second, 0, (state,))

            self.assertEqual(begun + rest, whole)
            self.assertEqual(ended, end)

    # The fast test must send a daemon what the previous client really sends.
    def test_what_the_previous_client_says_is_what_was_written_down(self):
        said = recorder.record(self.old, self.folder.name)
        said["state"] = self.train(self.old, 3)[1].encode()
        for name, message in said.items():
            if RECORDS:
                RECORDED.mkdir(exist_ok=True)
                (RECORDED / f"{name}.bin").write_bytes(message)
            self.assertEqual((RECORDED / f"{name}.bin").read_bytes(), message, name)
        self.assertEqual(sorted(path.stem for path in RECORDED.iterdir()), sorted(said))


if __name__ == "__main__":
    if not has_previous():
        skip(f"{SOURCE} has no history with {PREVIOUS}, the previous release; clone the repository")
    unittest.main()
