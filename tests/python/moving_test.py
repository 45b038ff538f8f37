"""A training script's lines give the same result with Penstock as with torch's DataLoader, or are refused.

Each test runs the same lines on both, with the same photographs. If the script draws at random, the test compares
what does not depend on the draw.
"""
import copy
import itertools
import os
import pickle

import support
from moving_fixture import TEST, MovingFixture
from loader_fixture import ids

import torch  # noqa: E402
import torch.utils.data  # noqa: E402
from torch.utils.data import DistributedSampler  # noqa: E402

import penstock  # noqa: E402
import penstock.torch  # noqa: E402


class TableTest(MovingFixture):
    def test_a_folder_and_its_transform(self):
        theirs, ours = self.both(batch_size=16)

        self.assertEqual(len(theirs), len(ours))
        self.check(((images, labels) for images, labels in theirs), ((images, labels) for images, labels in ours))
        for name in ("classes", "class_to_idx", "targets", "samples", "imgs"):
            with self.subTest(name):
                self.assertEqual(getattr(ours.dataset, name), getattr(theirs.dataset, name))
        self.assertEqual(len(ours.dataset), len(theirs.dataset))

    def test_positions_of_the_arguments(self):
        self.check(torch.utils.data.DataLoader(self.images, 16, False), self.with_transform(16, False))

    def with_transform(self, *arguments):
        loader = penstock.torch.DataLoader(self.photographs, *arguments, transform=TEST)
        self.addCleanup(loader.close)
        return loader

    def test_keyword_forms(self):
        for keywords in ({"batch_size": 7}, {"batch_size": 7, "drop_last": True}, {"batch_size": 100}, {"batch_size": 101},
                         {"batch_size": 16, "shuffle": None}, {"batch_size": 16, "timeout": 0}, {"sampler": [5, 3, 5, 99], "batch_size": 3},
                         {"sampler": range(9, 0, -2)}, {"batch_sampler": [[1, 2], [3, 4], [7]]},
                         {"sampler": torch.utils.data.SubsetRandomSampler([4])},
                         {"sampler": torch.utils.data.SequentialSampler(range(100)), "batch_size": 30, "drop_last": True},
                         {"batch_sampler": torch.utils.data.BatchSampler(range(50), 8, True)}):
            with self.subTest(**keywords):
                theirs, ours = self.both(**keywords)
                self.assertEqual(len(theirs), len(ours))
                self.check(theirs, ours)

    def test_shuffled_epochs_have_every_sample_once_and_differ(self):
        loader = self.ours(batch_size=16, shuffle=True)

        first, second = ids(loader), ids(loader)

        self.assertEqual(sorted(first), list(range(100)))
        self.assertEqual(sorted(second), list(range(100)))
        self.assertNotEqual(first, second)

    def test_what_torch_refuses_is_refused(self):
        for keywords in ({"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 2},
                         {"batch_sampler": [[1]], "drop_last": True}, {"batch_sampler": [[1]], "sampler": [1]},
                         {"batch_size": 0}, {"batch_size": -1}, {"timeout": -1}):
            with self.subTest(**keywords):
                for make in (self.torchs, self.ours):
                    with self.assertRaises(ValueError):
                        make(**keywords)

    def test_what_has_no_effect_is_taken_and_what_would_not_be_called_is_refused(self):
        self.ours(num_workers=4, pin_memory=True, persistent_workers=True)
        for name, value in (("worker_init_fn", print), ("multiprocessing_context", "fork")):
            with self.assertRaisesRegex(penstock.InvalidArgument, name):
                self.ours(**{name: value})


class RanksTest(MovingFixture):
    """Tests ranks, with and without a DistributedSampler."""

    def test_forty_samples_two_ranks_batches_of_sixteen(self):
        for rank in range(2):
            loader = self.ours(batch_size=16, rank=rank, world_size=2, range=(0, 40))

            self.assertEqual([len(labels) for _, labels in loader], [16, 4])

    def test_each_rank_has_as_many_rows_as_torch_gives_it(self):
        for samples, world_size, batch_size in ((40, 2, 16), (100, 3, 8), (7, 4, 2), (1, 2, 4), (33, 2, 16), (31, 2, 16)):
            with self.subTest(samples=samples, world_size=world_size, batch_size=batch_size):
                taken = []
                for rank in range(world_size):
                    subset = torch.utils.data.Subset(self.images, range(samples))
                    sampler = DistributedSampler(subset, world_size, rank, shuffle=False)
                    theirs = self.torchs(dataset=subset, sampler=sampler, batch_size=batch_size)
                    ours = self.ours(batch_size=batch_size, rank=rank, world_size=world_size, range=(0, samples))
                    batches = list(ours)
                    taken += batches
                    self.assertEqual([len(labels) for _, labels in batches], [len(labels) for _, labels in theirs])
                    self.assertEqual(len(ours), len(theirs))
                    self.assertEqual(len(ours.sampler), len(sampler))
                real = [int(sample) for batch in taken for sample in batch.sample_ids[batch.valid]]
                self.assertEqual(sorted(real), list(range(samples)))  # rows marked valid contain each sample once

    def test_drop_last_never_repeats_a_sample(self):
        """Like DistributedSampler(drop_last=True). Without drop_last, torch may take one more step with repeated
        samples."""
        for samples, world_size, batch_size in ((40, 2, 16), (33, 2, 16), (31, 2, 16), (100, 3, 8)):
            with self.subTest(samples=samples, world_size=world_size, batch_size=batch_size):
                for rank in range(world_size):
                    subset = torch.utils.data.Subset(self.images, range(samples))
                    sampler = DistributedSampler(subset, world_size, rank, shuffle=False, drop_last=True)
                    theirs = self.torchs(dataset=subset, sampler=sampler, batch_size=batch_size, drop_last=True)
                    ours = self.ours(batch_size=batch_size, rank=rank, world_size=world_size, range=(0, samples),
                                     drop_last=True)

                    self.assertEqual([len(labels) for _, labels in ours], [len(labels) for _, labels in theirs])

    def test_an_exact_evaluation_over_ranks(self):
        for last_batch in (None, "pad_batch", "partial"):
            with self.subTest(last_batch=last_batch):
                seen = [0, 0]
                for rank in range(3):
                    loader = self.ours(batch_size=16, rank=rank, world_size=3, last_batch=last_batch, row_info=True)
                    for batch in loader:
                        moved = {name: value for name, value in batch.items()}  # what a framework's own copy contains
                        seen[0] += int(moved["valid"].sum())
                        seen[1] += int((moved["label"] * moved["valid"]).sum())

                self.assertEqual(seen, [100, sum(self.images.targets)])

    def test_a_distributed_sampler_gives_exactly_its_samples(self):
        class Repeated(torch.utils.data.Sampler):
            """Repeated augmentation: each sample three times, dealt out to the ranks one by one."""

            def __init__(self, rank, num_replicas):
                self.rank, self.num_replicas = rank, num_replicas

            def __iter__(self):
                return iter([sample for sample in range(30) for _ in range(3)][self.rank::self.num_replicas])

            def __len__(self):
                return 30

        for rank in range(3):
            for make in (lambda: DistributedSampler(self.images, 3, rank, seed=3), lambda: Repeated(rank, 3)):
                for drop_last in (False, True):
                    sampler = make()
                    theirs, ours = self.both(sampler=sampler, batch_size=8, drop_last=drop_last)
                    self.assertEqual(len(theirs), len(ours))
                    self.check(theirs, ours)
                    theirs, ours = self.both(batch_sampler=torch.utils.data.BatchSampler(sampler, 8, drop_last))
                    self.check(theirs, ours)

    def test_a_rank_that_contradicts_the_samplers_is_refused(self):
        sampler = DistributedSampler(self.images, 2, 1)

        with self.assertRaisesRegex(penstock.InvalidArgument, "rank 1 of 2"):
            self.ours(sampler=sampler, rank=0, world_size=2)
        loader = self.ours(sampler=sampler, rank=1, world_size=2, batch_size=10)
        self.assertEqual(ids(loader), list(sampler))

    def test_a_sampler_that_shares_nothing_is_said_to_give_every_rank_all(self):
        os.environ.update(RANK="1", WORLD_SIZE="2")
        self.addCleanup(os.environ.pop, "RANK")
        self.addCleanup(os.environ.pop, "WORLD_SIZE")
        order = torch.randperm(100).tolist()
        with self.assertLogs("penstock", "INFO") as logs:
            loader = self.ours(sampler=order, batch_size=20)

        self.assertIn("each of 2 ranks takes all that its list yields", logs.output[0])
        self.assertEqual(ids(loader), order)
        self.assertIn("what list yields for 1 of 2 (torchrun)", repr(loader))


class IdiomsTest(MovingFixture):
    def test_loops(self):
        def enumerated(loader):
            return [(index, labels.tolist()) for index, (images, labels) in enumerate(loader)]

        def stepped(loader):
            iterator = iter(loader)
            return [next(iterator)[1].tolist() for _ in range(len(loader))]

        def left_early(loader):
            seen = []
            for _ in range(2):
                for index, (_, labels) in enumerate(loader):
                    if index >= 2:
                        break
                    seen.append(labels.tolist())
            return seen

        def cycled(loader):
            return [labels.tolist() for _, labels in itertools.islice(itertools.cycle(loader), 9)]

        def again_and_again(loader):
            return [next(iter(loader))[1].tolist() for _ in range(3)]

        def lists(loader):
            return [[tensor.shape[0] for tensor in batch] for batch in loader]

        def moved(loader):
            return [tuple(tensor.to("cpu") for tensor in batch)[1].tolist() for batch in loader]

        def restarted(loader):
            seen, iterator = [], iter(loader)
            for _ in range(10):
                try:
                    images, labels = next(iterator)
                except StopIteration:
                    iterator = iter(loader)
                    images, labels = next(iterator)
                seen.append(labels.tolist())
            return seen

        def copied(loader):
            return [labels.tolist() for _, labels in copy.copy(loader)]

        def unpickled(loader):
            return [labels.tolist() for _, labels in pickle.loads(pickle.dumps(loader))]

        for idiom in (enumerated, stepped, left_early, cycled, again_and_again, lists, moved, restarted, copied, unpickled):
            with self.subTest(idiom.__name__):
                theirs, ours = self.both(batch_size=16)
                self.assertEqual(idiom(ours), idiom(theirs))

    def test_two_loaders_side_by_side(self):
        def zipped(first, second):
            return [(a.tolist(), b.tolist()) for (_, a), (_, b) in zip(first, second)]

        theirs, ours = zip(self.both(batch_size=16), self.both(batch_size=30))
        self.assertEqual(zipped(*ours), zipped(*theirs))

    def test_epochs_are_set_as_torch_wants_it(self):
        sampler = DistributedSampler(self.images, 2, 0, seed=1)
        theirs, ours = self.both(sampler=sampler, batch_size=16)

        def trained(loader):
            seen = []
            for epoch in range(3):
                loader.sampler.set_epoch(epoch)
                seen += [labels.tolist() for _, labels in loader]
            return seen

        self.assertEqual(trained(ours), trained(theirs))

    def test_a_bar_of_progress_knows_the_length(self):
        class Bar:
            def __init__(self, iterable):
                self.iterable, self.total = iterable, len(iterable)

            def __iter__(self):
                return iter(self.iterable)

        for loader in self.both(batch_size=16):
            self.assertEqual(Bar(loader).total, 7)
            self.assertEqual(len(list(Bar(loader))), 7)

    def test_a_loader_twice_at_once_is_refused_in_words(self):
        with self.assertRaisesRegex(penstock.Error, "newer iterator"):
            loader = self.ours(batch_size=16)
            list(zip(loader, loader))


if __name__ == "__main__":
    support.main()
