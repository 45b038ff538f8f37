"""What the documents say is so: the README's trainer is the example's, and every link leads somewhere."""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NOT_OURS = re.compile(r"^(build.*|\.git|\.cache)$")


def documents():
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if not NOT_OURS.match(name)]
        yield from (pathlib.Path(folder, name) for name in names if name.endswith(".md"))


class DocumentsTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for document in documents():
            for target in LINK.findall(document.read_text()):
                self.assertTrue((document.parent / target).exists(),
                                f"{document.relative_to(ROOT)} links to {target}, which is not there")

    def test_the_readmes_trainer_is_the_example(self):
        shown = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
        example = (ROOT / "client/examples/trainer.cc").read_text()
        self.assertEqual(shown, re.sub(r"\A(//.*\n)+", "", example))

    def test_every_test_that_a_promise_names_exists(self):
        rows = [line for line in (ROOT / "tests/README.md").read_text().splitlines() if line.startswith("| ")]
        named = 0
        for row in rows:
            file = None  # where a name without one belongs
            for path, suite, name in re.findall(r"`(?:([\w/]+\.cc): )?(\w+)\.(\w{10,})`", row):
                file = path or file
                self.assertIsNotNone(file, row)
                text = (ROOT / "tests" / file).read_text()
                self.assertRegex(text, rf"TEST\w*\({suite},\s+{name}\)", f"tests/README.md names it in {file}")
                named += 1
            for path in re.findall(r"`((?:unit|contract|system|support|bench|python)/[\w/]+\.\w+)", row):
                self.assertTrue((ROOT / "tests" / path).exists(), f"tests/README.md names {path}")
        self.assertGreater(named, 50)


if __name__ == "__main__":
    unittest.main()
