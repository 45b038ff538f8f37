"""Tests that the programs of tests/bench/engines measure and print. Sizes are tiny, and no speed is expected."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
import penstock  # noqa: E402,F401  (before CUDA is used)

torch = support.need("torch")
support.need("PIL")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")

PROGRAMS = support.ROOT / "tests/bench/engines"
SMALL = ("--images", "96", "--batch-size", "16", "--seconds", "0.5")


class EnginesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-engines-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        subprocess.run([support.program("penstock-make-photographs"), cls.folder, "--images", "24"], check=True,
                       stdout=subprocess.DEVNULL)

    def rows(self, program, *words):
        """The cells of the table's rows without its heading, as text."""
        done = subprocess.run([sys.executable, PROGRAMS / program, "--data", self.folder, *SMALL, *words], capture_output=True,
                              text=True, env={**os.environ, "PENSTOCK_DAEMON": support.program("penstockd")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        table = [line for line in done.stdout.splitlines() if line.startswith("| ")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]

    def test_beside_compares_with_the_loop_alone(self):
        rows = self.rows("beside.py", "--rate", "200", "--share", "1", "0.5", "--rounds", "1", "--peer")
        self.assertEqual([row[0] for row in rows], ["a loader held at 200, 1 on the engines", "a loader held at 200, 0.5 on the engines",
                                                    "nvJPEG's calls alone", "torchvision's decode_jpeg"])
        for held in rows[:2]:
            self.assertLess(abs(number(held[1]) - 200), 60)  # batches of 16 in half a second
        for row in rows:
            self.assertGreater(number(row[2]), 0.3)

    def test_flat_out_all_four_ways_give_images(self):
        rates = [number(row[1]) for row in self.rows("flat.py", "--workers", "2")]
        self.assertEqual(len(rates), 4)
        self.assertGreater(min(rates), 0)

    def test_cpu_time_is_of_all_three_processes(self):
        for row in self.rows("cpu.py"):
            whole, *parts = map(number, row[2:])
            self.assertAlmostEqual(sum(parts), whole, delta=0.01)
            self.assertGreater(whole, 0)

    def test_memory_shows_what_the_decoder_has_of_it(self):
        workers, engines = self.rows("memory.py", "--workers", "2")
        self.assertEqual(number(workers[2]), 0)
        self.assertGreater(number(engines[1]), number(engines[2]))
        self.assertGreater(number(engines[2]), 0)


def number(text):
    return float(re.search(r"[\d.,]+", text).group().replace(",", ""))


if __name__ == "__main__":
    support.main()
