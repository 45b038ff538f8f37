"""Plays a node's life with the Debian packages, from installation to purge, in a bare Debian 12 with its own
systemd: packages_test.py [-v] SOURCE BUILD.

The tests are steps of one story: each begins where the previous one ended."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from booted_machine import BootedMachine
from debian import APT, Debian

BUILD = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop())
HERE = pathlib.Path(__file__).parent
CONFIG = "/etc/penstock/penstock.yaml"
PREFLIGHT = "/usr/libexec/penstock/preflight"
MEMBER, STRANGER = 54321, 54322
SAMPLES = 240

# Adds a log for the test, and lets the daemon start without the rest of a whole system's boot.
PREPARE = """
mkdir -p /run/systemd/system/penstockd.service.d
cat >/run/systemd/system/penstockd.service.d/test.conf <<END
[Unit]
DefaultDependencies=no
[Service]
StandardError=append:/mnt/log
END
"""


def pack(folder, revision):
    subprocess.run([SOURCE / "deploy/package.sh", "--build", BUILD, "--output", folder, "--revision", str(revision)],
                   check=True)


def change_the_shipped_configuration(package):
    """Appends a line, so that an upgrade has to choose between this file and the administrator's."""
    tree = package.parent / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    with open(tree / "etc/penstock/penstock.yaml", "a") as shipped:
        shipped.write("# a later version's words\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, package], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


class PackingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        pack(cls.scratch / "first", 1)

    def test_one_build_gives_the_same_packages_whenever_it_is_packed(self):
        time.sleep(1)
        pack(self.scratch / "second", 1)

        packages = sorted(path.relative_to(self.scratch / "first") for path in (self.scratch / "first").rglob("*.deb"))
        self.assertIn("penstock-dbgsym", str(packages))
        for package in packages:
            self.assertEqual((self.scratch / "first" / package).read_bytes(),
                             (self.scratch / "second" / package).read_bytes(), package)

    def test_the_packages_of_symbols_have_them(self):
        packages = list((self.scratch / "first/dbgsym").glob("*.deb"))
        self.assertGreater(len(packages), 3)
        for package in packages:
            unpacked = self.scratch / package.stem
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
            files = list(unpacked.rglob("*.debug"))
            self.assertTrue(files, package.name)
            for file in files:
                sections = subprocess.run(["readelf", "-SW", file], text=True, capture_output=True, check=True).stdout
                self.assertIn(".symtab", sections, package.name)

    def test_cpack_writes_nothing_outside_of_its_build_folder(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        before = {path: path.stat().st_mtime for path in SOURCE.iterdir()}
        subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake"], cwd=elsewhere, check=True,
                       stdout=subprocess.DEVNULL)

        self.assertEqual(list(elsewhere.iterdir()), [])
        self.assertEqual({path: path.stat().st_mtime for path in SOURCE.iterdir()}, before)
        self.assertTrue(list((BUILD / "packages").glob("penstock_*.deb")))

    def test_lintian_has_nothing_against_them(self):
        if not shutil.which("lintian"):
            self.skipTest("there is no lintian; deploy/install-deps.sh --packages")
        # The symbols name functions and no lines: that is what a crash's backtrace shows.
        judged = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0",
                                 "--suppress-tags", "debug-file-with-no-debug-symbols",
                                 *(self.scratch / "first").rglob("*.deb")], text=True, capture_output=True)

        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if lacks := BootedMachine.lacks():
            raise unittest.SkipTest(lacks)
        cls.debian = Debian()
        cls.addClassCleanup(cls.debian.close)
        cls.debian.install("systemd", "python3-minimal", "procps")
        cls.machine = BootedMachine(PREPARE, cls.debian.root)
        cls.addClassCleanup(cls.machine.close)
        scratch = cls.machine.scratch
        for revision in (1, 2):
            pack(scratch / "packages", revision)
        change_the_shipped_configuration(next((scratch / "packages").glob("penstock_*-2_*.deb")))
        shutil.copy(HERE / "trainer.py", scratch)
        subprocess.run([BUILD / "bin/penstock-make-photographs", scratch / "photographs", "--images", str(SAMPLES)],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", scratch], check=True)
        cls.machine.boot()

    def run_in(self, *command):
        return self.machine.run(*command, timeout=300)

    def says(self, *command):
        ran = self.run_in(*command)
        self.assertEqual(ran.returncode, 0, f"{command}: {ran.stdout}{ran.stderr}{self.log()}")
        return ran.stdout.strip()

    def install(self, revision):
        packages = sorted(path.name for path in (self.machine.scratch / "packages").glob(f"*-{revision}_*.deb"))
        self.assertEqual(len(packages), 5, packages)
        return self.says(*APT, "install", *(f"/mnt/packages/{name}" for name in packages))

    def log(self):
        path = self.machine.scratch / "log"
        return path.read_text() if path.exists() else ""

    def show(self, what):
        return self.says("systemctl", "show", "--value", "--property", what, "penstockd")

    def trainer(self, user, pause=0.0):
        group = self.says("sh", "-c", "getent group penstock | cut -d: -f3") if user == MEMBER else user
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={group}", "env", "HOME=/tmp",
                   "python3", "/mnt/trainer.py", "photographs", str(pause)]
        return subprocess.Popen(["nsenter", "--target", self.machine.init(), "--all", "--", *command], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_a_whole_epoch(self, trainer):
        said, complaint = trainer.communicate(timeout=120)
        self.assertEqual(trainer.returncode, 0, complaint + self.log())
        self.assertEqual(sorted(map(int, said.split())), list(range(SAMPLES)))

    def test_1_installed_it_has_its_user_and_starts_nothing(self):
        self.install(1)

        self.assertEqual(self.run_in("systemctl", "is-enabled", "penstockd").stdout.strip(), "disabled")
        self.assertEqual(self.show("ActiveState"), "inactive")
        self.assertEqual(self.says("stat", "-c", "%A %U %G", "/run/penstock"), "drwxr-x--- penstock penstock")
        self.says(PREFLIGHT)
        self.says("test", "-s", "/usr/share/doc/penstock/deploy/README.md")
        self.assertEqual(self.says("python3", "-c", "import importlib.metadata as m; print(m.version('penstock'))"),
                         self.says("penstockctl", "--version").split()[1])
        linked = self.says("sh", "-c", "ldd /usr/bin/penstock* /usr/lib/libpenstock.so.1 "
                                       "/usr/lib/python3/dist-packages/penstock/*.so")
        self.assertNotIn("not found", linked)

    def test_2_configured_and_enabled_it_feeds_the_members_of_its_group(self):
        (self.machine.scratch / "edited").write_text(
            "# ours\nserver: {drain_for: 2s}\npool: {max: 16MiB}\nworkers: {count: 2}\n"
            "datasets: [{name: photographs, folder: /mnt/photographs}]\n")
        self.says("cp", "/mnt/edited", CONFIG)
        self.says("systemctl", "enable", "--now", "penstockd")

        self.assertEqual(self.show("User"), "penstock")
        self.assertIn("serving", self.says("penstockctl", "status"))
        self.assert_a_whole_epoch(self.trainer(MEMBER))

        stranger = self.trainer(STRANGER)
        _, complaint = stranger.communicate(timeout=60)
        self.assertNotEqual(stranger.returncode, 0)
        self.assertIn(f"user {STRANGER} is not a member", complaint)

    def test_3_a_cpp_trainer_is_built_with_the_development_package(self):
        project, built = SOURCE / "tests/system/install/consumer", self.machine.scratch / "consumer"
        subprocess.run(["cmake", "-S", project, "-B", built, "-G", "Ninja",
                        f"-DCMAKE_PREFIX_PATH={self.debian.root}/usr"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", built], check=True, stdout=subprocess.DEVNULL)

        self.assertRegex(self.says("env", "LD_LIBRARY_PATH=", "/mnt/consumer/consumer", "/tmp/no.sock"), "^no daemon: .")

    def test_4_an_upgrade_keeps_edits_and_a_running_trainer_loses_no_sample(self):
        before = self.show("MainPID")
        trainer = self.trainer(MEMBER, pause=1.5)
        time.sleep(3)
        self.install(2)

        self.assertTrue(self.says("dpkg-query", "-W", "-f", "${Version}", "penstock").endswith("-2"))
        self.assertNotEqual(self.show("MainPID"), before)
        self.assertEqual(self.says("head", "-n", "1", CONFIG), "# ours")
        self.assertEqual(self.says("systemctl", "is-enabled", "penstockd"), "enabled")
        self.assertIsNone(trainer.poll(), "it was to be in the middle of its epoch")
        self.assert_a_whole_epoch(trainer)

    def test_5_an_upgrade_that_refuses_the_configuration_leaves_the_daemon_that_runs(self):
        before = self.show("MainPID")
        self.says("mkdir", "-m", "0700", "/var/closed")  # root may read it, but the daemon's user may not
        for wrong, words in (("pools: 4", "pools: unknown key"),
                             ("source: {roots: [/var/closed]}", "source.roots[0]: /var/closed: Permission denied"),
                             ("log: {level: info}\nserver: {group: nobodys}", "server")):
            with self.subTest(wrong):
                self.says("sh", "-c", f"printf '{wrong}\\n' >>{CONFIG}")
                said = self.run_in("dpkg", "--force-confold", "-i", *self.packages_named("penstock"))
                self.says("cp", "/mnt/edited", CONFIG)

                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertIn(f"penstockd: {CONFIG}:", said.stderr)
                self.assertIn(words, said.stderr)
                self.assertIn("the running daemon was not restarted", said.stderr)
                self.assertEqual((self.show("MainPID"), self.show("ActiveState")), (before, "active"))
        self.says("rmdir", "/var/closed")

    def packages_named(self, name):
        return [f"/mnt/packages/{path.name}" for path in (self.machine.scratch / "packages").glob(f"{name}_*-2_*.deb")]

    def test_6_a_stop_takes_as_long_as_drain_for_allows_whatever_the_unit_says(self):
        drop_in = "/run/systemd/system/penstockd.service.d"
        self.says("sh", "-c", f"mkdir -p {drop_in} && printf '[Service]\\nTimeoutStopSec=2s\\n' >{drop_in}/stop.conf && "
                              f"sed 's/drain_for: 2s/drain_for: 90s/' /mnt/edited >{CONFIG} && systemctl daemon-reload && "
                              "systemctl restart penstockd")
        trainer = self.trainer(MEMBER, pause=1.5)
        time.sleep(3)
        begun = time.monotonic()
        self.says("systemctl", "stop", "penstockd")

        self.assertGreater(time.monotonic() - begun, 4, "the trainer was to be in the middle of its epoch")
        self.assertEqual(self.show("Result"), "success")
        self.assert_a_whole_epoch(trainer)
        self.says("sh", "-c", f"rm {drop_in}/stop.conf && cp /mnt/edited {CONFIG} && systemctl daemon-reload && "
                              "systemctl start penstockd")

    def test_7_a_crash_can_be_read_with_the_symbols(self):
        symbols = [f"/mnt/packages/dbgsym/{path.name}"
                   for path in (self.machine.scratch / "packages/dbgsym").glob("penstock-dbgsym_*-2_*.deb")]
        self.says("dpkg", "-i", *symbols)
        self.says(*APT, "install", "binutils")
        self.says("sh", "-c", "kill -SEGV $(systemctl show --value --property MainPID penstockd)")
        time.sleep(5)

        named = self.says("sh", "-c", "/usr/libexec/penstock/backtrace </mnt/log")

        self.assertRegex(named, r"(?m)^#\d+ 0x[0-9a-f]+ penstock::app::")
        self.says("dpkg", "-P", "penstock-dbgsym")

    def test_8_removed_it_has_ended_and_its_data_is_there(self):
        self.says(*APT, "remove", "penstock")

        self.assertEqual(self.run_in("sh", "-c", "cat /proc/[0-9]*/comm | grep penstock").stdout, "")
        self.assertEqual(self.says("head", "-n", "1", CONFIG), "# ours")
        self.assertEqual(self.says("stat", "-c", "%U", "/var/lib/penstock"), "penstock")
        self.assertFalse((self.debian.root / "usr/bin/penstockd").exists())

    def test_9_purged_nothing_is_left(self):
        self.says("sh", "-c", "useradd ada && usermod --append --groups penstock ada")
        self.says("sh", "-c", "mkdir -p /var/cache/penstock /etc/systemd/system/penstockd.service.d && "
                              "touch /etc/penstock/credentials /etc/systemd/system/penstockd.service.d/network.conf")
        self.says(*APT, "purge", "penstock", "penstock-tools", "libpenstock1", "libpenstock-dev", "python3-penstock")

        left = self.says("sh", "-c", "find / -xdev -path /mnt -prune -o -name '*penstock*' -print")
        self.assertEqual(left, "")
        self.assertEqual(self.run_in("getent", "passwd", "penstock").stdout, "")
        self.assertEqual(self.run_in("getent", "group", "penstock").stdout, "")
        self.assertEqual(self.run_in("ls", "/run/penstock").stdout, "")


if __name__ == "__main__":
    unittest.main(failfast=True)  # the tests are steps of one story
