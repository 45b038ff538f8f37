"""Tests which share of the samples a GPU decodes: what is asked for, what a state keeps, and what decode="auto" chooses."""
import pathlib
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

import penstock  # noqa: E402
from penstock import _settings  # noqa: E402
from penstock._gpu_decoding import share as shares  # noqa: E402
from penstock._gpu_decoding.pace import Pace  # noqa: E402
from penstock._gpu_decoding.asked import Decoding, decoding_of, nvjpeg_path  # noqa: E402
from penstock._gpu_decoding.share import GpuShare, rate_of  # noqa: E402
from penstock._gpu_decoding.trials import Trials, share_for  # noqa: E402
from penstock.errors import FailedPrecondition, InvalidArgument, ResourceExhausted  # noqa: E402

CROP = [penstock.RandomResizedCrop(32), penstock.HorizontalFlip()]


class AskedTest(unittest.TestCase):
    def settings(self, **more):
        return _settings.make("photographs", **{"transform": CROP, "device": "cuda", "decode": "gpu", **more})

    def refused(self, words, **more):
        with self.assertRaises(InvalidArgument) as caught:
            self.settings(**more)
        self.assertIn(words, str(caught.exception))

    def test_what_was_asked_for(self):
        self.assertEqual(self.settings().decoding, Decoding("gpu", 1.0))
        self.assertEqual(self.settings(gpu_share=0.25).decoding, Decoding("gpu", 0.25))
        self.assertEqual(self.settings(decode="auto").decoding, Decoding("auto", None))
        self.assertEqual(self.settings(decode="auto", gpu_share=0.5).decoding, Decoding("auto", 0.5))
        self.assertEqual(self.settings(decode="auto", device="cpu").decoding, Decoding("auto", 0.0))
        self.assertEqual(self.settings(decode="cpu").decoding, Decoding("cpu", 0.0))

    def test_what_contradicts_itself_is_refused(self):
        self.refused("decode is 'gpus'", decode="gpus")
        self.refused("gpu_share is 0.5, but decode is 'cpu'", decode="cpu", gpu_share=0.5)
        self.refused("device is 'cpu'", device="cpu")
        for share in (0, -1, 1.5, float("nan"), True, "half", 10**400):
            self.refused("give a share of the samples", gpu_share=share)

    def test_ranks_would_each_choose_another_share(self):
        self.refused("2 ranks", decode="auto", rank=0, world_size=2)
        self.assertEqual(self.settings(decode="auto", gpu_share=0.5, rank=0, world_size=2).decoding.share, 0.5)

    def test_rows_that_the_gpu_does_not_make_are_refused(self):
        for words, more in {
                "several views": {"transform": None, "views": {"one": CROP, "two": CROP}},
                "no RandomResizedCrop": {"transform": None},
                "the transform has ColorJitter": {"transform": [*CROP, penstock.ColorJitter(0.4)]},
                "the transform has Grayscale": {"transform": [penstock.Grayscale(), *CROP]},
                "delivery is 'device'": {"delivery": "device"}}.items():
            with self.subTest(words):
                self.refused(words, **more)
                with mock.patch.object(_settings, "say_once") as said:
                    self.assertEqual(self.settings(decode="auto", **more).decoding, Decoding("auto", 0.0))
                self.assertIn(words, said.call_args.args[0])

    def test_only_torch_can_choose(self):
        with self.assertRaises(InvalidArgument) as caught:
            penstock.Loader("photographs", 8, transform=CROP, device="cuda", decode="auto")
        self.assertIn("penstock.torch.DataLoader alone", str(caught.exception))
        self.assertEqual(decoding_of("auto", _settings.given_share("auto", 0.5, "cuda"), "cuda", 1).share, 0.5)

    def test_the_newest_wheel_of_nvjpeg_is_found(self):
        with mock.patch("importlib.util.find_spec", return_value=types.SimpleNamespace(submodule_search_locations=["/site/nvidia"])), \
                mock.patch("glob.glob", side_effect=lambda pattern: [pattern.replace("cu*", "cu13").replace("*", "13")]
                           if "cu*" in pattern else [pattern.replace("*", "12")]):
            self.assertEqual(nvjpeg_path(), "/site/nvidia/cu13/lib/libnvjpeg.so.13")
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertEqual(nvjpeg_path(), "")


