"""Tests how decode="auto" measures the engines: with a session of its own, from where the loader stands, and without a trace in the
loader's own epoch. Workers stand for the engines, so that it needs no GPU."""
import contextlib
import copy
import dataclasses
import functools
import itertools
import pathlib
import sys
import types
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

torch = support.need("torch")

from loader_fixture import LoaderFixture, ids  # noqa: E402

import penstock  # noqa: E402
from penstock._gpu_decoding import look, pace, share as shares  # noqa: E402
from penstock._gpu_decoding.asked import Decoding  # noqa: E402
from penstock._gpu_decoding.choosing import rate_of_engines  # noqa: E402
from penstock._gpu_decoding.share import GpuShare  # noqa: E402

SAMPLES = 100


class ProbeTest(LoaderFixture):
    def probed(self, loader, batches):
        """Where the session began that was opened after so many batches, and the rate; the loader's epoch is as without it."""
        began, options = [], loader._options

        def by_workers(gpu_share, at):
            self.assertEqual(gpu_share, 1.0)
            began.append((at.epoch, at.consumed))
            return options(0.0, at)

        given, rate = [], 0
        for batch in loader:
            given.append(batch)
            if len(given) == batches:
                with mock.patch.object(loader, "_options", by_workers):
                    rate = rate_of_engines(loader)
        self.assertEqual(sorted(ids(given)), list(range(SAMPLES)))
        return began, rate

    def test_it_begins_where_the_loader_stands(self):
        began, rate = self.probed(self.loader(batch_size=4, shuffle=True), batches=3)
        self.assertEqual(began, [(0, 12)])
        self.assertGreater(rate, 0)

    def test_near_the_end_it_begins_with_the_epoch(self):
        began, rate = self.probed(self.loader(batch_size=4, shuffle=True), batches=20)
        self.assertEqual(began, [(0, 0)])
        self.assertGreater(rate, 0)

    def test_it_goes_on_in_the_next_epoch(self):
        began, rate = self.probed(self.loader(batch_size=64, shuffle=True), batches=1)
        self.assertEqual(began, [(0, 0)])
        self.assertGreater(rate, 0)

    def test_orders_of_a_sampler_are_measured_too(self):
        for batch_size, batches, consumed in ((4, 3, 12), (4, 20, 0)):
            loader = self.loader(batch_size=batch_size, sampler=torch.utils.data.RandomSampler(range(SAMPLES)))
            began, rate = self.probed(loader, batches)
            self.assertEqual(began, [(0, consumed)])
            self.assertGreater(rate, 0)


