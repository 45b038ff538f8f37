"""Checks the documents: links have targets, names exist, and the README's trainer is the example's."""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NOT_OURS = re.compile(r"^(build.*|\.git|\.cache)$")
GUIDES = ("CONTRIBUTING.md", "server/README.md")  # they name functions of the files that they link to
NAMED = re.compile(r"\[`([\w:]+)`\]\(([^)#]+)\)")
FOLDERS = re.compile(r"`((?:client|common|deploy|proto|server|tests)/[\w./-]+)`")
PRODUCT = re.compile(r"\.(cc|h|cu|py|pyi|proto|yaml|5)$")
EXAMPLE = re.compile(r"^### Add .*, as `(\w+)`$")
ROW = re.compile(r"^\| \[[^]]+\]\(([^)]+)\) \| (.*) \|$|^\| \[[^]]+\]\(([^)]+)\) \| \|$")
THREAD = re.compile(r'(?:pthread_setname_np\([^";]*|NameThread\([^";]*|thread_name = )"([^"]+)"')


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

    def test_prose_has_no_line_beyond_100_columns(self):
        for document in documents():
            is_code = False
            for number, line in enumerate(document.read_text().splitlines(), 1):
                is_code ^= line.lstrip().startswith("```")
                if not is_code and not line.lstrip().startswith("|") and "![" not in line:
                    self.assertLessEqual(len(line), 100, f"{document.relative_to(ROOT)}:{number}")

    def test_the_readmes_trainer_is_the_example(self):
        for language, name in (("cpp", "trainer.cc"), ("c", "trainer.c")):
            shown = re.search(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
            example = (ROOT / "client/examples" / name).read_text()
            self.assertEqual(shown, re.sub(r"\A(//.*\n)+", "", example), name)

    def test_every_test_that_a_promise_names_exists(self):
        self.assertGreater(self.find_tests("tests/README.md"), 50)
        self.assertGreater(self.find_tests("server/README.md"), 10)

    def find_tests(self, document):
        rows = [line for line in (ROOT / document).read_text().splitlines() if line.startswith("| ")]
        named = 0
        for row in rows:
            file = None  # a name without a file belongs to the file before it
            for path, suite, name in re.findall(r"`(?:([\w/]+\.cc): )?([A-Z]\w+)\.([A-Z]\w{9,})`", row):
                file = path or file
                self.assertIsNotNone(file, row)
                text = (ROOT / "tests" / file).read_text()
                self.assertRegex(text, rf"TEST\w*\({suite},\s+{name}\)", f"{document} names it in {file}")
                named += 1
            for path in re.findall(r"`((?:unit|contract|system|support|bench|python)/[\w/]+\.\w+)", row):
                self.assertTrue((ROOT / "tests" / path).exists(), f"{document} names {path}")
        return named

    def test_each_guide_names_functions_that_are_where_it_says(self):
        for guide in GUIDES:
            document = ROOT / guide
            named = NAMED.findall(document.read_text())
            self.assertTrue(named, guide)
            for name, target in named:
                self.assert_has((document.parent / target).resolve(), name, guide)

    def test_each_path_that_a_guide_writes_exists(self):
        for guide in GUIDES:
            for path in FOLDERS.findall((ROOT / guide).read_text()):
                self.assertTrue((ROOT / path).exists(), f"{guide} names {path}")

    def test_each_file_that_a_subfolders_readme_names_is_in_it(self):
        for scratch in [*ROOT.glob("server/*/*/README.md"), *ROOT.glob("client/src/*/README.md")]:
            named = re.findall(r"`([\w-]+\.(?:cc|h)|\.\./[\w.]+)`", scratch.read_text())
            self.assertTrue(named, scratch)
            for name in named:
                self.assertTrue((scratch.parent / name).exists(), f"{scratch.relative_to(ROOT)} names {name}")

    def test_a_readme_of_a_part_begins_with_its_path(self):
        for top in ("server", "client", "common"):
            for readme in (ROOT / top).rglob("README.md"):
                title = readme.read_text().split("\n", 1)[0]
                self.assertRegex(title, r"^# \S", readme)
                if top == "server":
                    self.assertEqual(title, f"# {readme.parent.relative_to(ROOT)}", readme)

    def assert_has(self, path, name, guide):
        """Finds the whole qualified name, as in a definition, or else each of its parts, as in a header."""
        text = path.read_text()
        if name in text:
            return
        for part in name.split("::"):
            self.assertTrue(re.search(rf"\b{part}\b", text), f"{guide}: {name} is not in {path.relative_to(ROOT)}")

    def test_the_table_of_threads_has_all_that_the_daemon_names(self):
        table = (ROOT / "server/README.md").read_text()
        names = set()
        for path in sorted((ROOT / "server").rglob("*")):
            if path.suffix in (".cc", ".h"):
                names |= set(THREAD.findall(path.read_text()))
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertTrue(re.search(rf"(?m)^\|.*`{re.escape(name)}N?`.*\|", table), f"no thread {name} in the table")


class ExamplesTest(unittest.TestCase):
    """CONTRIBUTING.md's worked examples: each row names a file and functions in it."""

    def setUp(self):
        self.examples, rows = {}, None
        for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines():
            if match := EXAMPLE.match(line):
                rows = self.examples[match.group(1)] = {}
            elif line.startswith("#"):
                rows = None
            elif rows is not None and (match := ROW.match(line)):
                rows[match.group(1) or match.group(3)] = match.group(2) or ""
        self.assertEqual(list(self.examples), ["tfrecord", "gray", "fail_on_bad_sample"])

    def test_each_file_is_about_the_example_and_has_the_functions_named_beside_it(self):
        for word, rows in self.examples.items():
            self.assertGreater(len(rows), 15)
            for path, purpose in rows.items():
                text = (ROOT / path).read_text()
                self.assertTrue(word in text.lower(), f"'{word}' is not in {path}")
                ours = re.sub(r"\[[^]]*\]\([^)]*\)", "", purpose)  # names in a link are in the link's file
                for name in re.findall(r"`([A-Za-z_]\w+)`", ours):
                    where = text + "".join((ROOT / link).read_text() for link in LINK.findall(purpose))
                    self.assertTrue(re.search(rf"\b{name}\b", where), f"{path} has no {name}")

    def test_no_file_that_an_example_touches_is_missing_from_its_table(self):
        for word, below in (("tfrecord", "server/source/tfrecord/"), ("fail_on_bad_sample", None)):
            for folder in ("client", "common", "deploy", "proto", "server"):
                for path in sorted((ROOT / folder).rglob("*")):
                    if not PRODUCT.search(path.name) or not path.is_file():
                        continue
                    relative = str(path.relative_to(ROOT))
                    if (below and relative.startswith(below)) or NOT_OURS.search(relative.split("/")[1]):
                        continue
                    if word in path.read_text(errors="replace"):
                        self.assertIn(relative, self.examples[word], f"'{word}' is in {relative}")


if __name__ == "__main__":
    unittest.main()
