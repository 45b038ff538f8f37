"""Tests parts of datasets, mixtures, windows of shards and weighted draws, from Python."""
import collections
import gzip
import pickle
import struct
import subprocess
import unittest

import support

np = support.need("numpy")

import penstock  # noqa: E402

DIGITS, LETTERS = 400, 50


def idx(path, dimensions, values):
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">BBBB", 0, 0, 8, len(dimensions)) + struct.pack(f">{len(dimensions)}I", *dimensions))
        file.write(bytes(value % 256 for value in values))


class ConfiguredDaemon(support.Daemon):
    """Serves "digits"; its last tenth as "held-out"; and "both", digits and letters mixed 3 to 1."""

    def start(self):
        text = f"server: {{socket: {self.address}, group: '', state_dir: ''}}\ndatasets:\n"
        for name, count in (("digits", DIGITS), ("letters", LETTERS)):
            images, labels = self.folder / f"{name}-images.gz", self.folder / f"{name}-labels.gz"
            idx(images, (count, 2, 2), (sample for sample in range(count) for _ in range(4)))
            idx(labels, (count,), (sample % 10 for sample in range(count)))
            files = f"idx: {{images: {images}, labels: {labels}}}"
            text += f"- {{name: {name}, {files}}}\n"
            if name == "digits":
                text += f"- {{name: held-out, {files}, range: 90%..100%}}\n"
        text += ("- name: both\n  mixture:\n    parts: [{dataset: digits, weight: 3}, {dataset: letters}]\n"
                 "    epoch_samples: 200\n")
        (self.folder / "config.yaml").write_text(text)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([support.program("penstockd"), "--config", str(self.folder / "config.yaml")],
                                            stderr=log)
        support.wait_until_serving(self.process, self.folder / "log")


class PartsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import os
        import shutil
        import tempfile
        folder = tempfile.mkdtemp(prefix="penstock-parts-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.daemon = ConfiguredDaemon(folder)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.environ["PENSTOCK_ADDRESS"] = cls.daemon.address

    def loader(self, dataset, batch_size=16, **keywords):
        loader = penstock.Loader(dataset, batch_size, **keywords)
        self.addCleanup(loader.close)
        return loader

    def ids(self, loader):
        return [int(sample) for batch in loader for sample in batch.sample_ids]

    def test_what_is_no_range_is_refused_in_words(self):
        for wrong in ((5, 5), (-1, 5), (0, 1.5), "0..5", 5, (0, 5, 1)):
            with self.assertRaisesRegex(penstock.InvalidArgument, "range is .*like \\(0, 50000\\)"):
                self.loader("digits", range=wrong)
        with self.assertRaisesRegex(penstock.InvalidArgument, "the dataset has 400 .0 to 399."):
            next(iter(self.loader("digits", range=(390, 401))))
        with self.assertRaisesRegex(penstock.InvalidArgument, "is a mixture"):
            next(iter(self.loader("both", range=(0, 10))))

    def test_a_range_is_an_epoch_of_its_own(self):
        loader = self.loader("digits", shuffle=True, range=(100, 150))

        self.assertEqual(len(loader), 4)
        self.assertEqual(len(loader.dataset), 50)
        self.assertEqual(loader.dataset.sample_ids, range(100, 150))
        first, second = self.ids(loader), self.ids(loader)
        self.assertEqual(sorted(first), list(range(100, 150)))
        self.assertEqual(sorted(second), list(range(100, 150)))
        self.assertNotEqual(first, second)
        self.assertEqual(self.ids(self.loader("digits", range=range(7, 9))), [7, 8])

    def test_a_state_resumes_within_the_range(self):
        loader = self.loader("digits", shuffle=True, range=(100, 150), seed=3)
        whole = self.ids(loader)
        loader = self.loader("digits", 10, shuffle=True, range=(100, 150), seed=3)
        begun = [int(sample) for sample in next(iter(loader)).sample_ids]
        resumed = pickle.loads(pickle.dumps(loader))
        self.addCleanup(resumed.close)

        self.assertEqual(begun + self.ids(resumed), whole)
        with self.assertRaisesRegex(penstock.FailedPrecondition, "another feed"):
            other = self.loader("digits", 10, shuffle=True, range=(100, 151), seed=3)
            other.load_state_dict(loader.state_dict())
            next(iter(other))

    def test_a_named_part_has_its_length_classes_and_paths(self):
        dataset = self.loader("held-out").dataset

        self.assertEqual(len(dataset), 40)
        self.assertEqual(dataset.sample_ids, range(360, 400))
        self.assertEqual(dataset.class_to_idx, {str(digit): digit for digit in range(10)})
        self.assertEqual(dataset.path(360), self.loader("digits").dataset.path(360))
        self.assertEqual(sorted(self.ids(self.loader("held-out", shuffle=True))), list(range(360, 400)))

    def test_a_mixture_has_of_each_part_what_its_weight_says(self):
        loader = self.loader("both", shuffle=True)
        dataset = loader.dataset

        self.assertEqual((dataset.kind, len(dataset), dataset.epoch_samples), ("mixture", DIGITS + LETTERS, 200))
        self.assertEqual(len(loader), 13)
        for _ in range(3):
            ids = self.ids(loader)
            self.assertEqual(len(ids), 200)
            self.assertEqual(sum(sample < DIGITS for sample in ids), 150)
        for batch in loader:
            stored = [int(sample) if sample < DIGITS else int(sample) - DIGITS for sample in batch.sample_ids]
            self.assertEqual([int(image[0, 0, 0]) for image in batch["image"]], [sample % 256 for sample in stored])
            self.assertEqual([int(label) for label in batch["label"]], [sample % 10 for sample in stored])

    def test_ranks_share_a_mixture(self):
        alone = self.ids(self.loader("both", 10, shuffle=True))
        shared = [batch for rank in range(2)
                  for batch in self.loader("both", 5, shuffle=True, rank=rank, world_size=2, dtype="float32")]
        shared.sort(key=lambda batch: batch.position.first)

        self.assertEqual([int(sample) for batch in shared for sample in batch.sample_ids], alone)

    def test_windows_of_shards(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "shards is 0"):
            penstock.ShuffleWindow(0)
        with self.assertRaisesRegex(penstock.InvalidArgument, "has no shards to shuffle in windows"):
            next(iter(self.loader("digits", shuffle=penstock.ShuffleWindow())))

        ids = self.ids(self.loader("digits", shuffle=penstock.ShuffleWindow(shards=2, shard_samples=50)))

        self.assertEqual(sorted(ids), list(range(DIGITS)))
        for window in range(4):
            self.assertEqual(len({sample // 50 for sample in ids[100 * window:100 * (window + 1)]}), 2)

    def test_what_cannot_be_drawn_is_refused_in_words(self):
        for weights, words in (([], "no weights"), ([1, -1], "sample 1: got -1"), ([0, 0], "all weights are 0"),
                               (["x"], "are not numbers"), ([float("nan")], "sample 0: got")):
            with self.assertRaisesRegex(penstock.InvalidArgument, words):
                penstock.WeightedSampler(weights, 5)
        with self.assertRaisesRegex(penstock.InvalidArgument, "num_samples is 0"):
            penstock.WeightedSampler([1], 0)
        with self.assertRaisesRegex(penstock.InvalidArgument, "exclude each other"):
            self.loader("digits", shuffle=True, sampler=penstock.WeightedSampler([1] * DIGITS))

    def test_draws_are_those_that_are_specified(self):
        specified = support.draw()["draw_weighted"]
        for weights, seed, epoch in (([1.0, 2.0, 3.0, 4.0], 42, 1), ([0.1] * 7 + [0.0, 5.0], 7, 0),
                                     ([float(i % 13) for i in range(1000)], 2**63 + 5, 3)):
            sampler = penstock.WeightedSampler(weights, 500, seed)
            self.assertEqual(list(sampler.draw(epoch)), specified(weights, 500, seed, epoch))

    def test_the_other_orders_are_those_that_are_specified(self):
        specified = support.draw()
        repeated, grouped = specified["draw_repeated"], specified["draw_grouped"]
        for samples, repetitions, seed, epoch in ((1000, 3, 0, 0), (256, 1, 7, 2), (100, 4, 2**63, 5)):
            sampler = penstock.RepeatedSampler(samples, repetitions, seed=seed)
            count = samples // 256 * 256 or samples
            self.assertEqual(len(sampler), count)
            self.assertEqual(list(sampler.draw(epoch)), repeated(samples, repetitions, count, seed, epoch))
        lengths = [sample * 7919 % 97 for sample in range(1000)]
        for batch_size, batches, size in ((8, None, 8 * 31), (300, None, 300), (10, 3, 30), (1, 1, 1)):
            sampler = penstock.LengthGroupedSampler(lengths, batch_size, batches, seed=3)
            self.assertEqual(list(sampler.draw(4)), grouped(lengths, size, 3, 4))
        labels = ["a"] * 5 + ["b"]
        self.assertEqual(list(penstock.ClassBalancedSampler(labels, 50, seed=2).draw(1)),
                         specified["draw_weighted"]([1 / 5] * 5 + [1.0], 50, 2, 1))

    def test_repeated_samples_come_in_a_row_and_at_most_that_often(self):
        drawn = list(penstock.RepeatedSampler(range(512), repetitions=3))

        self.assertEqual(len(drawn), 512)
        self.assertEqual([drawn[at:at + 3] for at in range(0, 510, 3)], [[sample] * 3 for sample in drawn[:510:3]])
        self.assertEqual(len(set(drawn)), 171)

    def test_an_epoch_grouped_by_length_has_every_sample_the_longest_first_and_little_padding(self):
        lengths = np.random.default_rng(0).integers(1, 500, 2000)
        drawn = list(penstock.LengthGroupedSampler(lengths, 16))

        self.assertEqual(sorted(drawn), list(range(2000)))
        self.assertEqual(lengths[drawn[0]], lengths.max())
        spread = [np.ptp(lengths[drawn[at:at + 16]]) for at in range(0, 2000, 16)]
        self.assertLess(np.median(spread), 50)

    def test_classes_come_equally_often_however_many_samples_they_have(self):
        counts = collections.Counter(sample // 900 for sample in penstock.ClassBalancedSampler(
            np.arange(1000) // 900, 20_000, seed=1))

        self.assertAlmostEqual(counts[0] / 20_000, 0.5, delta=0.02)

    def test_wrong_arguments_of_the_other_orders_are_refused_in_words(self):
        for make, words in ((lambda: penstock.RepeatedSampler(0), "samples is 0"),
                            (lambda: penstock.RepeatedSampler(4, 2, num_samples=9), "are only 8"),
                            (lambda: penstock.ClassBalancedSampler([]), "got none"),
                            (lambda: penstock.ClassBalancedSampler(3), "give one for each sample"),
                            (lambda: penstock.ClassBalancedSampler([[1], [2]]), "are not classes"),
                            (lambda: penstock.LengthGroupedSampler([1, "x"], 2), "sample 1: got 'x'"),
                            (lambda: penstock.LengthGroupedSampler([1, float("nan")], 2), "sample 1: got nan"),
                            (lambda: penstock.LengthGroupedSampler([1], 0), "batch_size is 0")):
            with self.subTest(words=words), self.assertRaisesRegex(penstock.InvalidArgument, words):
                make()

    def test_the_other_orders_come_as_drawn_on_every_rank_and_after_resuming(self):
        for sampler in (penstock.RepeatedSampler(DIGITS, 3), penstock.LengthGroupedSampler(list(range(DIGITS)), 20),
                        penstock.ClassBalancedSampler(np.arange(DIGITS) % 7, 100)):
            with self.subTest(type(sampler).__name__):
                loader = self.loader("digits", 10, sampler=sampler)
                self.assertEqual(self.ids(loader), list(sampler.draw(0)))
                self.assertEqual(self.ids(loader), list(sampler.draw(1)))
                ranks = [batch for rank in range(2)
                         for batch in self.loader("digits", 10, sampler=sampler, rank=rank, world_size=2, dtype="float32")]
                ranks.sort(key=lambda batch: batch.position.first)
                self.assertEqual([int(sample) for batch in ranks for sample in batch.sample_ids], list(sampler.draw(0)))
                begun = self.loader("digits", 10, sampler=sampler)
                next(iter(begun))
                resumed = self.loader("digits", 20, sampler=sampler)
                resumed.load_state_dict(begun.state_dict())
                self.assertEqual(self.ids(resumed), list(sampler.draw(0))[10:])

    def test_a_weighted_epoch_comes_as_drawn_on_every_rank_and_after_resuming(self):
        weights = np.where(np.arange(DIGITS) % 10 == 3, 1.0, 0.0)
        sampler = penstock.WeightedSampler(weights, 120, seed=9)
        loader = self.loader("digits", 10, sampler=sampler)
        first, second = self.ids(loader), self.ids(loader)

        self.assertEqual(first, list(sampler.draw(0)))
        self.assertEqual(second, list(sampler.draw(1)))
        self.assertEqual({sample % 10 for sample in first}, {3})
        self.assertEqual(len(loader), 12)
        ranks = [batch for rank in range(3)
                 for batch in self.loader("digits", 10, sampler=sampler, rank=rank, world_size=3, dtype="float32")]
        ranks.sort(key=lambda batch: batch.position.first)
        self.assertEqual([int(sample) for batch in ranks for sample in batch.sample_ids], first)

        begun = self.loader("digits", 10, sampler=sampler)
        self.assertEqual([int(sample) for sample in next(iter(begun)).sample_ids], first[:10])
        resumed = self.loader("digits", 20, sampler=sampler)
        resumed.load_state_dict(begun.state_dict())
        self.assertEqual(self.ids(resumed), first[10:])

    def test_draws_come_as_often_as_their_weights_say(self):
        counts = collections.Counter(penstock.WeightedSampler([1, 2, 7], 100_000, seed=1))

        for sample, share in enumerate((0.1, 0.2, 0.7)):
            self.assertAlmostEqual(counts[sample] / 100_000, share, delta=0.006)


class TorchPartsTest(PartsTest):
    """Runs the same tests with torch's loader."""

    def loader(self, dataset, batch_size=16, **keywords):
        try:
            import penstock.torch
        except ImportError as error:
            self.skipTest(f"torch is not installed ({error})")
        keywords.pop("dtype", None)
        loader = penstock.torch.DataLoader(dataset, batch_size, dtype="uint8", layout="NHWC", **keywords)
        self.addCleanup(loader.close)
        return loader


if __name__ == "__main__":
    support.main()