class PythonDatasetTest(unittest.TestCase):
    def test_samples_that_python_makes_are_not_the_gpus(self):
        torch = support.need("torch")
        import penstock.torch
        with self.assertRaises(InvalidArgument) as caught:
            penstock.torch.DataLoader(torch.arange(8), 4, device="cuda", decode="gpu")
        self.assertIn("decode is for datasets that Penstock reads itself", str(caught.exception))
        with penstock.torch.DataLoader(torch.arange(8), 4, decode="auto") as loader:
            self.assertEqual(len(loader), 2)


class StateTest(unittest.TestCase):
    @staticmethod
    def state(**more):
        return {"fingerprint": 17, **more}

    def test_a_loader_that_decodes_on_the_cpu_keeps_nothing(self):
        self.assertEqual(GpuShare(Decoding()).in_state(), {})
        self.assertEqual(GpuShare(Decoding()).of_state(self.state()), 0.0)

    def test_another_share_is_refused_unless_pixels_are_not_compared(self):
        for decoding, of_state in ((Decoding(), 0.4), (Decoding("gpu", 1.0), 0.4),
                                   (Decoding("gpu", 1.0), 0.0), (Decoding("gpu", 0.5), None)):
            with self.subTest(decoding=decoding, of_state=of_state):
                share, state = GpuShare(decoding), self.state(gpu_share=of_state)
                with self.assertRaises(InvalidArgument) as caught:
                    share.of_state(state)
                self.assertIn("other pixels", str(caught.exception))
                self.assertEqual(share.of_state({**state, "fingerprint": 0}), decoding.share)

    def test_a_state_without_a_share_is_one_of_the_cpu(self):
        with self.assertRaises(InvalidArgument):
            GpuShare(Decoding("gpu", 1.0)).of_state(self.state())

    def test_auto_goes_on_with_the_states_share(self):
        share = GpuShare(Decoding("auto", None))
        self.assertEqual(share.of_state(self.state(gpu_share=0.4)), 0.4)
        self.assertEqual(share.of_state(self.state(gpu_share=0.0)), 0.0)
        self.assertIsNone(share.of_state(self.state(gpu_share=None)))
        self.assertIsNone(share.of_state(self.state()))
        self.assertEqual(GpuShare(Decoding("auto", 0.5)).of_state(self.state(gpu_share=0.0)), 0.0)
        self.assertEqual(GpuShare(Decoding("auto", 0.5)).of_state(self.state(gpu_share=None)), 0.0)  # of before a choice
        for damaged in (1.5, -1, "0.4", True):
            with self.assertRaises(InvalidArgument):
                share.of_state(self.state(gpu_share=damaged))

    def test_auto_that_cannot_decode_on_a_gpu_goes_on_with_other_pixels_only_if_told_to(self):
        share = GpuShare(decoding_of("auto", None, "cpu", 1))
        with self.assertRaises(InvalidArgument):
            share.of_state(self.state(gpu_share=0.4))
        self.assertEqual(share.of_state({"fingerprint": 0, "gpu_share": 0.4}), 0.0)
        self.assertEqual(share.of_state(self.state(gpu_share=None)), 0.0)

    def test_without_room_for_a_share_that_is_tried_the_workers_go_on(self):
        def open_with(share):
            if share:
                raise ResourceExhausted("the pool is full")
            return "session"

        trying, given = GpuShare(Decoding("auto", None)), GpuShare(Decoding("auto", 0.5))
        trying.value = 0.4
        with mock.patch.object(shares, "say") as said:
            self.assertEqual(trying.opened(open_with, False), "session")
        self.assertIn("the pool is full", said.call_args.args[0])
        self.assertEqual((trying.value, trying.is_chosen), (0.0, True))
        with self.assertRaises(ResourceExhausted):
            given.opened(open_with, False)

    def test_without_room_for_another_share_the_one_chosen_before_stays(self):
        def open_with(share):
            if share == 0.8:
                raise ResourceExhausted("the pool is full")
            return share

        trying = GpuShare(Decoding("auto", None))
        trying.value, trying._chosen_before = 0.8, 0.4
        with mock.patch.object(shares, "say") as said:
            self.assertEqual(trying.opened(open_with, False), 0.4)
        self.assertIn("the pool is full", said.call_args.args[0])
        self.assertEqual((trying.value, trying.is_chosen), (0.4, True))
        resting = GpuShare(Decoding("auto", None))
        resting.value, resting._rests = 0.8, True
        with self.assertRaises(ResourceExhausted):
            resting.opened(open_with, False)

    def test_a_gpu_without_engines_is_an_error_only_where_it_was_asked_for(self):
        def open_with(share):
            if share:
                raise FailedPrecondition("no engines")
            return "session"

        with mock.patch.object(shares, "say") as said:
            auto = GpuShare(Decoding("auto", 0.5))
            self.assertEqual(auto.opened(open_with, False), "session")
        self.assertEqual(auto.value, 0.0)
        self.assertIn("no engines", said.call_args.args[0])
        for share, resumes in ((GpuShare(Decoding("gpu", 0.5)), False), (GpuShare(Decoding("auto", 0.5)), True)):
            with self.assertRaises(FailedPrecondition):
                share.opened(open_with, resumes)


