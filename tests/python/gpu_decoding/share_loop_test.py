"""Tests the share that decode="auto" chooses for loops that pause: for a compilation, a validation, a checkpoint."""
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

from penstock._gpu_decoding import share as shares  # noqa: E402
from penstock._gpu_decoding.asked import Decoding  # noqa: E402
from penstock._gpu_decoding.share import GpuShare  # noqa: E402

ROWS, AHEAD = 256, 6  # of a batch; batches that are decoded ahead
STEP = 0.064  # seconds: 4,000 images/s


class Loop:
    """A training loop, its session, and workers that decode `rate` images/s unless all is decoded ahead. `pauses`: seconds by step."""

    def __init__(self, rate, pauses=lambda step: 0.0, start=2.0):
        self.rate, self.pauses = rate, pauses
        self.now, self.ready, self.decoded = 100.0, 0.0, 0.0
        self.began, self.waited = self.now, 0.0
        self.seen, self.per_second = (self.now, 0.0), 0
        self.starts = self.now + start  # until then workers start

    def passes(self, seconds):
        while seconds > 1e-9:  # in steps of the daemon's clock
            part = min(seconds, 0.05)
            made = self.rate * part if self.now >= self.starts else 0.0
            made = min(made, AHEAD * ROWS - self.ready)
            self.ready, self.decoded = self.ready + made, self.decoded + made
            self.now, seconds = self.now + part, seconds - part
            if self.now - self.seen[0] >= 1:
                self.per_second = int((self.decoded - self.seen[1]) / (self.now - self.seen[0]))
                self.seen = (self.now, self.decoded)

    def take(self):
        while self.ready < ROWS:
            self.passes(0.002)
            self.waited += 0.002
        self.ready -= ROWS

    def stats(self):
        return {"waited_seconds": self.waited, "busy_seconds": self.now - self.began - self.waited, "samples_per_second": self.per_second}

    def train(self, share):
        """The steps after which the share was chosen."""
        with mock.patch.object(shares.time, "monotonic", lambda: self.now), mock.patch.object(shares, "say"):
            share.note_device(0)
            for step in range(20_000):
                if share.is_due(lambda: self.passes(STEP / 2)):
                    share.choose(self.stats(), ROWS, lambda: 20_000.0)
                if share.value is not None:
                    return step
                self.take()
                share.note_given()
                self.passes(STEP / 2 + self.pauses(step))
        raise AssertionError("no share was chosen")


class LoopTest(unittest.TestCase):
    def chosen(self, loop):
        share = GpuShare(Decoding("auto", None))
        loop.train(share)
        return share.value

    def test_a_starved_loop_gets_the_share_that_feeds_it_wherever_it_pauses(self):
        self.assertAlmostEqual(self.chosen(Loop(1600)), 0.73, delta=0.03)
        for seconds in (0.6, 2.0, 20.0, 300.0):
            for at in (0, 1, 3, *range(8, 60)):
                with self.subTest(seconds=seconds, at=at):
                    loop = Loop(1600, lambda step, at=at, seconds=seconds: seconds if step == at else 0.0)
                    self.assertAlmostEqual(self.chosen(loop), 0.73, delta=0.03)

    def test_a_fed_loop_keeps_its_pixels_wherever_it_pauses(self):
        for seconds in (0.0, 0.6, 2.0, 20.0, 300.0):
            for at in (0, 1, 3, *range(8, 80)):
                with self.subTest(seconds=seconds, at=at):
                    loop = Loop(6000, lambda step, at=at, seconds=seconds: seconds if step == at else 0.0)
                    self.assertEqual(self.chosen(loop), 0.0)

    def test_a_loop_that_pauses_all_the_time_gets_a_share(self):
        for every, seconds in ((8, 0.7), (20, 1.0), (50, 4.0)):
            with self.subTest(every=every):
                loop = Loop(1600, lambda step, every=every, seconds=seconds: seconds if step % every == 0 else 0.0)
                self.assertGreater(self.chosen(loop), 0.5)

    def test_workers_that_start_late_are_not_taken_for_slow_ones(self):
        self.assertEqual(self.chosen(Loop(6000, start=30.0)), 0.0)

    def test_slow_steps_are_no_pauses(self):
        loop = Loop(200, lambda step: 1.0)  # wants 240
        share = GpuShare(Decoding("auto", None))
        loop.train(share)
        self.assertAlmostEqual(share.value, (1 - 0.9 * 200 / 240.6) / 0.88, delta=0.03)


if __name__ == "__main__":
    unittest.main(verbosity=2)
