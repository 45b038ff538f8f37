"""The page of configuration keys matches the messages' comments, and has only what the daemon supports.

    reference_test.py -v SOURCE
"""
import importlib.util
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop()).resolve()
PROTO = SOURCE / "proto/penstock/config/v1/config.proto"


def load():
    spec = importlib.util.spec_from_file_location("reference", SOURCE / "deploy/config/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load()


class ReferenceTest(unittest.TestCase):
    def test_the_page_is_what_the_messages_say_now(self):
        page = (SOURCE / "deploy/config/README.md").read_text(encoding="utf-8")
        self.assertEqual(page, reference.reference(reference.load(PROTO)),
                         "make it again: deploy/config/reference.py " + str(PROTO))

    def test_what_is_marked_as_reloaded_is_what_the_daemon_reloads(self):
        code = (SOURCE / "server/app/config/config_diff.cc").read_text(encoding="utf-8")
        keys = re.search(r"keys = \{(.*?)\};", code, re.DOTALL)[1]
        self.assertEqual(reference.RELOADED, set(re.findall(r'"([\w.]+)"', keys)))

    def test_every_key_of_the_example_is_on_the_page(self):
        page = (SOURCE / "deploy/config/README.md").read_text(encoding="utf-8")
        example = (SOURCE / "deploy/config/penstock.yaml").read_text(encoding="utf-8")
        keys = set(re.findall(r"^ +(?:- )?(\w+):", example, re.MULTILINE))
        self.assertGreater(len(keys), 60)
        for key in keys:
            self.assertIn(f"`{key}`", page)

    def test_units_types_and_words_come_from_the_fields(self):
        page = reference.reference(
            "message Config {\n  Server server = 1;\n  Pool pool = 2;\n"
            "  // What is fed.\n  repeated Dataset datasets = 7;\n}\n"
            "// Where.\nmessage Server {\n  // How | long.\n  uint64 drain_for_ms = 1;\n"
            "  enum Level {\n    LEVEL_UNSPECIFIED = 0;\n    LEVEL_LOW = 1;\n    LEVEL_HIGH = 2;\n  }\n"
            "  Level level = 2;\n  repeated string roots = 3;\n}\n"
            "message Pool {\n  uint64 max_bytes = 1;\n}\n// One.\nmessage Dataset {\n  Pool pool = 1;\n}\n")
        self.assertIn("| `drain_for` ↻ | time: ms, s, m, h | How \\| long. |", page)
        self.assertIn("| `level` | low or high |", page)
        self.assertIn("| `roots` | list of text |", page)
        self.assertIn("| `max` | size: B, KiB, MiB, GiB, TiB |", page)
        self.assertIn("| `pool` | [Pool](#pool) |", page)
        self.assertIn("## datasets: ↻\nWhat is fed.", page)


if __name__ == "__main__":
    unittest.main()
