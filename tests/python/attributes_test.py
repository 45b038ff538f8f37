"""Tests the attributes of a loader that scripts and frameworks read and set, and torch's DataLoader built from its
parts."""
import itertools

import support
from moving_fixture import MovingFixture
from loader_fixture import ids

import torch  # noqa: E402
import torch.utils.data  # noqa: E402

import penstock  # noqa: E402
import penstock.torch  # noqa: E402


class AttributesTest(MovingFixture):
    def test_they_are_torchs(self):
        theirs, ours = self.both(batch_size=16, drop_last=True)

        for name in ("batch_size", "num_workers", "drop_last", "pin_memory", "timeout", "worker_init_fn", "generator",
                     "multiprocessing_context", "persistent_workers", "pin_memory_device", "prefetch_factor"):
            with self.subTest(name):
                usual = {"prefetch_factor": None}.get(name, getattr(theirs, name, None))
                self.assertEqual(getattr(ours, name), usual)
        self.assertEqual(len(ours.sampler), 96)
        self.assertEqual(len(ours.batch_sampler), len(theirs.batch_sampler))
        self.assertEqual((ours.batch_sampler.batch_size, ours.batch_sampler.drop_last), (16, True))

    def test_given_ones_are_given_back(self):
        sampler, function = [1, 2, 3], list
        loader = self.ours(sampler=sampler, collate_fn=function)

        self.assertIs(loader.sampler, sampler)
        self.assertIs(loader.collate_fn, function)
        batches = [[1, 2], [3]]
        self.assertIs(self.ours(batch_sampler=batches).batch_sampler, batches)

    def test_what_torch_lets_nobody_set(self):
        for loader in self.both(batch_size=16):
            for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
                with self.subTest(name=name), self.assertRaises(ValueError):
                    setattr(loader, name, None)

    def test_what_torch_lets_programs_set(self):
        loader = self.ours(batch_size=50)

        loader.collate_fn = lambda batch: batch["label"].tolist()
        loader.anything = 1
        with self.assertLogs("penstock", "INFO") as logs:
            loader.num_workers = 3
            loader.worker_init_fn = print

        self.assertEqual(list(loader)[0], [labels for _, labels in self.images.samples[:50]])
        self.assertEqual(len(logs.output), 2)
        for name in ("prefetch_factor", "timeout", "generator"):
            with self.assertRaisesRegex(ValueError, f"another loader with {name}"):
                setattr(loader, name, 3)

    def test_the_dataset_gives_single_samples(self):
        theirs, ours = self.both(batch_size=16)

        for index in (0, 37, 99, -1):
            (image, label), (our_image, our_label) = theirs.dataset[index], ours.dataset[index]
            self.assertTrue(torch.equal(image, our_image))
            self.assertEqual((label, type(label)), (our_label, type(our_label)))
        for index in (100, -101):
            with self.assertRaises(IndexError):
                ours.dataset[index]
        with self.assertRaisesRegex(TypeError, "iterate the loader"):
            ours.dataset[0:3]
        self.check(theirs, ours)  # the error did not disturb the dataset

    def test_of_a_part_they_are_counted_from_its_first(self):
        part = self.ours(range=(30, 40))

        self.assertEqual(part.dataset[2][1], self.images[32][1])
        self.assertEqual(part.dataset.targets, self.images.targets[30:40])

    def test_single_samples_of_a_random_transform_differ(self):
        loader = penstock.torch.DataLoader(self.photographs, transform=[penstock.RandomResizedCrop(32)])
        self.addCleanup(loader.close)

        self.assertFalse(torch.equal(loader.dataset[5][0], loader.dataset[5][0]))

    def test_orders_that_are_the_daemons_say_so(self):
        loader = self.ours(batch_size=16)

        with self.assertRaisesRegex(TypeError, "batch.sample_ids"):
            list(loader.sampler)
        with self.assertRaisesRegex(TypeError, "batch.sample_ids"):
            [list(samples) for samples in loader.batch_sampler]


class SkippingTest(MovingFixture):
    """Does the same as accelerate.skip_first_batches, which Transformers' Trainer uses to resume: builds a
    DataLoader of torch from the loader's own parts, without the first batches."""

    def skip(self, loader, count):
        class Rest(torch.utils.data.BatchSampler):
            def __init__(self, batches):
                self.batches = batches

            def __iter__(self):
                return itertools.islice(iter(self.batches), count, None)

            def __len__(self):
                return len(self.batches) - count

        same = {name: getattr(loader, name) for name in (
            "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator")}
        return torch.utils.data.DataLoader(loader.dataset, batch_sampler=Rest(loader.batch_sampler), **same)

    def test_the_rest_of_an_epoch(self):
        for keywords in ({}, {"shuffle": True}, {"drop_last": True}, {"rank": 1, "world_size": 2}, {"sampler": range(90)}):
            for count in (0, 2, 3):
                with self.subTest(count=count, **keywords):
                    whole, loader = list(self.ours(batch_size=16, **keywords)), self.ours(batch_size=16, **keywords)
                    rest = self.skip(loader, count)

                    self.assertEqual(len(rest), len(whole) - count)
                    got = list(rest)
                    self.check([tuple(batch) for batch in whole[count:]], [tuple(batch) for batch in got])
                    self.assertEqual([batch.sample_ids.tolist() for batch in got],
                                     [batch.sample_ids.tolist() for batch in whole[count:]])

    def test_of_the_epoch_that_comes_next(self):
        loader = self.ours(batch_size=16, shuffle=True)
        epochs = [list(loader), list(loader)]
        loader.set_epoch(1)

        self.assertEqual(ids(self.skip(loader, 3)), ids(epochs[1][3:]))

    def test_a_collate_function_is_called_once(self):
        loader = self.ours(batch_size=50, collate_fn=lambda batch: len(batch["label"]))

        self.assertEqual(list(self.skip(loader, 1)), [50])

    def test_a_loader_of_torch_over_the_dataset_decodes_single_samples(self):
        theirs = torch.utils.data.DataLoader(self.ours().dataset, batch_size=4, sampler=range(8))

        self.check(self.torchs(batch_size=4, sampler=range(8)), theirs)

    def test_single_samples_are_no_batch(self):
        loader = self.ours(batch_sampler=[[1, 2], [3, 4]])

        with self.assertRaisesRegex(penstock.InvalidArgument, "finished batch"):
            list(self.skip(loader, 1))


if __name__ == "__main__":
    support.main()
