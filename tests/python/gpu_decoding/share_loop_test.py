"""Tests the share that decode="auto" chooses for simulated training loops: fed or starved, with pauses or uneven steps, on machines
that are as the first share supposes or otherwise."""
import contextlib
import functools
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

from penstock._gpu_decoding import look  # noqa: E402
from penstock._gpu_decoding.asked import Decoding  # noqa: E402
from penstock._gpu_decoding.share import GpuShare  # noqa: E402
from penstock.errors import DeadlineExceeded, FailedPrecondition, ResourceExhausted, Unavailable  # noqa: E402
from simulated_loop import STEP, Loop  # noqa: E402


def once(at, seconds):
    return lambda i: seconds if i == at else 0.0


def every(steps, seconds):
    return lambda i: seconds if i % steps == steps - 1 else 0.0


def stalling(loop, seconds, *begins):
    """The loop, whose workers decode nothing for some seconds from these times on, and lose what was ready."""
    take = loop.take

    def stalls():
        for begin in begins:
            if begin <= loop.now < begin + seconds:
                loop.starts, loop.ready = begin + seconds, 0.0
        take()

    loop.take = stalls
    return loop


class LoopTest(unittest.TestCase):
    def chosen(self, loop, pause=lambda i: 0.0):
        self.assertIsNotNone(loop.train(pause=pause))
        return loop.share.value

    def test_a_starved_loop_gets_the_share_that_feeds_it(self):
        loop = Loop(1600)
        self.assertAlmostEqual(self.chosen(loop), 0.73, delta=0.02)  # it wants 4,000
        self.assertIn("the loop wants 4,000, and got 1,600 from the workers alone, 4,000 with gpu_share=0.73", loop.said)
        self.assertEqual(loop.tried, [0, 0.73])
        loop.share.note_given(lambda: self.fail("measured again"))
        self.assertFalse(loop.share.is_due(lambda: self.fail("measured again"), None, 99))

    def test_a_fed_loop_keeps_its_pixels(self):
        for rate in (4100, 6000, 20_000):
            loop = Loop(rate, engines=lambda: self.fail("asked the engines"))
            self.assertEqual(self.chosen(loop), 0.0)
            self.assertIn("as fast as the loop trains", loop.said)

    def test_a_loop_that_waits_for_its_own_gpu_is_fed(self):
        self.assertEqual(self.chosen(Loop(6000, engines=lambda: self.fail("asked the engines"), waits_for_gpu=True)), 0.0)
        self.assertAlmostEqual(self.chosen(Loop(1600, waits_for_gpu=True)), 0.73, delta=0.02)

    def test_each_step_is_waited_for_only_if_the_loop_waits_for_batches(self):
        for rate, waited_for in ((6000, 0), (1600, look.WORK_STEPS + 2)):
            loop, count = Loop(rate), []
            loop.synchronize = lambda synchronize=loop.synchronize, count=count: (count.append(1), synchronize())
            self.chosen(loop)
            self.assertEqual(len(count), waited_for)

    def test_a_little_too_few_workers_are_noticed(self):
        self.assertAlmostEqual(self.chosen(Loop(3700)), (1 - 0.9 * 3700 / 4000) / 0.88, delta=0.03)

    def test_a_starved_loop_may_pause_anywhere(self):
        for seconds in (0.6, 2.0, 20.0, 300.0):
            for at in (0, 1, 3, *range(8, 100, 3)):
                with self.subTest(seconds=seconds, at=at):
                    self.assertAlmostEqual(self.chosen(Loop(1600), once(at, seconds)), 0.73, delta=0.05)

    def test_a_fed_loop_may_pause_anywhere(self):
        for seconds in (0.6, 2.0, 20.0, 300.0):
            for at in (0, 1, 3, *range(8, 100, 3)):
                with self.subTest(seconds=seconds, at=at):
                    self.assertEqual(self.chosen(Loop(6000), once(at, seconds)), 0.0)

    def test_what_was_decoded_ahead_in_a_pause_does_not_hide_that_workers_are_too_few(self):
        for share, step in ((0.82, STEP), (0.9, STEP), (0.9, 0.4)):
            for at in (0, 1, 3, *range(8, 100, 3)):
                with self.subTest(share=share, step=step, at=at):
                    loop = Loop(share * 256 / step, lambda i, step=step: step)
                    self.assertAlmostEqual(self.chosen(loop, once(at, 20.0)), (1 - 0.9 * share) / 0.88, delta=0.05)

    def test_what_the_gpu_has_yet_to_do_is_no_pause(self):
        loop = Loop(6000, lambda i: 0.3)  # some 2 s when the loop is first synchronized
        self.assertLess(loop.train(), 90)

    def test_loops_that_pause_all_the_time_get_a_share(self):
        for steps, seconds in ((10, 0.45), (20, 0.6), (30, 1.0), (30, 5.0), (50, 2.0), (50, 4.0)):
            for start in (0.3, 0.9, 1.7, 2.2):
                with self.subTest(steps=steps, seconds=seconds, start=start):
                    self.assertEqual(self.chosen(Loop(6000, start=start), every(steps, seconds)), 0.0)
                    wanted = 4000 if seconds > 0.5 else 256 * steps / (steps * STEP + seconds)
                    right = (1 - 0.9 * 1200 / wanted) / 0.88
                    self.assertAlmostEqual(self.chosen(Loop(1200, start=start), every(steps, seconds)), right, delta=0.12)

    def test_uneven_steps_count_as_their_mean(self):
        def work(i):  # 256 images in 87.5 ms
            return 0.2 if i % 4 == 3 else 0.05

        for start in (0.3, 1.0, 2.0):
            self.assertEqual(self.chosen(Loop(3600, work, start=start)), 0.0)
            self.assertAlmostEqual(self.chosen(Loop(1400, work, start=start)), (1 - 0.9 * 1400 / 2926) / 0.88, delta=0.03)

    def test_steps_of_any_length(self):
        for seconds, rows in ((0.0005, 8), (0.001, 8), (0.3, 1024), (0.7, 1024), (1.5, 2048), (4.0, 2048)):
            with self.subTest(seconds=seconds):
                wanted = rows / seconds
                self.assertEqual(self.chosen(Loop(1.5 * wanted, lambda i, s=seconds: s, rows)), 0.0)
                starved = Loop(0.4 * wanted, lambda i, s=seconds: s, rows, engines=lambda wanted=wanted: 10 * wanted)
                self.assertAlmostEqual(self.chosen(starved), (1 - 0.9 * 0.4) / 0.88, delta=0.03)

    def test_ready_batches_may_take_long_to_take(self):
        for step in (0.005, 0.05):
            fed, starved = Loop(3 * 256 / step, lambda i, s=step: s), Loop(0.5 * 256 / step, lambda i, s=step: s, engines=lambda: 1e6)
            fed.taking = starved.taking = 0.003
            self.assertEqual(self.chosen(fed), 0.0)
            self.assertGreater(self.chosen(starved), 0.2)

    def test_workers_that_stall_once_are_not_taken_for_slow_ones(self):
        for second in range(60):
            with self.subTest(second=second):
                self.assertEqual(self.chosen(stalling(Loop(6000), 1, 100 + second / 5)), 0.0)

    def test_stalls_do_not_make_a_fed_loop_slower(self):
        for second in range(0, 60, 2):
            with self.subTest(second=second):
                self.assertEqual(self.chosen(stalling(Loop(6000, most=1200), 2, 100 + second / 5, 103 + second / 5)), 0.0)

    def test_workers_that_start_late_are_not_taken_for_slow_ones(self):
        self.assertEqual(self.chosen(Loop(6000, start=30.0)), 0.0)

    def test_without_engines_the_workers_go_on(self):
        for error in (FailedPrecondition("no engines"), ResourceExhausted("the pool is full")):
            loop = Loop(1600, engines=mock.Mock(side_effect=error))
            self.assertEqual(self.chosen(loop), 0.0)
            self.assertIn(str(error), loop.said)

    def test_without_a_rate_the_workers_go_on(self):
        loop = Loop(1600, engines=lambda: 0.0)
        self.assertEqual(self.chosen(loop), 0.0)
        self.assertIn("too few batches", loop.said)

    def test_a_daemon_that_goes_away_meanwhile_is_asked_again(self):
        loop = Loop(1600, engines=mock.Mock(side_effect=[Unavailable("gone"), DeadlineExceeded("busy"), 20_000.0]))
        self.assertAlmostEqual(self.chosen(loop), 0.73, delta=0.02)
        self.assertEqual(loop.engines.call_count, 3)

    def test_a_daemon_that_never_answers_is_asked_four_times(self):
        loop = Loop(1600, engines=mock.Mock(side_effect=DeadlineExceeded("busy")))
        self.assertEqual(self.chosen(loop), 0.0)
        self.assertEqual(loop.engines.call_count, 4)
        self.assertIn("busy", loop.said)

    def test_sessions_that_are_too_short_are_said(self):
        loop = Loop(1600)
        for _ in range(16):
            self.assertIsNone(loop.train(most=20))
        self.assertEqual(loop.train(most=20), 0)
        self.assertEqual(loop.share.value, 0.0)
        self.assertIn("before its pace could be seen", loop.said)

    def test_long_epochs_of_one_session_each_get_a_share(self):
        loop = Loop(1600)
        while loop.train(most=80) is None:
            continue
        self.assertAlmostEqual(loop.share.value, 0.73, delta=0.03)


