"""completion_test.py PENSTOCKCTL: asks shells what they offer after `penstockctl`. The daemon that
they ask for datasets is faked by a script that answers like penstockctl."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PENSTOCKCTL = sys.argv.pop()
ASK = pathlib.Path(__file__).resolve().parent / "ask.zsh"

# The output of `penstockctl -o json datasets`, with a name that no shell may execute.
FAKE = """#!/bin/sh
case "$*" in
  *"--address /elsewhere"*) echo ' "name": "elsewhere",' ;;
  *) cat <<'END'
{
 "datasets": [
  {
   "name": "flowers",
   "path": "/data/flowers",
   "kind": "folder"
  },
  {
   "path": "/data/trees",
   "name": "fir-trees.v2"
  },
  {
   "name": "$(touch /tmp/penstock-was-run)",
   "path": "/data/trees"
  }
 ]
}
END
esac
"""


def script(shell):
    return subprocess.run([PENSTOCKCTL, "completion", shell], check=True, text=True, capture_output=True).stdout


def helped():
    return subprocess.run([PENSTOCKCTL, "--help"], check=True, text=True, capture_output=True).stdout


class ShellTest:
    """What every shell must offer. `offers` asks one shell."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.shell):
            raise unittest.SkipTest(f"there is no {cls.shell}; deploy/install-deps.sh --tests")
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        fake = cls.scratch / "penstockctl"
        fake.write_text(FAKE)
        fake.chmod(0o755)
        (cls.scratch / "a-file").touch()
        cls.file = cls.scratch / f"completion.{cls.shell}"
        cls.file.write_text(script(cls.shell))
        cls.environment = {"PATH": f"{cls.scratch}:{os.environ['PATH']}", "HOME": str(cls.scratch), "TERM": "dumb"}

    def ask(self, *command):
        ran = subprocess.run(command, text=True, capture_output=True, env=self.environment, cwd=self.scratch, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
        return ran.stdout

    def test_its_own_parser_takes_the_script(self):
        self.ask(self.shell, "-n", str(self.file))


class OffersTest(ShellTest):
    shows_files = True

    def test_every_command_that_the_help_names(self):
        commands = set(re.findall(r"^  (\w+)(?: .*)?  \S", helped(), re.MULTILINE)) - {"penstockctl"}
        self.assertGreaterEqual(len(commands), 12)

        self.assertEqual(self.offers(""), commands | {"help"})
        self.assertEqual(self.offers("dr"), {"drain"})
        self.assertEqual(self.offers("quarantine "), {"list", "clear"})
        self.assertEqual(self.offers("completion "), {"bash", "zsh", "fish"})
        self.assertEqual(self.offers("--address /a/socket st"), {"status"})

    def test_options_where_they_belong(self):
        common = {"--address", "--output", "--color", "--help", "--tls", "--version"}

        self.assertEqual(self.long_ones("reload "), common)
        self.assertEqual(self.long_ones("status "), common | {"--watch"})
        self.assertEqual(self.long_ones("quarantine list "), common | {"--watch"})
        self.assertEqual(self.long_ones("wait "), common | {"--for", "--timeout"})
        self.assertEqual(self.long_ones("drain "), common | {"--deadline", "--cancel"})
        self.assertEqual(self.long_ones("workers "), common | {"--set", "--watch"})
        self.assertEqual(self.long_ones("trace "), common | {"--seconds"})
        self.assertEqual(self.long_ones("-o json check "), common | {"--config"})

    def test_every_option_that_the_help_names(self):
        offered = set().union(*(self.long_ones(f"{command} ") for command in self.offers("")))

        self.assertEqual(set(re.findall(r"(?<![\w-])--[a-z]+", helped())), offered)

    def test_values_of_options(self):
        self.assertEqual(self.offers("-o "), {"table", "json", "yaml"})
        self.assertEqual(self.offers("wait --for "), {"ready"})
        self.assertEqual(self.offers("help dr"), {"drain"})
        self.assertEqual(self.offers("--output j"), {"json"})
        self.assertEqual(self.offers("status --color a"), {"auto", "always"})
        self.assertEqual(self.offers("drain --deadline "), set())
        if self.shows_files:
            self.assertEqual(self.offers("trace -o a-f"), {"a-file"})
            self.assertEqual(self.offers("check --config a-f"), {"a-file"})

    def test_the_daemons_datasets_and_no_name_that_is_more_than_a_name(self):
        self.assertEqual(self.offers("index "), {"flowers", "fir-trees.v2"})
        self.assertEqual(self.offers("quarantine clear fl"), {"flowers"})
        self.assertEqual({word for word in self.offers("status ") if not word.startswith("-")}, set())
        self.assertFalse(os.path.exists("/tmp/penstock-was-run"))

    def long_ones(self, words):
        return {word for word in self.offers(words + "--") if word.startswith("--")}


class BashTest(OffersTest, unittest.TestCase):
    shell = "bash"

    def offers(self, words):
        """bash also splits words at '=', so COMP_WORDS is set as bash would set it."""
        parted = re.findall(r"=|[^\s=]+", words) + ([""] if not words or words[-1] in " =" else [])
        if words.endswith("="):
            parted = parted[:-1]
        given = " ".join(f"'{word}'" for word in ["penstockctl", *parted])
        return set(self.ask("bash", "--norc", "-c", f"source {self.file}; COMP_WORDS=({given}); COMP_CWORD={len(parted)}; "
                            "complete -p penstockctl >/dev/null && _penstockctl; printf '%s\\n' \"${COMPREPLY[@]}\"").split())

    def test_values_behind_an_equals_sign(self):
        self.assertEqual(self.offers("--output="), {"table", "json", "yaml"})
        self.assertEqual(self.offers("--output=j"), {"json"})
        self.assertEqual(self.offers("--output=json st"), {"status"})

    def test_the_daemon_that_the_line_names_is_asked(self):
        self.assertEqual(self.offers("--address /elsewhere index "), {"elsewhere"})

    def test_nothing_is_offered_behind_a_wrong_word(self):
        self.assertEqual(self.offers("explode "), set())


class FishTest(OffersTest, unittest.TestCase):
    shell = "fish"

    def offers(self, words):
        lines = self.ask("fish", "--no-config", "-c", f"source {self.file}; complete -C 'penstockctl {words}'").splitlines()
        return {line.split("\t")[0] for line in lines}


class ZshTest(OffersTest, unittest.TestCase):
    shell = "zsh"
    shows_files = False  # ask.zsh doesn't capture file names

    def offers(self, words):
        return set(self.ask("zsh", "-f", str(ASK), str(self.file), f"penstockctl {words}").split())

    def test_the_daemon_that_the_line_names_is_asked(self):
        self.assertEqual(self.offers("--address /elsewhere index "), {"elsewhere"})

    def test_it_is_registered_where_it_is_sourced_and_where_it_is_installed(self):
        registered = "autoload -U compinit; compinit -u -d $PWD/dump; %s; print $_comps[penstockctl]"
        self.assertEqual(self.ask("zsh", "-f", "-c", registered % f"source {self.file}").strip(), "_penstockctl")

        installed = self.scratch / "site"
        installed.mkdir()
        shutil.copy(self.file, installed / "_penstockctl")
        self.assertEqual(self.ask("zsh", "-f", "-c", f"fpath=({installed} $fpath); " + registered % "true").strip(),
                         "_penstockctl")


class UnknownShellTest(unittest.TestCase):
    def test_it_is_told_which_there_are(self):
        ran = subprocess.run([PENSTOCKCTL, "completion", "tcsh"], text=True, capture_output=True)

        self.assertEqual(ran.returncode, 2)
        self.assertIn("'bash', 'zsh' or 'fish', not 'tcsh'", ran.stderr)


if __name__ == "__main__":
    unittest.main()
