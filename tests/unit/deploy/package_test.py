"""deploy/package.sh: what it refuses, and what the packages' scripts do."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())
PACKAGES = ROOT / "deploy/packages"
SCRIPTS = sorted(path for name in ("postinst", "prerm", "postrm") for path in PACKAGES.glob(f"*/{name}"))


def package(*arguments):
    return subprocess.run([ROOT / "deploy/package.sh", *arguments], text=True, capture_output=True, timeout=30)


class PackageTest(unittest.TestCase):
    def test_an_unknown_argument_is_refused_with_code_2(self):
        self.assertEqual(package("--everything").returncode, 2)

    def test_a_revision_that_dpkg_could_not_compare_is_refused_with_code_2(self):
        result = package("--revision", "two", "--no-build")

        self.assertEqual(result.returncode, 2)
        self.assertIn("'two'", result.stderr)

    def test_nothing_built_is_said(self):
        with tempfile.TemporaryDirectory() as empty:
            result = package("--build", empty)

        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing is built", result.stderr)

    def test_every_script_is_sound_and_stops_at_the_first_error(self):
        self.assertGreaterEqual(len(SCRIPTS), 5)
        for script in SCRIPTS:
            self.assertTrue(script.stat().st_mode & 0o111, f"{script} is not executable")
            self.assertIn("\nset -e\n", script.read_text(), script)
            checked = subprocess.run(["sh", "-n", script], text=True, capture_output=True)
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_postinst_refuses_what_dpkg_never_says(self):
        result = subprocess.run([PACKAGES / "penstock/postinst", "nonsense"], text=True, capture_output=True)

        self.assertEqual(result.returncode, 1)
        self.assertIn("'nonsense'", result.stderr)

    def test_an_override_of_lintians_has_its_reason_above_it(self):
        for overrides in PACKAGES.glob("*/lintian-overrides"):
            self.assertTrue(overrides.read_text().startswith("# "), overrides)


if __name__ == "__main__":
    unittest.main()
