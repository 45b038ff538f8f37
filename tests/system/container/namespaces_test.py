"""Runs a daemon and its trainers in separate namespaces, as containers would, where they share only the folder of
the daemon's socket: namespaces_test.py [-v] BIN LIB."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from sealed import Node

LIB = pathlib.Path(sys.argv.pop())
BIN = pathlib.Path(sys.argv.pop())
DAEMON, TRAINER, STRANGER = 7741, 54321, 54322
SAMPLES = 64
PROGRAMS = {"bin": ("/run/bin", "ro"), "lib": ("/run/lib", "ro")}
SOCKET_ALONE = {"socket": ("/run/penstock", "ro"), **PROGRAMS}
CONFIG = """
server: {group: "", state_dir: /tmp/state}
pool: {max: 64MiB}
workers: {count: 2}
datasets: [{name: photographs, folder: /run/data}]
"""


class NamespacesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()
        cls.addClassCleanup(cls.node.close)
        scratch = cls.node.scratch
        for name in ("bin", "lib", "etc", "socket"):
            (scratch / name).mkdir()
        for name in ("penstockd", "penstock-worker", "penstock-indexer", "penstockctl", "penstock-example-epoch",
                     "penstock-test-trainer"):
            shutil.copy(BIN / name, scratch / "bin")
        shutil.copy(LIB / "libpenstock.so.1", scratch / "lib")
        subprocess.run([BIN / "penstock-make-photographs", scratch / "data", "--images", str(SAMPLES)], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", scratch / "data"], check=True)
        (scratch / "etc/penstock.yaml").write_text(CONFIG)
        os.chown(scratch / "socket", DAEMON, DAEMON)
        (scratch / "socket").chmod(0o750)
        cls.daemon = cls.node.seal(["/run/bin/penstockd", "--config", "/run/etc/penstock.yaml"], DAEMON, DAEMON,
                                   {"socket": ("/run/penstock", "rw"), "data": ("/run/data", "ro"), "etc": ("/run/etc", "ro"),
                                    **PROGRAMS})
        deadline = time.monotonic() + 20
        while not cls.status().get("serving"):
            if time.monotonic() > deadline or cls.daemon.poll() is not None:
                cls.daemon.kill()
                raise RuntimeError(cls.daemon.communicate()[1])
            time.sleep(0.1)

    @classmethod
    def status(cls):
        asked = cls.node.seal(["/run/bin/penstockctl", "-o", "json", "status"], DAEMON, DAEMON, SOCKET_ALONE)
        said, _ = asked.communicate(timeout=20)
        return json.loads(said) if asked.returncode == 0 else {}

    def trainer(self, *command, user=TRAINER, group=DAEMON):
        return self.node.seal(command, user, group, SOCKET_ALONE)

    def test_an_epoch_comes_through_the_sockets_folder_alone(self):
        epoch = ["/run/bin/penstock-example-epoch", "--json", "--data", "photographs"]
        sealed = self.trainer(*epoch)
        said, complaint = sealed.communicate(timeout=60)

        self.assertEqual(sealed.returncode, 0, complaint)
        result = json.loads(said.splitlines()[-1])
        self.assertEqual((result["samples"], result["quarantined"]), (SAMPLES, 0))

    def test_they_share_no_namespace_and_have_no_privileges(self):
        holder = self.trainer("/run/bin/penstock-test-trainer", "/run/penstock/penstock.sock", "photographs", "hold")
        self.assertEqual(holder.stdout.readline(), "holding\n")
        three = [self.node.inside(self.daemon), self.node.inside(holder), "self"]

        for kind in ("pid", "ipc", "mnt", "net", "uts"):
            self.assertEqual(len({os.readlink(f"/proc/{each}/ns/{kind}") for each in three}), 3, kind)
        for each in three[:2]:
            status = pathlib.Path(f"/proc/{each}/status").read_text()
            for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
                self.assertIn(line, status)
            mounts = pathlib.Path(f"/proc/{each}/mountinfo").read_text().splitlines()
            root = [line.split()[5] for line in mounts if line.split()[4] == "/"]
            self.assertTrue(root and root[-1].startswith("ro"), root)
        self.assertIn("/run/data", pathlib.Path(f"/proc/{three[0]}/mountinfo").read_text())
        self.assertNotIn("/run/data", pathlib.Path(f"/proc/{three[1]}/mountinfo").read_text())

    def test_a_trainer_that_is_killed_leaves_nothing_in_the_daemons_pool(self):
        holder = self.trainer("/run/bin/penstock-test-trainer", "/run/penstock/penstock.sock", "photographs", "hold")
        self.assertEqual(holder.stdout.readline(), "holding\n")
        others = self.status()["sessions"] - 1
        holder.kill()
        holder.wait()

        deadline = time.monotonic() + 10
        while self.status()["sessions"] > others and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.status()["sessions"], others)

    def test_root_of_a_trainers_container_is_no_operator_and_the_daemons_user_in_its_own_is(self):
        socket = ("--address", "/run/penstock/penstock.sock")
        for what in (("drain",), ("reload",), ("workers", "--set", "1")):
            asked = self.trainer("/run/bin/penstockctl", *socket, *what, user=0)
            _, complaint = asked.communicate(timeout=30)
            self.assertEqual(asked.returncode, 1, complaint)
            self.assertIn("for operators", complaint)

        operated = self.node.beside(self.daemon, DAEMON, DAEMON, "/run/bin/penstockctl", *socket, "workers", "--set", "2")
        self.assertEqual(operated.returncode, 0, operated.stderr)
        mounts = pathlib.Path(f"/proc/{self.node.inside(self.daemon)}/root/run/penstock-admin").stat()
        self.assertEqual((mounts.st_uid, mounts.st_mode & 0o7777), (DAEMON, 0o700))

    def test_who_is_not_in_the_group_is_let_into_no_folder(self):
        stranger = self.trainer("/run/bin/penstock-test-trainer", "/run/penstock/penstock.sock", "photographs",
                                "take", user=STRANGER, group=STRANGER)
        said, complaint = stranger.communicate(timeout=30)

        self.assertNotEqual(stranger.returncode, 0)
        self.assertIn("permission denied", (said + complaint).lower())


if __name__ == "__main__":
    unittest.main()
