"""tests/support/skipped.py: it mentions every skipped test."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())


class SkippedTest(unittest.TestCase):
    def said(self, log):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(log)
            file.flush()
            return subprocess.run(["/usr/bin/python3", ROOT / "tests/support/skipped.py", file.name],
                                  text=True, capture_output=True, check=True).stdout

    def test_a_googletest_skip_is_named_with_its_reason(self):
        log = ("3/9 Test: decode_test\n[ RUN      ] Pillow.Exact\n/src/a_test.cc:12: Skipped\n"
               "no photographs,\nset PENSTOCK_TEST_DATA\n\n[  SKIPPED ] Pillow.Exact (0 ms)\n"
               "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Pillow.Exact\n")
        self.assertEqual(self.said(log), "skipped 1, because no photographs, set PENSTOCK_TEST_DATA: "
                                         "Pillow.Exact\n")

    def test_unittest_and_script_skips_are_named_too(self):
        log = ("1/2 Test: draw_test\ntest_a (__main__.T) ... skipped 'no Pillow'\n"
               "2/2 Test: root_test\nSKIPPED: not root\n")
        self.assertEqual(self.said(log), "skipped 1, because no Pillow: draw_test.test_a\n"
                                         "skipped 1, because not root: root_test\n")

    def test_one_reason_is_one_line(self):
        one = "[ RUN      ] {0}\na.cc:1: Skipped\nno GPU\n\n[  SKIPPED ] {0} (0 ms)\n"
        self.assertEqual(self.said(one.format("A.B") + one.format("A.C")),
                         "skipped 2, because no GPU: A.B, A.C\n")

    def test_where_nothing_was_skipped_it_says_so(self):
        self.assertEqual(self.said("1/1 Test: a\n[       OK ] A.B (0 ms)\n"), "skipped: nothing\n")

    def test_who_failed_before_it_passed_is_named(self):
        attempt = "1/3 Test: {}\nOutput:\n----\nTest {}.\n\"{}\" end time\n"
        log = "".join(attempt.format(name, result, name) for name, result in (
            ("sound", "Passed"), ("flaky", "Failed"), ("flaky", "Passed"), ("broken", "Failed"),
            ("broken", "Failed")))
        self.assertEqual(self.said(log), "skipped: nothing\n"
                                         "FLAKY: flaky failed at first and passed when run again\n")


if __name__ == "__main__":
    unittest.main()
