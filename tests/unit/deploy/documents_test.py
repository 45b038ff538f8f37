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


if __name__ == "__main__":
    unittest.main()
