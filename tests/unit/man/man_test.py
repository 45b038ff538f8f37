"""man_test.py SOURCE BIN: the manual pages match their programs."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop())
SOURCE = pathlib.Path(sys.argv.pop()).resolve()
PAGES = SOURCE / "deploy/man"
PROTO = SOURCE / "proto/penstock/config/v1/config.proto"


def shown(page):
    """Returns the page as plain text, and groff's warnings."""
    ran = subprocess.run(["groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", "-P", "-cbou", "-rLL=1000n", "-rHY=0", page], text=True,
                         capture_output=True, check=True, encoding="utf-8", env=os.environ | {"LC_ALL": "C.UTF-8"})
    return ran.stdout.replace("\N{HYPHEN}", "-").replace("\N{MINUS SIGN}", "-"), ran.stderr


def every_page():
    return sorted([*PAGES.glob("*.[0-9]"), *PAGES.glob("commands/*.[0-9]")])


def helped(program):
    if not (BIN / program).exists():
        raise unittest.SkipTest(f"{program} is not built here")
    return subprocess.run([BIN / program, "--help"], check=True, text=True, capture_output=True).stdout


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@unittest.skipUnless(shutil.which("groff"), "there is no groff; deploy/install-deps.sh --tests")
class PagesTest(unittest.TestCase):
    def test_groff_has_nothing_against_them(self):
        self.assertGreaterEqual(len(every_page()), 20)
        for page in every_page():
            if not page.read_text().startswith(".so "):
                self.assertEqual(shown(page)[1], "", page.name)

    def test_man_has_nothing_against_them(self):
        if not shutil.which("man"):
            self.skipTest("there is no man; deploy/install-deps.sh --tests")
        for page in every_page():
            ran = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], text=True,
                                 capture_output=True, encoding="utf-8",
                                 env=os.environ | {"LC_ALL": "C.UTF-8", "MANPATH": str(PAGES)})
            if not page.read_text().startswith(".so "):
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), page.name)

    def test_each_names_the_options_of_its_program_and_no_other(self):
        for page in ("penstockctl.1", "penstockd.8", "penstock-bench.1"):
            with self.subTest(page):
                self.assertEqual(options(shown(PAGES / page)[0]), options(helped(page[:-2])))

    def test_penstockctls_page_names_its_commands(self):
        commands = re.findall(r"^  (\w+(?: list| clear)?)(?: .*)?  \S", helped("penstockctl"), re.MULTILINE)
        page = shown(PAGES / "penstockctl.1")[0]
        self.assertGreaterEqual(len(set(commands)), 12)
        for command in commands:
            if command != "penstockctl":
                self.assertRegex(page, rf"(?m)^ +{command}\b")

    def test_penstock_benchs_page_names_its_suites_and_what_they_do(self):
        page = shown(PAGES / "penstock-bench.1")[0]
        suites = re.findall(r"^  (\w+) +(\w.*)$", helped("penstock-bench").split("Options")[0].split("Suites")[1], re.MULTILINE)
        self.assertGreaterEqual(len(suites), 5)
        for name, what in suites:
            self.assertRegex(page, rf"(?m)^ +{name}\s+{re.escape(what[0].upper() + what[1:])}\.$")

    def test_exit_codes_are_those_of_the_help(self):
        for page in ("penstockctl.1", "penstockd.8", "penstock-bench.1"):
            with self.subTest(page):
                codes = re.search(r"Exit codes: (.*)", helped(page[:-2]), re.DOTALL)[1]
                section = shown(PAGES / page)[0].split("EXIT STATUS")[1]
                for code in ("0", "1", "2"):
                    self.assertRegex(codes, rf"\b{code} ")
                    self.assertRegex(section, rf"(?m)^ +{code}\b")

    def test_every_page_that_is_named_exists(self):
        names = {page.name for page in every_page()}
        for page in every_page():
            if page.name == "penstockd.yaml.5":
                continue
            for name, section in re.findall(r"([\w.-]+)\((\d)\)", shown(page)[0]):
                if name != "penstockctl-COMMAND":
                    self.assertIn(f"{name.lower()}.{section}", names, page)

    def test_each_commands_page_is_what_its_help_says_now(self):
        helped("penstockctl")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PAGES / "command_pages.sh", BIN, folder], check=True)
            made = {page.name: page.read_text() for page in pathlib.Path(folder).iterdir()}
        self.assertGreaterEqual(len(made), 15)
        self.assertEqual(made, {page.name: page.read_text() for page in (PAGES / "commands").glob("*.1")},
                         f"make them again: deploy/man/command_pages.sh {BIN}")

    def test_the_page_of_all_commands_leads_to_each_commands_page(self):
        said = shown(PAGES / "penstockctl.1")[0].split("SEE ALSO")[1]
        for page in (PAGES / "commands").glob("*.1"):
            self.assertRegex(said, rf"\b{page.stem}\(1\)")


class ConfigPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("config_page", PAGES / "config_page.py")
        cls.config_page = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.config_page)

    def test_it_is_what_the_messages_say_now(self):
        self.assertEqual((PAGES / "penstock.yaml.5").read_text(encoding="utf-8"),
                         self.config_page.page(self.config_page.reference.load(PROTO)),
                         f"make it again: deploy/man/config_page.py {PROTO}")

    def test_every_key_of_the_shipped_configuration_is_on_it(self):
        page = (PAGES / "penstock.yaml.5").read_text(encoding="utf-8")
        keys = set(re.findall(r"^ +(?:- )?(\w+):", (SOURCE / "deploy/config/penstock.yaml").read_text(), re.MULTILINE))
        self.assertGreater(len(keys), 60)
        for key in keys:
            self.assertIn(f"\\fB{key}\\fR", page)

    def test_no_words_of_a_comment_become_a_request(self):
        page = self.config_page.page("message Config {\n  Server server = 1;\n}\n"
                                     "// .so /etc/passwd\nmessage Server {\n  // 'tis \\fB-x. \\n. .It\n  bool a = 1;\n}\n")
        self.assertIn("\\&.so /etc/passwd", page)
        self.assertIn("\\&'tis \\efB\\-x.", page)
        self.assertNotRegex(page, r"(?m)^[.'](It|so|tis)")

    def test_the_other_name_leads_to_it(self):
        self.assertEqual((PAGES / "penstockd.yaml.5").read_text(), ".so man5/penstock.yaml.5\n")


if __name__ == "__main__":
    unittest.main()
