"""Tests that `python -m penstock bench --against dali` compares CPU time where DALI is installed, and elsewhere says what is
missing. Sizes are tiny, and no ratio is expected."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

support.need("numpy")

try:
    from nvidia import dali
except ImportError:
    dali = None


def bench(*words):
    environment = {**os.environ, "PENSTOCK_DAEMON": support.program("penstockd")}
    return subprocess.run([sys.executable, "-m", "penstock", "bench", "--against", "dali", *words], capture_output=True, text=True,
                          env=environment)


class DaliTest(unittest.TestCase):
    @unittest.skipUnless(dali, "nvidia.dali is not installed")
    def test_both_outputs_of_both_pipelines_are_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            photographs, figures = os.path.join(folder, "photographs"), os.path.join(folder, "figures.json")
            subprocess.run([support.program("penstock-make-photographs"), photographs, "--images", "24"], check=True,
                           stdout=subprocess.DEVNULL)
            done = bench("--data", photographs, "--size", "32", "--batch-size", "4", "--seconds", "0.5", "--runs", "1", "--json", figures)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(figures, encoding="utf-8") as file:
                report = json.load(file)

        for output, result in report["outputs"].items():
            for side, (run,) in result["runs"].items():
                with self.subTest(output=output, side=side):
                    self.assertGreater(run["cpu_ms_per_image"], 0)
                    self.assertGreater(run["images_per_second"], 0)
        self.assertEqual(list(report["outputs"]), ["uint8", "float32"])
        self.assertIn(f"DALI {dali.__version__}", done.stdout)

    @unittest.skipIf(dali, "nvidia.dali is installed")
    def test_without_dali_one_sentence_says_so(self):
        done = bench()

        self.assertEqual(done.returncode, 2)
        self.assertIn("--against dali needs nvidia.dali, which cannot be imported", done.stderr)

    def test_it_excludes_the_other_comparisons(self):
        for words in (("--cases", "all"), ("--train", "resnet18")):
            with self.subTest(words=words):
                done = bench(*words)

                self.assertEqual(done.returncode, 2)
                self.assertIn("leave --cases and --train out", done.stderr)


if __name__ == "__main__":
    support.main()
