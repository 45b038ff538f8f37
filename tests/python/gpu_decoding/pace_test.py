"""Tests what decode="auto" sees in a loop's steps: how fast the loop works and batches arrive."""
import pathlib
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

from penstock import _base  # noqa: E402
from penstock._gpu_decoding.pace import Steps  # noqa: E402


class PaceTest(unittest.TestCase):
    @staticmethod
    def pace(*noted):
        steps = Steps()
        for work, wait in noted:
            steps.note(work, wait)
        return steps.pace()

    def test_what_came_while_the_loop_waited(self):
        pace = self.pace((1, 0), (1, 0), (1, 2), (1, 0), (1, 4), (1, 0), (1, 0))
        self.assertEqual((pace.work, pace.arrival, pace.is_fed), (1, 3, False))

    def test_pauses_count_neither_as_work_nor_as_waiting(self):
        pace = self.pace((1, 1), (1, 1), (1, 1), (50, 0), (1, 0), (1, 1), (1, 1), (1, 1))
        self.assertTrue(pace.has_paused)
        self.assertEqual((pace.work, pace.arrival), (1, 2))

    def test_what_is_ready_after_a_pause_does_not_look_like_a_fed_loop(self):
        between = [(10, 0), *[(0.1, 0)] * 9, *[(0.1, 0.005)] * 3]
        self.assertFalse(self.pace(*[(0.1, 0.005)] * 9, *3 * between).is_fed)

    def test_a_stall_counts_as_the_second_longest_wait(self):
        steps = [(1, 0.2)] * 10
        self.assertAlmostEqual(self.pace(*steps, (1, 30), *steps).arrival, 1.2)
        self.assertAlmostEqual(self.pace(*steps, (1, 0.6), *steps).arrival, 1.22)

    def test_one_wait_is_no_pace(self):
        pace = self.pace((1, 0), (1, 0), (1, 100), (1, 0))
        self.assertTrue(pace.is_fed)
        self.assertEqual(pace.arrival, 1)


class LoaderTest(unittest.TestCase):
    def test_the_end_of_an_epoch_is_no_step(self):
        share, taken = mock.Mock(), [("batch", True), None]
        share.is_due.return_value = False
        loader = types.SimpleNamespace(_goal=None, _gpu_share=share, _begun=True, _synchronize=None, _waited=None, _taken=lambda: taken.pop(0),
                                       _settings=types.SimpleNamespace(fail_on_bad_sample=True))
        self.assertEqual(_base.LoaderBase._next(loader), ("batch", True))
        loader._begun = True
        self.assertIsNone(_base.LoaderBase._next(loader))
        self.assertEqual(share.note_given.call_count, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
