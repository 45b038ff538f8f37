"""Tests how decode="auto" measures the engines: with a session of its own, from where the loader stands, and without a trace in the
loader's own epoch. Workers stand for the engines, so that it needs no GPU."""
import pathlib
import sys
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

torch = support.need("torch")

from loader_fixture import LoaderFixture, ids  # noqa: E402

SAMPLES = 100


class ProbeTest(LoaderFixture):
    def probed(self, loader, batches):
        """Where the session began that was opened after so many batches, and the rate; the loader's epoch is as without it."""
        began, options = [], loader._options

        def by_workers(gpu_share, at=None):
            self.assertEqual(gpu_share, 1.0)
            began.append((at.epoch, at.consumed))
            return options(0.0, at)

        given, rate = [], 0
        for batch in loader:
            given.append(batch)
            if len(given) == batches:
                with mock.patch.object(loader, "_options", by_workers):
                    rate = loader._rate_of_engines()
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


if __name__ == "__main__":
    support.main()
