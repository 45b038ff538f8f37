"""Tests the guide that is installed: guide_test.py [-v] SOURCE."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
LINK = re.compile(r"\]\(([^)\s#]*)(#[^)]*)?\)")


class GuideTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.guide = pathlib.Path(scratch.name) / "guide"
        subprocess.run([SOURCE / "deploy/guide.py", SOURCE, self.guide], check=True)

    def test_each_link_leads_to_a_page_of_it(self):
        followed = 0
        for page in self.guide.rglob("*.md"):
            prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
            for target, _ in LINK.findall(prose):
                if ":" in target:
                    continue
                followed += 1
                self.assertTrue((page.parent / target).exists(), f"{page.relative_to(self.guide)} links to {target}")
        self.assertGreater(followed, 30)

    def test_it_has_what_users_and_operators_read(self):
        for page in ("README.md", "SECURITY.md", "deploy/README.md", "deploy/systemd/README.md", "client/python/README.md",
                     "deploy/runbooks/PenstockRestarting.md"):
            self.assertTrue((self.guide / page).is_file(), page)

    def test_pictures_are_left_out(self):
        for page in self.guide.rglob("*.md"):
            self.assertNotIn("![", page.read_text(), page)

    def test_words_and_code_stay(self):
        code = re.compile(r"(?ms)^```.*?^```$")
        for page in ("README.md", "client/python/README.md"):
            before, after = (SOURCE / page).read_text(), (self.guide / page).read_text()
            self.assertEqual(code.findall(before), code.findall(after))
            self.assertIn(len(after.splitlines()) - len(before.splitlines()), (0, 2))


if __name__ == "__main__":
    unittest.main()
