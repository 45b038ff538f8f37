"""Tests the shipped unit under a real systemd: booted_test.py [-v] SOURCE BIN STUCK_RUNNER."""
import pathlib
import re
import shutil
import sys
import time
import unittest

from booted_machine import BootedMachine

STUCK_RUNNER = pathlib.Path(sys.argv.pop())
BIN = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
PROGRAMS = ("penstockd", "penstock-worker", "penstock-indexer", "penstockctl", "penstock-test-trainer", "penstock-make-photographs")
CONFIG = "/etc/penstock/penstock.yaml"
MEMBER, STRANGER, ALICE = 54321, 54322, 54323

# Installs the unit as an administrator would. The drop-in shortens timeouts, writes the log where the test can read
# it, and can block the runner.
PREPARE = f"""
mount --make-rshared /  # as on a machine; LoadCredential= needs it
cp /mnt/bin/* /usr/local/bin/
units=/mnt/systemd
mkdir -p /run/systemd/system/penstockd.service.d /etc/penstock
cp $units/penstockd.service /run/systemd/system/
systemd-sysusers $units/sysusers.d/penstock.conf
systemd-tmpfiles --create $units/tmpfiles.d/penstock.conf
/usr/local/bin/penstock-make-photographs /mnt/photographs --images 24 >/dev/null
chmod -R a+rX /mnt/photographs
cat >/etc/penstock/penstock.yaml <<END
pool: {{max: 16MiB}}
workers: {{count: 2}}
datasets: [{{name: photographs, folder: /mnt/photographs}}]
END

# Somebody's own systemd, as a log-in makes it, with the user's unit.
mkdir -p /run/user/{ALICE}/systemd/user /tmp/alice
chown -R {ALICE}:{ALICE} /run/user/{ALICE} /tmp/alice
chmod 0700 /run/user/{ALICE}
echo 'alice:x:{ALICE}:{ALICE}::/tmp/alice:/bin/sh' >>/etc/passwd
echo 'alice:x:{ALICE}:' >>/etc/group
cp $units/user/penstockd.service /run/user/{ALICE}/systemd/user/
cat >/run/systemd/system/alices.service <<END
[Unit]
DefaultDependencies=no
[Service]
Type=notify
User={ALICE}
Delegate=yes
Environment=XDG_RUNTIME_DIR=/run/user/{ALICE}
ExecStart=/lib/systemd/systemd --user --unit=basic.target
END
cat >/run/systemd/system/penstockd.service.d/test.conf <<END
[Unit]
DefaultDependencies=no
[Service]
StandardError=append:/mnt/log
WatchdogSec=5
TimeoutStopSec=10
Environment=LD_PRELOAD=/usr/local/bin/stuck_runner.so PENSTOCK_TEST_STUCK=/mnt/stuck
END
"""


class BootedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if lacks := BootedMachine.lacks():
            raise unittest.SkipTest(lacks)
        cls.machine = BootedMachine(PREPARE)
        cls.addClassCleanup(cls.machine.close)
        scratch = cls.machine.scratch
        shutil.copytree(SOURCE / "deploy/systemd", scratch / "systemd")
        (scratch / "bin").mkdir()
        for program in PROGRAMS:
            shutil.copy(BIN / program, scratch / "bin")
        shutil.copy(STUCK_RUNNER, scratch / "bin/stuck_runner.so")
        cls.machine.boot()

    def setUp(self):
        self.machine.run("systemctl", "reset-failed", "penstockd")
        started = self.machine.run("systemctl", "start", "penstockd")
        self.assertEqual(started.returncode, 0, started.stderr + self.log() + self.console())

    def log(self):
        path = self.machine.scratch / "log"
        return path.read_text() if path.exists() else ""

    def console(self):
        return (self.machine.scratch / "console").read_text()

    def show(self, what):
        return self.machine.run("systemctl", "show", "--value", "--property", what, "penstockd").stdout.strip()

    def eventually(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def is_up_again(self, restarts):
        return lambda: (int(self.show("NRestarts") or 0), self.show("SubState")) == (restarts, "running")

    def train_as(self, user, groups):
        return self.machine.run("setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={groups}",
                                "penstock-test-trainer", "/run/penstock/penstock.sock", "photographs", "take")

    def group(self):
        return int(self.machine.run("stat", "-c", "%g", "/run/penstock").stdout)

    def test_a_start_waits_until_it_serves_and_members_of_the_group_are_fed(self):
        self.assertEqual(self.show("ActiveState"), "active")
        self.assertRegex(self.show("StatusText"), r"^serving 0 sessions; .*; [12] of 2 workers$")

        member = self.train_as(MEMBER, self.group())
        stranger = self.train_as(STRANGER, STRANGER)

        self.assertEqual(member.returncode, 0, member.stderr + self.log())
        self.assertNotEqual(stranger.returncode, 0)
        self.assertIn("permission denied", stranger.stdout + stranger.stderr)

    def test_it_has_no_privilege_no_network_and_its_own_view_of_users(self):
        pid = self.show("MainPID")
        status = self.machine.run("cat", f"/proc/{pid}/status").stdout
        spaces = {name: {self.machine.run("readlink", f"/proc/{each}/ns/{name}").stdout for each in (1, pid)}
                  for name in ("net", "ipc", "mnt", "user")}

        for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"):
            self.assertIn(line, status)
        for name in ("net", "ipc", "mnt"):
            self.assertEqual(len(spaces[name]), 2, name)
        self.assertEqual(len(spaces["user"]), 1)  # the daemon must see its peers' users

    def test_folders_have_the_modes_that_the_daemon_wants(self):
        self.assertEqual(self.machine.run("stat", "-c", "%A %U %G", "/run/penstock").stdout,
                         "drwxr-x--- penstock penstock\n")
        self.assertEqual(self.machine.run("stat", "-c", "%A %U %G", "/var/lib/penstock").stdout,
                         "drwx------ penstock penstock\n")

    def test_a_worker_that_is_killed_leaves_the_unit_up(self):
        restarts = self.show("NRestarts")
        main = self.show("MainPID")
        names = self.machine.run("sh", "-c", "grep -l '^penstock-worker$' /proc/[0-9]*/comm").stdout
        workers = re.findall(r"\d+", names)
        self.assertEqual(len(workers), 2, names)
        for pid in workers:
            self.machine.run("kill", "-KILL", pid)

        self.assertEqual(self.train_as(MEMBER, self.group()).returncode, 0)
        self.assertEqual((self.show("MainPID"), self.show("NRestarts")), (main, restarts))

    def test_after_a_crash_it_is_started_again_and_the_log_says_where_it_was(self):
        restarts = int(self.show("NRestarts"))
        self.machine.run("kill", "-SEGV", self.show("MainPID"))

        self.assertTrue(self.eventually(self.is_up_again(restarts + 1)), self.log())
        self.assertRegex(self.log(), r"(?s)SIGSEGV received.*event=crashed version=")

    def test_a_runner_that_is_stuck_is_ended_by_the_watchdog_and_started_again(self):
        restarts = int(self.show("NRestarts"))
        stuck = self.machine.scratch / "stuck"
        stuck.touch()
        ended = self.eventually(lambda: self.show("Result") == "watchdog" or "SIGABRT received" in self.log())
        stuck.unlink()

        self.assertTrue(ended, self.show("Result") + self.log())
        self.assertTrue(self.eventually(self.is_up_again(restarts + 1)), self.log())

    def test_a_stop_ends_with_zero_and_leaves_the_folder_for_containers(self):
        self.assertEqual(self.machine.run("systemctl", "stop", "penstockd").returncode, 0)

        self.assertEqual((self.show("Result"), self.show("ExecMainStatus")), ("success", "0"))
        self.assertEqual(self.machine.run("ls", "-A", "/run/penstock").stdout, "")
        self.assertEqual(self.machine.run("ls", "-d", "/run/penstock").returncode, 0)

    def test_a_wrong_configuration_is_not_tried_again(self):
        config = "/etc/penstock/penstock.yaml"
        right = self.machine.run("cat", config).stdout
        self.machine.run("systemctl", "stop", "penstockd")
        self.machine.run("sh", "-c", f"echo 'pool: {{max: 4}}' >{config}")
        started = self.machine.run("systemctl", "start", "penstockd")
        time.sleep(2)  # RestartSec= is one
        end = self.show("ActiveState"), self.show("ExecMainStatus"), self.show("NRestarts")
        text = self.show("StatusText")
        (self.machine.scratch / "right").write_text(right)
        self.machine.run("cp", "/mnt/right", config)

        self.assertNotEqual(started.returncode, 0)
        self.assertEqual(end, ("failed", "2", "0"))
        self.assertTrue(re.search(r"pool\.max: got '4'", text), text)

    def reconfigured(self, text):
        """Appends to the configuration until the test ends."""
        before = self.machine.run("cat", CONFIG).stdout
        self.addCleanup(self.configure, before)
        self.configure(before + text)

    def configure(self, text):
        (self.machine.scratch / "config").write_text(text)
        self.assertEqual(self.machine.run("cp", "/mnt/config", CONFIG).returncode, 0)

    def test_a_reload_that_is_refused_fails_and_the_daemon_goes_on(self):
        main = self.show("MainPID")
        self.assertEqual(self.machine.run("systemctl", "reload", "penstockd").returncode, 0, self.log())

        for wrong in ("pools: 4\n", "gpu: {depth: 2}\n"):
            with self.subTest(wrong):
                self.reconfigured(wrong)
                self.assertNotEqual(self.machine.run("systemctl", "reload", "penstockd").returncode, 0)
                self.doCleanups()

        self.assertIn("penstock.yaml:4: pools: unknown key", self.log())
        self.assertIn("gpu.depth", self.log())
        self.assertEqual((self.show("MainPID"), self.show("ActiveState")), (main, "active"))
        self.assertEqual(self.machine.run("systemctl", "reload", "penstockd").returncode, 0)

    def preflight(self, *arguments):
        ran = self.machine.run("/mnt/systemd/preflight", *arguments)
        self.assertEqual(self.machine.run("ls", "/run/systemd/system").stdout.count("preflight"), 0)
        return ran.returncode, ran.stderr

    def test_a_preflight_beside_the_daemon_finds_what_would_prevent_its_restart(self):
        main = self.show("MainPID")
        modes = self.machine.run("stat", "-c", "%a %U", "/run/penstock", "/run/penstock-admin", "/var/lib/penstock").stdout
        self.assertEqual(self.preflight(), (0, f"{CONFIG}: ok\n"))

        self.machine.run("mkdir", "-m", "0700", "/mnt/closed")
        for wrong, line, words in (
                ("server: {group: nobodys}\n", 4, "server.group: there is no group 'nobodys'"),
                ("source: {roots: [/mnt/closed]}\n", 4, "source.roots[0]: /mnt/closed: Permission denied"),
                ("server: {metrics_address: 127.0.0.1:9100}\n", 4, "install the drop-in network.conf")):
            with self.subTest(words):
                self.reconfigured(wrong)
                code, said = self.preflight()
                self.doCleanups()
                self.assertEqual(code, 2, said)
                self.assertIn(f"penstockd: {CONFIG}:{line}: ", said)
                self.assertIn(words, said)

        self.assertEqual((self.show("MainPID"), self.show("ActiveState")), (main, "active"))
        self.assertEqual(self.machine.run("stat", "-c", "%a %U", "/run/penstock", "/run/penstock-admin",
                                          "/var/lib/penstock").stdout, modes)
        self.assertEqual(self.train_as(MEMBER, self.group()).returncode, 0)

    def test_a_check_looks_at_datasets_with_the_daemons_eyes(self):
        before = self.machine.run("cat", CONFIG).stdout
        self.addCleanup(self.machine.run, "systemctl", "stop", "penstockd")
        self.addCleanup(self.configure, before)
        self.machine.run("mkdir", "-m", "0755", "/mnt/data")
        self.machine.run("mkdir", "-m", "0700", "/mnt/data/shut")
        self.configure(before.replace("datasets: [", "source: {roots: [/mnt/photographs, /mnt/data]}\ndatasets: ["
                                      "{name: shut, folder: /mnt/data/shut}, "))
        self.assertEqual(self.machine.run("systemctl", "restart", "penstockd").returncode, 0, self.log())

        checked = self.machine.run("penstockctl", "check", "--config", CONFIG).stdout

        self.assertRegex(checked, r"(?m)^ok +dataset photographs +/mnt/photographs")
        self.assertRegex(checked, r"(?m)^warning +dataset shut +/mnt/data/shut: Permission denied: user \d+ may not read it")
        self.assertRegex(checked, r"(?m)^ok +configuration +")
        self.assertNotIn("not checked", checked)

    def test_a_preflight_knows_drop_ins_and_what_systemd_gave_the_daemon(self):
        drop_in = "/run/systemd/system/penstockd.service.d/keys.conf"
        (self.machine.scratch / "keys").write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
        (self.machine.scratch / "keys.conf").write_text("[Service]\nLoadCredential=stores:/mnt/keys\n")
        self.addCleanup(self.machine.run, "systemctl", "daemon-reload")
        self.addCleanup(self.machine.run, "rm", drop_in)
        self.machine.run("cp", "/mnt/keys.conf", drop_in)
        self.machine.run("systemctl", "daemon-reload")
        self.reconfigured("stores: {places: [{url: 's3://bucket/', credentials: profile, "
                          "credentials_file: /run/credentials/penstockd.service/stores}]}\n")
        self.assertEqual(self.machine.run("systemctl", "restart", "penstockd").returncode, 0, self.log())

        self.assertEqual(self.preflight(), (0, f"{CONFIG}: ok\n"))
        self.machine.run("systemctl", "stop", "penstockd")
        self.assertEqual(self.preflight(), (0, f"{CONFIG}: ok\n"))

    def test_a_users_own_systemd_keeps_a_private_daemon(self):
        def as_alice(*command):
            return self.machine.run("setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "env",
                                    f"XDG_RUNTIME_DIR=/run/user/{ALICE}", "PENSTOCK_ADDRESS=", *command)

        self.machine.run("systemctl", "stop", "penstockd")  # otherwise clients find that daemon first
        manager = self.machine.run("systemctl", "start", "alices")
        self.assertEqual(manager.returncode, 0, manager.stderr + self.console())
        started = as_alice("systemctl", "--user", "start", "penstockd")
        address = f"/run/user/{ALICE}/penstock/penstock.sock"
        trained = as_alice("penstock-test-trainer", address, "/mnt/photographs", "take")
        status = as_alice("systemctl", "--user", "show", "-p", "StatusText", "penstockd").stdout
        mode = as_alice("stat", "-c", "%A", f"/run/user/{ALICE}/penstock").stdout

        self.assertEqual(started.returncode, 0, started.stderr)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("StatusText=serving", status)
        self.assertEqual(mode, "drwx------\n")
        self.assertEqual(as_alice("systemctl", "--user", "stop", "penstockd").returncode, 0)


if __name__ == "__main__":
    unittest.main()
