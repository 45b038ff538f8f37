"""Builds the images of deploy/container without Docker and runs them as compose.yaml says: image_test.py [-v]
SOURCE BUILD.

It runs the Dockerfile's steps in a Debian 12 made by debootstrap, with packages built here. It skips the stage
that builds in the image, because that stage only runs deploy/package.sh."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

import dockerfile
from debian import Debian
from sealed import Node, lacks

BUILD = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
CONTAINER = SOURCE / "deploy/container"
STAGES = dockerfile.stages((CONTAINER / "Dockerfile").read_text())
SERVICES = yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]
SAMPLES = 64


def build(stage, base, packages):
    """Runs a stage's RUN and COPY steps. The other instructions are read when the image is run."""
    image = Debian(base)
    for word, argument in STAGES[stage]:
        if word == "RUN":
            if argument.startswith("--mount"):
                shutil.copytree(packages, image.root / "packages")
                argument = argument.split(None, 1)[1]
            image.run("sh", "-c", argument)
            shutil.rmtree(image.root / "packages", ignore_errors=True)
        elif word == "COPY":
            origin, target = argument.split()
            (image.root / target[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / origin, image.root / target[1:])
    return image


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if missing := lacks():
            raise unittest.SkipTest(missing)
        packages = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, packages)
        subprocess.run([SOURCE / "deploy/package.sh", "--build", BUILD, "--output", packages], check=True)
        base = Debian()
        cls.addClassCleanup(base.close)
        cls.images = {}
        for stage in ("penstock", "trainer"):
            cls.images[stage] = build(stage, base, packages)
            cls.addClassCleanup(cls.images[stage].close)
        cls.node = Node()
        cls.addClassCleanup(cls.node.close)
        scratch = cls.node.scratch
        # Docker initializes a new volume with the image's content.
        for name, inside in (("socket", "run/penstock"), ("state", "var/lib/penstock"),
                             ("operators", "run/penstock-admin")):
            subprocess.run(["cp", "-a", cls.images["penstock"].root / inside, scratch / name], check=True)
        shutil.copy(CONTAINER / "penstock.yaml", scratch)
        (scratch / "data").mkdir()
        subprocess.run([BUILD / "bin/penstock-make-photographs", scratch / "data/photographs", "--images", str(SAMPLES)],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", scratch / "data"], check=True)
        cls.daemon = cls.start("penstock", {"socket": ("/run/penstock", "rw"), "state": ("/var/lib/penstock", "rw"),
                                            "operators": ("/run/penstock-admin", "rw"),
                                            "penstock.yaml": ("/etc/penstock/penstock.yaml", "ro"),
                                            "data": ("/data", "ro")})

    @classmethod
    def start(cls, stage, volumes):
        said = STAGES[stage]
        entry = dockerfile.last(said, "ENTRYPOINT") if any(word == "ENTRYPOINT" for word, _ in said) else []
        user, group = SERVICES[stage].get("user", dockerfile.last(said, "USER")).split(":")
        return cls.node.seal([*entry, *dockerfile.last(said, "CMD")], user, group, volumes, cls.images[stage].root)

    def health(self):
        check = dockerfile.last(STAGES["penstock"], "HEALTHCHECK")
        command = re.search(r'CMD (\[.*\])', check).group(1)
        user, group = dockerfile.last(STAGES["penstock"], "USER").split(":")
        return self.node.beside(self.daemon, user, group, *json.loads(command)).returncode

    def test_1_the_daemon_becomes_healthy(self):
        deadline = time.monotonic() + 30
        while self.daemon.poll() is None and self.health() != 0 and time.monotonic() < deadline:
            time.sleep(0.2)

        self.assertIsNone(self.daemon.poll(), "it ended by itself")
        self.assertEqual(self.health(), 0)

    def test_2_a_trainer_takes_an_epoch_through_the_sockets_volume_alone(self):
        trainer = self.start("trainer", {"socket": ("/run/penstock", "ro")})
        said, complaint = trainer.communicate(timeout=60)

        self.assertEqual(trainer.returncode, 0, complaint)
        self.assertRegex(said, rf"^epoch 0: {SAMPLES} samples in ")
        print(said.strip(), file=sys.stderr)

    def test_3_it_runs_without_root_privileges_or_a_file_that_it_could_write(self):
        pid = self.node.inside(self.daemon)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        written = self.node.beside(self.daemon, "7741", "7741", "sh", "-c", "touch /usr/bin/x /etc/x /x 2>&1")

        self.assertRegex(status, r"Uid:\t7741\t7741\t7741\t7741")
        self.assertIn("CapEff:\t0000000000000000", status)
        self.assertNotEqual(written.returncode, 0)
        self.assertEqual(written.stdout.count("Read-only file system"), 3, written.stdout)

    def test_4_nothing_in_it_is_setuid_that_was_not_in_the_base(self):
        for stage, image in self.images.items():
            held = image.run("sh", "-c", "find / -xdev -path /proc -prune -o -perm /6000 -type f -print").split()
            self.assertFalse([path for path in held if "penstock" in path], stage)

    def test_5_a_daemon_that_fails_is_unhealthy_and_one_that_is_stopped_ends_with_0(self):
        pid = int(self.node.inside(self.daemon))
        os.kill(pid, 19)  # SIGSTOP: it answers nobody
        unanswered = self.node.beside(self.daemon, "7741", "7741", "timeout", "5", "sh", "-c",
                                      "penstockctl -o json status | grep -q '\"serving\": true'").returncode
        os.kill(pid, 18)
        os.kill(pid, 15)
        _, log = self.daemon.communicate(timeout=30)

        self.assertNotEqual(unanswered, 0)
        self.assertEqual(self.daemon.returncode, 0, log)


if __name__ == "__main__":
    unittest.main(failfast=True)  # the tests are steps of one story
