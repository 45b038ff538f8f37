"""systemd_test.py [-v] SOURCE: systemd's own checks of the units in deploy/systemd."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

UNITS = pathlib.Path(sys.argv.pop()) / "deploy/systemd"
LARGEST_EXPOSURE = 2.0  # out of 10; most daemons for GPUs have 9.6


def settings(unit):
    """A unit's settings: all values of each key."""
    lines = (UNITS / unit).read_text().splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return {key: [value for other, value in pairs if other == key] for key, _ in pairs}


class UnitsTest(unittest.TestCase):
    def setUp(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not here (package systemd)")
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.scratch)

    def copy(self, unit):
        """Copies a unit so that it calls an existing program, because penstockd is not installed here."""
        text = (UNITS / unit).read_text()
        self.assertEqual(len(re.findall(r"(?m)^ExecStart=penstockd ", text)), 1)
        path = self.scratch / "penstockd.service"
        path.write_text(re.sub("(?m)^(Exec\\w+)=penstockd ", r"\1=/bin/true ", text))
        return path

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", "--no-pager", *map(str, arguments)], text=True,
                              capture_output=True, timeout=60, env=dict(os.environ, XDG_RUNTIME_DIR=str(self.scratch)))

    def exposure(self, unit):
        said = self.analyze("security", "--offline=true", self.copy(unit)).stdout
        return float(re.search(r"exposure level for penstockd\.service: ([\d.]+)", said).group(1))

    def test_a_setting_that_systemd_does_not_know_is_found(self):
        path = self.copy("penstockd.service")
        path.write_text(path.read_text().replace("OOMPolicy=", "OOMPolice="))

        self.assertIn("OOMPolice", self.analyze("verify", "--man=no", path).stderr)

    def test_systemd_finds_nothing_wrong_with_the_units(self):
        for unit, whose in (("penstockd.service", "--system"), ("user/penstockd.service", "--user")):
            with self.subTest(unit):
                result = self.analyze(whose, "verify", "--man=no", self.copy(unit))
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_its_manual_pages_exist(self):
        for unit in ("penstockd.service", "user/penstockd.service"):
            for page in " ".join(settings(unit)["Documentation"]).split():
                name, section = re.fullmatch(r"man:(.+)\((\d)\)", page).groups()
                self.assertTrue((UNITS.parent / f"man/{name}.{section}").exists(), page)

    def test_the_unit_exposes_little(self):
        exposure = self.exposure("penstockd.service")
        print(f"\nsystemd-analyze security: penstockd.service {exposure}, wanted at most {LARGEST_EXPOSURE}")
        self.assertLessEqual(exposure, LARGEST_EXPOSURE)

    def test_with_its_ports_it_still_exposes_little_and_only_to_this_machine(self):
        drop_in = settings("network.conf")
        self.assertEqual((drop_in["IPAddressDeny"], drop_in["IPAddressAllow"]), (["any"], ["localhost"]))
        unit = self.copy("penstockd.service")
        lines = "".join(f"{key}={value}\n" for key, values in drop_in.items() for value in values)
        unit.write_text(unit.read_text().replace("[Install]", lines + "[Install]"))
        said = self.analyze("security", "--offline=true", unit).stdout
        exposure = float(re.search(r"exposure level for penstockd\.service: ([\d.]+)", said).group(1))
        print(f"\nsystemd-analyze security: with network.conf {exposure}, wanted at most {LARGEST_EXPOSURE}")
        self.assertLessEqual(exposure, LARGEST_EXPOSURE)

    def test_with_stores_it_has_the_network_and_a_cache_and_systemd_accepts_it(self):
        drop_in = settings("stores.conf")
        self.assertEqual(drop_in["PrivateNetwork"], ["no"])
        self.assertEqual((drop_in["IPAddressDeny"], drop_in["IPAddressAllow"]), ([""], [""]))
        unit = self.copy("penstockd.service")
        lines = "".join(f"{key}={value}\n" for file in ("network.conf", "stores.conf")
                        for key, values in settings(file).items() for value in values)
        unit.write_text(unit.read_text().replace("[Install]", lines + "[Install]"))
        self.assertNotIn("Unknown", self.analyze("verify", unit).stderr)
        said = self.analyze("security", "--offline=true", unit).stdout
        exposure = float(re.search(r"exposure level for penstockd\.service: ([\d.]+)", said).group(1))
        print(f"\nsystemd-analyze security: with stores.conf {exposure}, wanted at most {LARGEST_EXPOSURE}")
        self.assertLessEqual(exposure, LARGEST_EXPOSURE)

    def test_nothing_hides_who_a_peer_is_or_the_gpus(self):
        self.assertEqual(settings("penstockd.service")["PrivateUsers"], ["no"])
        self.assertNotIn("PrivateDevices", settings("penstockd.service"))
        allowed = " ".join(settings("penstockd.service")["DeviceAllow"])
        for device in ("char-nvidia ", "char-nvidia-frontend ", "char-nvidia-uvm ", "nvidiactl "):
            self.assertIn(device, allowed + " ")

    def test_nothing_in_the_users_unit_makes_a_namespace(self):
        """In a user's unit, each of these settings implies PrivateUsers=."""
        makes_one = re.compile(r"Private\w+|Protect(?!Proc)\w+|.*Paths|.*Directories|RootImage|DynamicUser|ProcSubset")
        self.assertEqual([key for key in settings("user/penstockd.service") if makes_one.fullmatch(key)], [])

    def test_a_user_a_group_and_the_sockets_folder_are_made(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make users, also in a folder")
        (self.scratch / "etc").mkdir()
        (self.scratch / "run").mkdir()
        for program, arguments in (("systemd-sysusers", []), ("systemd-tmpfiles", ["--create"])):
            folder = program.replace("systemd-", "") + ".d"
            subprocess.run([program, f"--root={self.scratch}", *arguments, UNITS / folder / "penstock.conf"],
                           check=True, capture_output=True)

        name, _, user, group = (self.scratch / "etc/passwd").read_text().split(":")[:4]
        folder = (self.scratch / "run/penstock").stat()
        self.assertEqual(name, settings("penstockd.service")["User"][0])
        self.assertEqual((folder.st_uid, folder.st_gid, folder.st_mode & 0o7777), (int(user), int(group), 0o750))
        operators = (self.scratch / "run/penstock-admin").stat()
        self.assertEqual((operators.st_uid, operators.st_mode & 0o7777), (int(user), 0o700))


if __name__ == "__main__":
    unittest.main()