class ChoiceTest(LoaderFixture):
    """Workers stand for the engines here, too."""

    def chosen(self, loader, epochs=1):
        """The shares of the sessions that were opened in the epochs of a loop, and what was said last."""
        opened = []
        with self.choosing(loader, opened.append) as said:
            for _ in range(epochs):
                self.assertEqual(sorted(ids(list(loader))), list(range(SAMPLES)))
        return opened, said.call_args.args[0]

    @contextlib.contextmanager
    def choosing(self, loader, opens):
        """The loader chooses within a few steps. `opens` is called with the share of each session before it is opened."""
        loader._settings = dataclasses.replace(loader._settings, decoding=Decoding("auto", None))
        loader._move(gpu_share=GpuShare(loader._settings.decoding))
        options, note_device = loader._options, GpuShare.note_device

        def by_workers(gpu_share, at):
            opens(gpu_share)
            if gpu_share:  # for the first time, so the pixels are others
                self.assertEqual(at.fingerprint, 0)
            return options(0.0, at)

        with mock.patch.object(loader, "_options", by_workers), mock.patch.object(loader, "_synchronize", lambda: None), \
                mock.patch.object(GpuShare, "note_device", lambda share, device: note_device(share, 0)), \
                mock.patch.object(look, "time", self.clock()), mock.patch.object(pace, "BLOCK", 4), \
                mock.patch.multiple(look, WARM_UP_STEPS=2, WARM_UP_SECONDS=0, FREE_STEPS=4, FREE_SECONDS=0, WORK_STEPS=2, WORK_SECONDS=0), \
                mock.patch.object(shares, "say") as said:
            yield said

    @staticmethod
    def clock():
        """Every step takes the same time."""
        return types.SimpleNamespace(monotonic=functools.partial(next, itertools.count(0, 0.01)))

    def test_a_starved_loop_goes_on_with_a_share(self):
        loader = self.loader(batch_size=2, shuffle=True)
        seconds = itertools.count()  # one for each batch, until the engines help
        with mock.patch.object(loader, "_waited", lambda: 0.0 if loader._gpu_share.value else next(seconds)):
            opened, said = self.chosen(loader)
        share = loader.state_dict()["gpu_share"]
        self.assertGreater(share, 0)
        self.assertEqual(opened, [0.0, 1.0, share])  # the first session, the engines', the one with both
        self.assertIn("from the workers alone", said)

    def test_a_share_of_the_first_epoch_is_looked_at_again_in_the_second(self):
        loader, waited = self.loader(batch_size=2, shuffle=True), [0]

        def waits():  # a second for each batch, unless the share suffices in this epoch
            waited[0] += (loader._gpu_share.value or 0) < (0.8, 0.4)[loader._at.epoch]
            return waited[0]

        def first(trials, _):
            trials._first = 0.4
            return trials._first

        with mock.patch.object(loader, "_waited", waits), mock.patch.object(shares.Trials, "first", first):
            opened, said = self.chosen(loader, epochs=2)
        self.assertEqual(opened, [0.0, 1.0, 0.4, 0.8, 0.0, 1.0, 0.4])  # in each epoch: the workers, the probe, shares that are tried
        self.assertIn("gpu_share=0.4 from here on", said)

    def starved(self):
        """A loader whose loop waits a second for each batch, unless a share is tried or chosen."""
        loader, seconds = self.loader(batch_size=2, shuffle=True), itertools.count()
        patched = mock.patch.object(loader, "_waited", lambda: 0.0 if loader._gpu_share.value else next(seconds))
        patched.start()
        self.addCleanup(patched.stop)
        return loader

    def test_until_another_share_is_open_states_have_the_one_before(self):
        """What another thread or a signal handler sees."""
        loader, states = self.starved(), []
        with self.choosing(loader, lambda share: states.append((share, loader.state_dict()))):
            list(loader)
        first, probe, tried = states
        self.assertEqual((first[0], probe[0]), (0.0, 1.0))
        self.assertGreater(tried[0], 0)
        self.assertEqual([state["gpu_share"] for _, state in states], [None, None, None])
        self.assertEqual(tried[1]["fingerprint"], probe[1]["fingerprint"])
        self.assertNotEqual(tried[1]["fingerprint"], 0)
        self.assertGreater(loader.state_dict()["gpu_share"], 0)

    def test_an_interrupt_while_another_share_is_opened_changes_nothing(self):
        loader, opened, given = self.starved(), [], []

        def opens(share):
            opened.append(share)
            if len(opened) == 3:
                raise KeyboardInterrupt

        with self.choosing(loader, opens):
            with self.assertRaises(KeyboardInterrupt):
                given.extend(iter(loader))
            state = loader.state_dict()
            self.assertEqual((state["gpu_share"], state["consumed"]), (None, len(ids(given))))
            loader.load_state_dict(state)
            given.extend(loader)
        self.assertEqual(sorted(ids(given)), list(range(SAMPLES)))
        with self.assertRaisesRegex(penstock.FailedPrecondition, "another feed"):
            other = self.loader(batch_size=2, shuffle=False)
            other.load_state_dict({**state, "gpu_share": 0.0})
            next(iter(other))

    def test_a_share_that_cannot_be_opened_leaves_the_loop_as_it_was(self):
        for error in (penstock.ResourceExhausted("the pool is full"), penstock.FailedPrecondition("no engines"), MemoryError("full")):
            loader, opened = self.starved(), []

            def opens(share, opened=opened, error=error):
                opened.append(share)
                if len(opened) == 3:
                    raise error

            with self.choosing(loader, opens) as said:
                self.assertEqual(sorted(ids(list(loader))), list(range(SAMPLES)))
            self.assertEqual((opened[0], opened[3:]), (0.0, [0.0]))
            self.assertIn(str(error), said.call_args.args[0])
            self.assertEqual((loader._gpu_share.is_chosen, loader.state_dict()["gpu_share"]), (True, 0.0))

    def test_a_copied_loader_does_not_end_the_trial(self):
        loader = self.starved()
        with self.choosing(loader, lambda share: None):
            for _ in loader:
                if loader._gpu_share.value:
                    break
            copied = copy.copy(loader)
        self.addCleanup(copied.close)
        self.assertEqual((copied._gpu_share.value, copied._gpu_share.is_chosen), (loader._gpu_share.value, True))
        self.assertFalse(loader._gpu_share.is_chosen)

    def test_ranks_of_a_sampler_do_not_choose_each_for_itself(self):
        sampler = torch.utils.data.DistributedSampler(range(SAMPLES), num_replicas=4, rank=1)
        with self.assertRaisesRegex(penstock.InvalidArgument, "there are 4 ranks"):
            self.loader(batch_size=4, sampler=sampler, device="cuda", decode="auto")

    def test_a_fed_loop_goes_on_as_it_was(self):
        loader = self.loader(batch_size=2, shuffle=True)
        with mock.patch.object(loader, "_waited", lambda: 0.0):
            opened, said = self.chosen(loader)
        self.assertEqual(loader.state_dict()["gpu_share"], 0)
        self.assertEqual(opened, [0.0])
        self.assertIn("as fast as the loop trains", said)


if __name__ == "__main__":
    support.main()