class ChoiceTest(unittest.TestCase):
    def test_without_a_gpu_there_is_nothing_to_choose(self):
        share = GpuShare(Decoding("auto", None))
        with mock.patch.object(shares, "say") as said:
            share.note_device(-1)
        self.assertEqual(share.value, 0.0)
        self.assertIn("host memory", said.call_args.args[0])
        share.note_given(None)
        self.assertFalse(share.is_due(lambda: self.fail("synchronized"), None, 0))

    def test_shares(self):
        self.assertEqual(share_for(wanted=1000, workers=2000, engines=5000), 0.0)
        self.assertAlmostEqual(share_for(wanted=4000, workers=2000, engines=20000), 0.55 / 0.88, delta=0.011)
        both_at_their_most = share_for(wanted=13000, workers=1600, engines=10000)
        self.assertAlmostEqual(both_at_their_most * 1600, 6000 * (1 - 0.88 * both_at_their_most), delta=100)
        self.assertEqual(share_for(wanted=5000, workers=800, engines=20000), 0.98)  # the files take the workers' time, too
        self.assertEqual(share_for(wanted=1000, workers=0, engines=100), 1.0)
        self.assertEqual(share_for(wanted=1000, workers=10, engines=0), 0.0)

    def test_a_gain_of_less_than_a_hundredth_is_not_worth_the_engines(self):
        for gain, best in ((1.005, 0.0), (1.02, 0.2)):
            trials = Trials()
            trials.note(0.0, Pace(step=2.0, is_fed=False, work=1.0), rows=100)
            trials.note(0.2, Pace(step=2.0 / gain, is_fed=False, work=2.0 / gain), rows=100)
            self.assertEqual(trials.best(), best)

    def test_the_rate_leaves_out_what_is_loaded_first(self):
        now = [0.0]
        durations = iter([1.0, 1.0] + 8 * [0.01])

        def take():
            now[0] += next(durations)
            return True

        with mock.patch.object(shares.time, "monotonic", lambda: now[0]):
            self.assertAlmostEqual(rate_of(take, 256), 25_600, delta=1)
        self.assertEqual(rate_of(lambda: False, 256), 0.0)

    def test_the_rate_goes_on_in_the_next_epoch(self):
        now, takes = [0.0], [0]

        def take():  # two batches an epoch
            takes[0] += 1
            now[0] += 0.01
            return takes[0] % 3 != 0

        with mock.patch.object(shares.time, "monotonic", lambda: now[0]):
            self.assertAlmostEqual(rate_of(take, 256), 25_600 * 8 / 12, delta=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
