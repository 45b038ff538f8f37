"""Tests loaders of Python datasets that make their batches in the trainer's process, beside torch's DataLoader."""
import copy
import pickle
import random
import unittest
import warnings

from python_datasets import ByItems, Counting, Failing, Numbers, Pair, Record, Shaped, Stateful, ids, numpy, plain, support, torch

import penstock  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402

Torch = torch.utils.data.DataLoader
PLAN = support.draw()


class StructureTest(unittest.TestCase):
    MAKERS = {
        "tensors": lambda i: (torch.full((2, 3), float(i)), i),
        "dict": lambda i: {"x": torch.tensor(i), "name": f"n{i}", "nested": {"y": [i, float(i)]}},
        "named tuple": lambda i: Pair(numpy.full(3, i), (True, b"bytes")),
        "numbers": lambda i: i, "floats": float, "texts": str, "arrays": lambda i: numpy.arange(i, i + 4, dtype="float32"),
    }

    def test_batches_are_those_of_torchs_loader(self):
        for name, make in self.MAKERS.items():
            for arguments in ({"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {}, {"batch_size": 100}):
                with self.subTest(name=name, **arguments):
                    expected = list(Torch(Shaped(make), **arguments))
                    loader = DataLoader(Shaped(make), **arguments)
                    self.assertEqual([plain(batch) for batch in loader], [plain(batch) for batch in expected])
                    self.assertEqual(len(loader), len(expected))

    def test_single_samples(self):
        for name, make in {**self.MAKERS, "none": lambda i: None, "record": lambda i: Record(i, str(i)), "bytes": bytes}.items():
            with self.subTest(name=name):
                loader, expected = (kind(Shaped(make), batch_size=None) for kind in (DataLoader, Torch))
                self.assertEqual([plain(sample) for sample in loader], [plain(sample) for sample in expected])
                self.assertEqual(len(loader), 7)

    def test_a_collate_function_gets_a_list_of_samples(self):
        got = list(DataLoader(Shaped(lambda i: Record(i, None)), batch_size=4, collate_fn=lambda rows: rows))
        self.assertEqual(got, [[Record(i, None) for i in range(4)], [Record(i, None) for i in range(4, 7)]])

    def test_items_at_once(self):
        class Items(Shaped):
            def __getitems__(self, indices):
                return [("at once", index) for index in indices]
        got, expected = (list(DataLoader(dataset, batch_size=7)) for dataset in (Items(int), Shaped(lambda i: ("at once", i))))
        self.assertEqual(plain(got), plain(expected))

    def test_lists_and_other_objects_with_getitem_are_datasets(self):
        self.assertEqual([batch.tolist() for batch in DataLoader([5, 6, 7], batch_size=2)], [[5, 6], [7]])
        self.assertEqual(len(list(DataLoader(torch.utils.data.TensorDataset(torch.zeros(5, 2)), batch_size=2))), 3)
        subset = torch.utils.data.Subset(Numbers(), [3, 1, 4])
        self.assertEqual(ids(DataLoader(subset, batch_size=3)), [[3, 1, 4]])
        self.assertEqual(list(DataLoader([])), [])


class OrderTest(unittest.TestCase):
    def test_shuffle_is_penstocks_order(self):
        loader = DataLoader(Numbers(), batch_size=6, shuffle=True, seed=3)
        for epoch in range(3):
            order = [PLAN["sample_at"](20, 3, epoch, index) for index in range(20)]
            self.assertEqual(sum(ids(loader), []), order)

    def test_windows(self):
        window = penstock.ShuffleWindow(shards=2, shard_samples=3)
        order = [PLAN["windowed_sample_at"](20, 0, 0, index, 3, 2) for index in range(20)]
        self.assertEqual(sum(ids(DataLoader(Numbers(), batch_size=6, shuffle=window)), []), order)

    def test_ranks_share_the_epoch(self):
        for keywords in ({}, {"drop_last": True}, {"last_batch": "partial"}, {"last_batch": "pad_batch"}):
            loaders = [DataLoader(Numbers(), batch_size=3, shuffle=True, rank=rank, world_size=3, **keywords) for rank in range(3)]
            got = [ids(loader) for loader in loaders]
            order = [PLAN["sample_at"](20, 0, 0, index) for index in range(20)]
            with self.subTest(**keywords):
                self.assertEqual([len(loader) for loader in loaders], [len(batches) for batches in got])
                if keywords.get("last_batch") == "partial":
                    self.assertEqual(sorted(sum(sum(got, []), [])), list(range(20)))
                self.assertEqual([got[rank][0] for rank in range(3)], [order[3 * rank:3 * rank + 3] for rank in range(3)])
                if not keywords:
                    self.assertEqual([[len(batch) for batch in batches] for batches in got], [[3, 3, 1]] * 3)

    def test_samplers_determine_the_order(self):
        for sampler in ([3, 1, 2], range(19, -1, -1), torch.utils.data.SubsetRandomSampler([4, 5, 6])):
            self.assertEqual(sorted(sum(ids(DataLoader(Numbers(), batch_size=2, sampler=sampler)), [])), sorted(sampler))
        self.assertEqual(ids(DataLoader(Numbers(), batch_size=2, sampler=[3, 1, 2], drop_last=True)), [[3, 1]])
        repeated = penstock.RepeatedSampler(Numbers(), 3)
        loader = DataLoader(Numbers(), batch_size=2, sampler=repeated)
        for epoch in range(2):
            self.assertEqual(sum(ids(loader), []), list(repeated.draw(epoch)))

    def test_batch_samplers_may_give_anything(self):
        lists = [[1, 2], [3], [4, 5, 6]]
        self.assertEqual(ids(DataLoader(Numbers(), batch_sampler=lists)), lists)
        keyed = Shaped(lambda key: key[0] + key[1])
        self.assertEqual([batch.tolist() for batch in DataLoader(keyed, batch_sampler=[[(1, 2)], [(3, 4), (5, 6)]])], [[3], [7, 11]])
        own = torch.utils.data.BatchSampler(range(7), 3, True)
        loader = DataLoader(Numbers(), batch_sampler=own)
        self.assertEqual((ids(loader), len(loader), loader.batch_size, loader.batch_sampler), ([[0, 1, 2], [3, 4, 5]], 2, None, own))

    def test_keys_that_are_no_numbers(self):
        names = Shaped(str.upper)
        self.assertEqual(list(DataLoader(names, sampler=["a", "b", "c"], batch_size=2)), [["A", "B"], ["C"]])
        self.assertEqual(list(DataLoader({"a": "x", "b": "y"}, sampler=["b", "a"], batch_size=None)), ["y", "x"])
        self.assertEqual(list(DataLoader(Shaped(lambda keys: sum(keys)), sampler=[[1, 2], [3]], batch_size=None)), [3, 3])

    def test_a_sampler_without_end(self):
        class Endless:
            def __iter__(self):
                return (number % 20 for number in range(10**9))

        loader = DataLoader(Numbers(), batch_size=2, sampler=Endless())
        got = []
        for batch, _ in zip(loader, range(1500)):
            got.append(batch[0].tolist())
        self.assertEqual(got, [[2 * n % 20, 2 * n % 20 + 1] for n in range(1500)])
        with self.assertRaises(TypeError):
            len(loader)

    def test_it_resumes_behind_any_part_of_it(self):
        class Endless:
            def __iter__(self):
                return iter(range(5000))  # longer than the dataset; its length is not known

        values = Shaped(lambda number: (number, random.random()), 5000)
        whole = [plain(batch) for batch in DataLoader(values, batch_size=2, sampler=Endless())]
        self.assertEqual(len(whole), 2500)
        self.assertEqual(len(set(map(str, whole))), 2500)
        for taken in (1, 1023, 1024, 1025, 2048, 2499):
            loader = DataLoader(values, batch_size=2, sampler=Endless())
            iterator = iter(loader)
            for _ in range(taken):
                next(iterator)
            other = DataLoader(values, batch_size=2, sampler=Endless())
            other.load_state_dict(loader.state_dict())
            self.assertEqual([plain(batch) for batch in other], whole[taken:], taken)


class StateTest(unittest.TestCase):
    def makers(self):
        yield lambda: DataLoader(Numbers(), batch_size=6, shuffle=True)
        yield lambda: DataLoader(Numbers(), batch_size=6, sampler=list(range(19, 0, -2)))
        yield lambda: DataLoader(Numbers(), batch_sampler=[[1, 2], [3], [4, 5, 6]])
        yield lambda: DataLoader(ByItems(), batch_size=3)
        yield lambda: DataLoader(Numbers(), batch_size=None)
        yield lambda: DataLoader(Stateful(), batch_size=3)

    def test_it_resumes_behind_each_batch_with_the_same_bytes(self):
        for make in self.makers():
            loader = make()
            epochs = [[plain(batch) for batch in loader] for _ in range(2)]
            self.assertNotEqual(epochs[0], epochs[1])
            for taken in range(len(epochs[0])):
                first = make()
                iterator = iter(first)
                for _ in range(taken):
                    next(iterator)
                for other in (make(), pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
                    other.load_state_dict(first.state_dict())
                    with self.subTest(loader=repr(first), taken=taken):
                        self.assertEqual([plain(batch) for batch in other], epochs[0][taken:])
                        self.assertEqual([plain(batch) for batch in other], epochs[1])

    def test_a_live_iterator_goes_on_at_a_loaded_state(self):
        loader = DataLoader(Numbers(), batch_size=6)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        expected = [plain(batch) for batch in iterator]
        loader.load_state_dict(state)
        self.assertEqual([plain(batch) for batch in loader], expected)

    def test_other_numbers_of_ranks_and_rows_resume_it(self):
        loader = DataLoader(Numbers(), batch_size=4, shuffle=True, rank=0, world_size=2)
        next(iter(loader))
        others = [DataLoader(Numbers(), batch_size=3, shuffle=True, rank=rank, world_size=4, last_batch="partial") for rank in range(4)]
        got = []
        for other in others:
            other.load_state_dict(loader.state_dict())
            got += sum(ids(other), [])
        self.assertEqual(sorted(got), sorted(PLAN["sample_at"](20, 0, 0, index) for index in range(8, 20)))

    def test_a_state_of_another_feed_is_refused(self):
        state = DataLoader(Numbers(), batch_size=4, shuffle=True).state_dict()
        for other in (DataLoader(Numbers(), batch_size=4), DataLoader(Numbers(21), batch_size=4, shuffle=True),
                      DataLoader(Numbers(), batch_size=4, shuffle=True, seed=1), DataLoader(Numbers(), batch_sampler=[[1]])):
            with self.assertRaisesRegex(penstock.FailedPrecondition, "another feed"):
                other.load_state_dict(state)
            self.assertEqual(other.state_dict()["consumed"], 0)

    def test_an_order_that_is_drawn_anew_must_be_the_same(self):
        generator = torch.Generator()

        def make(seed):
            generator.manual_seed(seed)
            return DataLoader(Numbers(), batch_size=4, sampler=torch.utils.data.RandomSampler(range(20), generator=generator))

        loader = make(5)
        iterator = iter(loader)
        next(iterator)
        state, rest = loader.state_dict(), [plain(batch) for batch in iterator]
        same = make(5)
        same.load_state_dict(state)
        self.assertEqual([plain(batch) for batch in same], rest)
        other = make(6)
        other.load_state_dict(state)
        with self.assertRaisesRegex(penstock.FailedPrecondition, "another order"):
            next(iter(other))

    def test_the_middle_of_an_iterable_dataset_without_states_is_refused(self):
        loader = DataLoader(Counting(), batch_size=3)
        next(iter(loader))
        with self.assertRaisesRegex(penstock.InvalidArgument, "state_dict and load_state_dict"):
            DataLoader(Counting(), batch_size=3).load_state_dict(loader.state_dict())

    def test_epochs(self):
        loader = DataLoader(Numbers(), batch_size=6, shuffle=True)
        first, second = ids(loader), ids(loader)
        self.assertEqual(loader.epoch, 2)
        loader.set_epoch(0)
        self.assertEqual(ids(loader), first)
        for _ in DataLoader(Numbers(), batch_size=6, shuffle=True):
            break
        loader.set_epoch(0)
        for _ in loader:
            break
        self.assertEqual(ids(loader), second)


class SeedTest(unittest.TestCase):
    def test_the_programs_generators_are_left_alone(self):
        for loader in (DataLoader(Numbers(), batch_size=6), DataLoader(Counting(), batch_size=6)):
            random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
            expected = random.random(), numpy.random.randn(), random.gauss(0, 1), float(torch.rand(()))
            random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
            list(loader)
            self.assertEqual((random.random(), numpy.random.randn(), random.gauss(0, 1), float(torch.rand(()))), expected)

    def test_samples_depend_on_seed_epoch_and_place_alone(self):
        def flat(**arguments):
            return [row for batch in DataLoader(Numbers(), shuffle=True, collate_fn=list, **arguments) for row in map(plain, batch)]

        self.assertEqual(flat(batch_size=3), flat(batch_size=7))
        self.assertNotEqual(flat(batch_size=3), flat(batch_size=3, seed=1))
        shares = [DataLoader(Numbers(), shuffle=True, collate_fn=list, batch_size=1, rank=rank, world_size=2) for rank in range(2)]
        dealt = [row for pair in zip(*shares) for batch in pair for row in map(plain, batch)]
        self.assertEqual(dealt, flat(batch_size=4))

    def test_a_generator_gives_the_seed(self):
        def order(seed):
            return sum(ids(DataLoader(Numbers(), shuffle=True, generator=torch.Generator().manual_seed(seed))), [])

        self.assertEqual(order(1), order(1))
        self.assertNotEqual(order(1), order(2))

    def test_a_sample_that_comes_twice_is_drawn_twice(self):
        rows = [plain(row) for batch in DataLoader(Numbers(), sampler=[7, 7, 7], collate_fn=list, batch_size=3) for row in batch]
        self.assertEqual(len({str(row) for row in rows}), 3)


class ErrorTest(unittest.TestCase):
    def test_an_exception_comes_as_it_is_and_the_next_batch_behind_it(self):
        for dataset in (Failing([4, 19]), Failing([4, 19], KeyError)):
            iterator = iter(DataLoader(dataset, batch_size=3))
            got = []
            while True:
                try:
                    got.append(next(iterator).tolist())
                except StopIteration:
                    break
                except (ValueError, KeyError) as error:
                    got.append(str(error))
                    self.assertEqual(type(error), dataset.error)
            self.assertEqual(len(got), 7)
            self.assertEqual((got[0], got[2]), ([0, 1, 2], [6, 7, 8]))
            self.assertIn("sample 4 is bad", got[1])
            self.assertIn("sample 19 is bad", got[6])

    def test_stop_iteration_of_a_sample_does_not_end_the_epoch_in_silence(self):
        with self.assertRaises(RuntimeError):
            list(DataLoader(Failing([4], StopIteration), batch_size=3))

    def test_replace_takes_other_samples_and_warns(self):
        loader = DataLoader(Failing([4, 6]), batch_size=5, on_error="replace")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = sum((batch.tolist() for batch in loader), [])
        substitute = [next(drawn for attempt in range(1, 100) if (drawn := PLAN["substitute_for"](20, 0, 0, bad, attempt)) not in (4, 6))
                      for bad in (4, 6)]
        self.assertEqual(got, [*range(4), substitute[0], 5, substitute[1], *range(7, 20)])
        self.assertEqual([each.category for each in caught], [penstock.BadSampleWarning] * 2)

    def test_too_many_bad_samples_end_it(self):
        with warnings.catch_warnings(), self.assertRaisesRegex(penstock.DataLoss, "too many bad samples"):
            warnings.simplefilter("ignore")
            list(DataLoader(Failing(range(5, 20)), batch_size=5, on_error="replace"))

    def test_arguments_are_refused_as_torch_refuses_them(self):
        numbers, stream = Numbers(), Counting()
        for arguments, words in (
                (dict(dataset=numbers, num_workers=-1), "num_workers option should be non-negative"),
                (dict(dataset=numbers, timeout=-1), "timeout option should be non-negative"),
                (dict(dataset=numbers, shuffle=True, sampler=[1]), "mutually exclusive with shuffle"),
                (dict(dataset=numbers, batch_sampler=[[1]], batch_size=2), "mutually exclusive"),
                (dict(dataset=numbers, batch_size=None, drop_last=True), "mutually exclusive with drop_last"),
                (dict(dataset=numbers, prefetch_factor=3), "could only be specified in multiprocessing"),
                (dict(dataset=numbers, persistent_workers=True), "needs num_workers > 0"),
                (dict(dataset=numbers, multiprocessing_context="fork"), "can only be used with multi-process loading"),
                (dict(dataset=numbers, num_workers=1, multiprocessing_context="bad"), "should specify a valid start method"),
                (dict(dataset=stream, shuffle=True), "expected unspecified shuffle option"),
                (dict(dataset=stream, sampler=[1]), "expected unspecified sampler option"),
                (dict(dataset=stream, batch_sampler=[[1]]), "expected unspecified batch_sampler option")):
            for kind in (DataLoader, Torch):
                if kind is Torch and "prefetch_factor" in arguments:
                    continue
                with self.subTest(kind=kind, words=words), self.assertRaisesRegex(ValueError, words):
                    kind(**arguments)

    def test_what_belongs_to_native_datasets_is_refused(self):
        for name, value in (("range", (0, 5)), ("row_info", True), ("fields", {"a": 1})):
            with self.assertRaisesRegex(penstock.InvalidArgument, f"{name} is for datasets that Penstock reads itself"):
                DataLoader(Numbers(), **{name: value})
        with self.assertRaisesRegex(penstock.InvalidArgument, "with __getitem__"):
            DataLoader(17)


class AttributesTest(unittest.TestCase):
    NAMES = ("dataset", "batch_size", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn",
             "multiprocessing_context", "generator", "persistent_workers", "pin_memory_device")

    def test_they_are_torchs(self):
        dataset = Numbers()
        for arguments in ({}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}, {"batch_sampler": [[1]]}):
            loader, expected = DataLoader(dataset, **arguments), Torch(dataset, **arguments)
            for name in self.NAMES:
                with self.subTest(name=name, **arguments):
                    self.assertEqual(getattr(loader, name), getattr(expected, name))

    def test_sampler_and_batch_sampler_tell_the_order_of_the_next_epoch(self):
        loader = DataLoader(Numbers(), batch_size=6, shuffle=True)
        for _ in range(2):
            told = list(loader.batch_sampler)
            self.assertEqual(list(loader.sampler), sum(told, []))
            self.assertEqual((len(loader.batch_sampler), len(loader.sampler)), (4, 20))
            self.assertEqual(ids(loader), told)

    def test_functions_may_be_set(self):
        loader = DataLoader(Numbers(), batch_size=20)
        loader.collate_fn = len
        self.assertEqual(list(loader), [20])
        with self.assertRaises(ValueError):
            loader.batch_size = 3

    def test_a_subclass_stays_one(self):
        self.assertEqual(list(Named(Shaped(int), batch_size=7))[0].tolist(), list(range(7)))
        loader = Named(Shaped(int), batch_size=7)
        self.assertIsInstance(loader, Named)
        self.assertEqual((loader.name, copy.deepcopy(loader).name), ("mine", "mine"))

    def test_pinning_without_a_gpu_does_nothing(self):
        if not torch.cuda.is_available():
            self.assertFalse(list(DataLoader(Numbers(), pin_memory=True))[0][0].is_pinned())
            with self.assertRaisesRegex(penstock.FailedPrecondition, "sees no GPU"):
                list(DataLoader(Numbers(), device="cuda"))


class Named(DataLoader):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.name = "mine"


class IterableTest(unittest.TestCase):
    def test_batches_are_those_of_torchs_loader(self):
        for arguments in ({"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
            with self.subTest(**arguments):
                got, expected = ([batch[0] for batch in kind(Counting(), **arguments)] for kind in (DataLoader, Torch))
                self.assertEqual([plain(batch) for batch in got], [plain(batch) for batch in expected])

    def test_length_is_the_datasets_and_a_longer_epoch_is_warned_of(self):
        class Sized(Counting):
            def __len__(self):
                return 10

        loader = DataLoader(Sized(), batch_size=3)
        self.assertEqual(len(loader), 4)
        with self.assertWarnsRegex(UserWarning, "Length of IterableDataset"):
            list(loader)
        with self.assertRaises(TypeError):
            len(DataLoader(Counting()))

    def test_epochs_draw_anew(self):
        loader = DataLoader(Counting(), batch_size=20)
        self.assertNotEqual(plain(list(loader)), plain(list(loader)))


if __name__ == "__main__":
    support.main()
