"""Tests what decode="auto" sees in a loop's steps: how fast the loop goes and works, and whether it waits."""
import pathlib
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

from penstock import _base  # noqa: E402
from penstock._gpu_decoding import look  # noqa: E402
from penstock._gpu_decoding.pace import BLOCK, Steps  # noqa: E402


class StepsTest(unittest.TestCase):
    @staticmethod
    def steps(*noted):
        steps = Steps()
        for work, wait in noted:
            steps.note(work, wait)
        return steps

    def test_a_step_is_the_mean_of_a_block(self):
        steps = self.steps(*[(1, 0), (1, 2)] * 32)
        self.assertEqual((steps.step, steps.work, steps.is_fed), (2, 1, False))

    def test_neither_pauses_nor_stalls_count(self):
        steps = self.steps(*[(1, 1)] * 20, (50, 0), *[(1, 0)] * 5, (1, 100), *[(1, 1)] * 60)
        self.assertTrue(steps.has_paused)
        self.assertEqual((steps.step, steps.work, steps.is_fed), (2, 1, False))

    def test_what_is_ready_after_a_pause_does_not_look_like_a_fed_loop(self):
        between = [(10, 0), *[(0.1, 0)] * 9, *[(0.1, 0.1)] * 5]
        steps = self.steps(*[(0.1, 0.1)] * 9, *6 * between)
        self.assertFalse(steps.is_fed)
        self.assertAlmostEqual(steps.step, 0.2)

    def test_a_loop_that_never_waits_between_pauses_is_fed(self):
        steps = self.steps(*6 * [(10, 0), *[(0.1, 0)] * 9])
        self.assertTrue(steps.is_fed)
        self.assertAlmostEqual(steps.step, 0.1)

    def test_a_fed_loop_may_stall_in_fewer_than_half_of_the_blocks(self):
        calm = [(1, 0)] * BLOCK
        stalls = [*calm[1:], (1, 60)]
        self.assertTrue(self.steps(*calm, *stalls, *stalls, *calm, *calm).is_fed)
        self.assertFalse(self.steps(*calm, *stalls, *stalls, *stalls, *calm).is_fed)

    def test_a_loop_that_waits_for_up_to_two_hundredths_is_fed(self):
        self.assertTrue(self.steps(*[(0.98, 0.02)] * BLOCK).is_fed)
        self.assertFalse(self.steps(*[(0.97, 0.03)] * BLOCK).is_fed)

    def test_a_begun_block_counts_only_if_there_is_no_whole_one(self):
        self.assertEqual(self.steps(*[(2, 0)] * 5).step, 2)
        self.assertEqual(self.steps(*[(1, 0)] * BLOCK, *[(9, 0)] * (BLOCK - 1)).step, 1)

    def test_a_begun_block_is_dropped(self):
        steps = self.steps(*[(1, 0)] * BLOCK, *[(9, 1)] * 3)
        steps.drop_begun_block()
        self.assertEqual((len(steps), steps.seconds), (BLOCK, BLOCK))


class LookTest(unittest.TestCase):
    def test_a_step_that_a_new_session_divides_does_not_count(self):
        seen = look.Look(shows_work=False)
        with mock.patch.multiple(look, WARM_UP_STEPS=1, WARM_UP_SECONDS=0):
            for session in range(2):
                seen.go_on()
                for _ in range(2 + BLOCK + 3):
                    self.assertIsNone(seen.pace(None, lambda: 0.0))
                    seen.note_given(lambda: 0.0)
                self.assertEqual(len(seen._timed), BLOCK * session + BLOCK + 3)


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
