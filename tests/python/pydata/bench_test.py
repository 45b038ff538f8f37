"""Tests that `python -m penstock bench --cases` measures every case, with few samples, and says what it cannot measure."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

torch = support.need("torch")
numpy = support.need("numpy")

from penstock.bench import cases  # noqa: E402

PHOTOGRAPHS = [name for name, case in cases.CASES.items() if case.needs_photographs]


def bench(*words):
    environment = {**os.environ, "PENSTOCK_DAEMON": support.program("penstockd")}
    return subprocess.run([sys.executable, "-m", "penstock", "bench", "--quick", "--runs", "1", "--seconds", "0.2", *words],
                          capture_output=True, text=True, env=environment)


class BenchTest(unittest.TestCase):
    def measured(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.json")
            done = bench("--json", path, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["cases"], done.stdout

    def test_each_case_without_photographs_is_measured(self):
        found, said = self.measured("--cases", "all")
        self.assertEqual(set(found), set(cases.CASES) - set(PHOTOGRAPHS))
        for name, result in found.items():
            with self.subTest(case=name):
                for side in ("torch", "penstock"):
                    self.assertEqual(len(result[side]["values"]), 1)
                self.assertIn(name, said)
                if result["unit"] in ("samples/s", "MB/s", "ms"):
                    self.assertGreater(result["penstock"]["median"], 0)
        # One feed serves all; torch's four trainers share two cores or more, but make everything four times.
        self.assertGreater(found["sharing"]["penstock"]["median"], 2)

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "Pillow is not installed")
    def test_photographs(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([support.program("penstock-make-photographs"), folder + "/photographs", "--images", "24"], check=True,
                           stdout=subprocess.DEVNULL)
            found, _ = self.measured("--cases", "photos", "--data", folder + "/photographs")
        self.assertGreater(found["photos"]["penstock"]["median"], 0)

    def test_a_family_of_cases(self):
        self.assertEqual(cases.chosen("overhead,tiny"), ["overhead_tiny", "overhead_1ms", "tiny"])

    def test_what_is_unknown_or_missing_is_said(self):
        for words, said in ((("--cases", "tiny,fast"), "--cases: got 'fast', expected all, or some of tiny"),
                            (("--cases", "photos"), "the cases photos need a folder of photographs"),
                            ((), "--data is missing")):
            with self.subTest(words=words):
                done = bench(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    support.main()