class TrialTest(unittest.TestCase):
    """Machines that are not as the first share supposes."""

    def tried(self, loop):
        loop.train()
        return loop.tried

    def test_on_few_cores_files_cost_more_than_handing_them_on(self):
        loop = Loop(1600, handed_on=0.28)
        self.assertEqual(self.tried(loop), [0, 0.73, 0.89])
        self.assertEqual(loop.share.value, 0.89)
        self.assertIn("3,373 with gpu_share=0.73, 4,000 with gpu_share=0.89", loop.said)

    def test_when_nothing_feeds_the_loop_the_fastest_share_is_kept(self):
        loop = Loop(500, handed_on=0.28)
        self.assertEqual(self.tried(loop), [0, 1])
        self.assertEqual(loop.share.value, 1)

    def test_a_share_that_does_not_help_yet_is_doubled(self):
        loop = Loop(2000)
        opened = loop.open
        loop.open = lambda: (opened(), setattr(loop, "rate", 1990) if loop.share.value == loop.tried[1] else None)
        self.assertEqual(self.tried(loop), [0, 0.63, 1])
        self.assertEqual(loop.share.value, 1)

    def test_engines_that_are_slower_than_supposed_get_less(self):
        for rate, most, tried, kept in ((1600, 1500, [0, 0.73, 1, 0.52], 0.52), (1600, 1000, [0, 0.73, 0.41], 0.41),
                                        (2000, 1450, [0, 0.63, 1, 0.45], 0.45), (1600, 100, [0, 0.73, 0.06], 0.06)):
            with self.subTest(rate=rate, most=most):
                loop = Loop(rate, most=most)
                self.assertEqual(self.tried(loop), tried)
                self.assertEqual(loop.share.value, kept)

    def test_engines_that_slow_the_loop_down_are_given_up(self):
        loop = Loop(3000)
        loop.work = lambda i: STEP * (1 + loop.share.value if loop.share.value else 1)
        self.assertEqual(self.tried(loop)[-1], 0)

    def test_a_share_that_hardly_helps_is_not_worth_the_engines(self):
        loop = Loop(3950, most=3960 * 0.13)  # wants 4,000
        self.assertEqual(self.tried(loop)[-1], 0)

    def test_a_share_of_nothing_is_not_tried(self):
        loop = Loop(1600, engines=lambda: 0.001)
        self.assertEqual(self.tried(loop), [0])
        self.assertEqual(loop.share.value, 0)

    def test_after_trials_in_the_first_epoch_it_chooses_once_more(self):
        for rate, most, work, first, kept in ((1600, 5500, STEP, [0, 0.73, 1], 0.73), (2700, 7600, 0.03, [0, 0.82, 1], 0.82)):
            with self.subTest(rate=rate):
                loop = Loop(rate, lambda i, work=work: work, most=most, steps=600, at_first=0.5)
                self.assertEqual(self.tried(loop), [*first, 0, kept])
                self.assertEqual(loop.share.value, kept)

    def test_what_no_share_helped_against_in_the_first_epoch_may_be_over(self):
        loop = Loop(1600, steps=600)
        loop.set_rate = lambda share, set_rate=loop.set_rate: set_rate(share) if loop.epoch else setattr(loop, "rate", 1200)  # a cold cache
        loop.rate = 1200
        self.assertEqual(self.tried(loop)[-2:], [0, 0.73])
        self.assertEqual(loop.share.value, 0.73)

    def test_trials_that_the_first_epochs_end_divides_are_made_anew(self):
        loop = Loop(2871, lambda i: 0.035, most=5239, steps=258, at_first=0.5)
        self.tried(loop)
        self.assertLess(loop.share.value, 0.9)

    def test_what_cannot_be_chosen_again_stays(self):
        for error in (ResourceExhausted("the pool is full"), RuntimeError("CUDA out of memory")):
            loop = Loop(1600, steps=600, engines=mock.Mock(side_effect=[20_000.0, error]))
            self.assertEqual(self.tried(loop), [0, 0.73, 0, 0.73])
            self.assertEqual(loop.share.value, 0.73)
            self.assertIn(str(error), loop.said)

    def test_a_loop_that_ends_too_soon_to_choose_again_keeps_its_share(self):
        loop = Loop(1600, steps=600)
        loop.train(most=601)
        self.assertEqual((loop.share.value, loop.share.is_chosen), (0.0, False))
        while loop.train(most=20, first=601) is None:
            continue
        self.assertEqual(loop.share.value, 0.73)

    def test_an_interrupt_while_the_engines_are_measured_changes_nothing(self):
        loop = Loop(1600, engines=mock.Mock(side_effect=[KeyboardInterrupt, 20_000.0]))
        with self.assertRaises(KeyboardInterrupt):
            loop.train()
        self.assertEqual(loop.share.in_state(), {"gpu_share": None})
        self.assertEqual(self.tried(loop), [0, 0.73])

    def test_an_interrupt_while_something_is_said_changes_nothing(self):
        for first_epoch in (20, 600):
            wanted = Loop(1600, steps=first_epoch)
            wanted.train()
            for at in range(6):
                loop, said = Loop(1600, steps=first_epoch), []

                def say(text, said=said, at=at):
                    said.append(text)
                    if len(said) == at + 1:
                        raise KeyboardInterrupt

                loop.say = say
                with contextlib.suppress(KeyboardInterrupt):
                    loop.train()
                with self.subTest(first_epoch=first_epoch, at=at):
                    loop.train(first=loop.steps_done)
                    self.assertEqual(loop.share.value, wanted.share.value)
                    self.assertEqual(loop.tried[0], 0)

    def test_a_share_that_cannot_be_opened_is_not_kept(self):
        loop = Loop(1600, steps=600)
        loop.train(most=300)
        kept = loop.share.kept("no room")
        self.assertEqual((kept.value, kept.is_chosen, kept.in_state()), (0.73, True, {"gpu_share": 0.73}))
        self.assertFalse(loop.share.is_chosen)

    def test_trials_that_begin_in_the_first_epoch_are_its(self):
        loop = Loop(1600, steps=130, at_first=0.5)
        self.assertEqual(self.tried(loop)[-2:], [0, 0.73])
        self.assertEqual(loop.share.value, 0.73)

    def test_a_state_has_the_share_until_another_one_is_used(self):
        loop = Loop(1600, steps=600)
        loop.train(most=300)
        self.assertTrue(loop.share.is_due(None, None, 1))
        after = loop.share.after_choice(256, None)
        self.assertEqual((loop.share.value, loop.share.in_state()), (0.73, {"gpu_share": 0.73}))
        self.assertEqual((after.value, after.in_state()), (0.0, {"gpu_share": None}))

    def test_trials_behind_the_first_epoch_are_enough(self):
        loop = Loop(1600, steps=20)
        self.assertEqual(self.tried(loop), [0, 0.73])

    def test_until_the_next_epoch_nothing_is_measured(self):
        loop = Loop(1600, steps=600)
        loop.train(most=300)
        self.assertFalse(loop.share.is_chosen)
        self.assertIn("gpu_share=0.73 until the first epoch", loop.said)
        self.assertFalse(loop.share.is_due(lambda: self.fail("measured again"), None, 0))
        self.assertEqual(loop.share.in_state(), {"gpu_share": 0.73})

    def test_a_loop_of_very_slow_trials_decides(self):
        loop = Loop(1600, most=50)
        loop.train()
        self.assertLess(loop.now, 250)

    def test_a_stall_is_not_taken_for_slow_engines(self):
        for at in range(60, 250, 7):
            loop = Loop(1600, handed_on=0.28)
            take = loop.take

            def stalls(loop=loop, take=take, at=at, seen=[]):  # noqa: B006
                if len(seen) == at:
                    loop.starts, loop.ready = loop.now + 3, 0.0
                seen.append(loop.now)
                take()

            loop.take = functools.partial(stalls, seen=[])
            with self.subTest(at=at):
                loop.train()
                self.assertGreaterEqual(loop.share.value, 0.73)

    def test_a_state_saved_meanwhile_goes_on_with_the_share_that_is_tried(self):
        loop = Loop(1600, handed_on=0.28)
        loop.train(most=150)
        self.assertEqual((loop.share.is_chosen, loop.share.in_state()), (False, {"gpu_share": 0.73}))
        auto = Decoding("auto", None)
        resumed = GpuShare.of(auto, GpuShare(auto).of_state({**loop.share.in_state(), "fingerprint": 7}))
        self.assertEqual((resumed.is_chosen, resumed.value), (True, 0.73))
        self.assertFalse(resumed.is_due(lambda: self.fail("measured again"), None, 99))

    def test_a_loop_that_ends_too_soon_keeps_the_share_that_is_tried(self):
        loop = Loop(1600, handed_on=0.28)
        loop.train(most=150)
        while loop.train(most=20) is None:
            continue
        self.assertEqual(loop.share.value, 0.73)
        self.assertIn("before its pace could be seen", loop.said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
