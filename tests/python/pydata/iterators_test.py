"""Tests what programs do with one loader of a Python dataset at once: several iterators, threads, copies; and torch's words."""
import contextlib
import copy
import gc
import itertools
import os
import pickle
import signal
import threading
import time
import warnings

from python_datasets import Counting, Failing, Numbers, Shaped, ids, plain, support, torch
from workers_test import WorkersTest, batches

import penstock  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402

EVERY = list(range(20))


def order_of(loader):
    return sum(ids(loader), [])


class SeveralTest(WorkersTest):
    def each(self, **keywords):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                yield self.loader(Numbers(), batch_size=5, shuffle=True, num_workers=workers, **keywords)

    def epochs(self, count):
        loader = self.loader(Numbers(), batch_size=5, shuffle=True, num_workers=0)
        return [order_of(loader) for _ in range(count)]

    def test_a_loader_zipped_with_itself_gives_two_epochs(self):
        first, second = self.epochs(2)
        for loader in self.each():
            pairs = [(one[0].tolist(), two[0].tolist()) for one, two in zip(loader, loader)]
            self.assertEqual((sum((one for one, _ in pairs), []), sum((two for _, two in pairs), [])), (first, second))
            self.assertEqual(loader.epoch, 2)

    def test_nested_loops(self):
        epochs = self.epochs(5)
        for loader in self.each():
            outer, inner = [], []
            for batch in loader:
                outer += batch[0].tolist()
                inner.append(order_of(loader))
            self.assertEqual((outer, inner), (epochs[0], epochs[1:5]))

    def test_streams_too(self):
        expected = [plain(batch[0]) for batch in torch.utils.data.DataLoader(Counting(), batch_size=3, num_workers=2)]
        loader = self.loader(Counting(), batch_size=3)
        got = [(plain(one[0]), plain(two[0])) for one, two in zip(loader, loader)]
        self.assertEqual(got, [(each, each) for each in expected])

    def test_loaders_that_are_left_early_leave_nothing_behind(self):
        for _ in range(30):
            loader = DataLoader(Counting(), batch_size=4, num_workers=3)
            self.assertEqual(next(iter(loader))[0].tolist(), [0, 3, 6, 9])
            loader.close()

    def test_the_workers_of_an_iterator_that_another_replaces_end(self):
        dataset = Shaped(lambda i: (i, os.getppid()), 20)
        loader = self.loader(dataset, batch_size=5)
        iterator = iter(loader)
        first = next(iterator)
        iterator = iter(loader)
        hosts = {int(host) for batch in iterator for host in batch[1]}
        self.assertEqual(len(hosts), 1)
        self.assertNotIn(int(first[1][0]), hosts)
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{int(first[1][0])}") and time.monotonic() < deadline:
            time.sleep(0.05)
            list(loader)  # ended hosts are reaped when a batch is taken
        self.assertFalse(os.path.exists(f"/proc/{int(first[1][0])}"))

    def test_a_loaded_state_is_where_the_newer_one_goes_on(self):
        for loader in self.each():
            iterator = iter(loader)
            next(iterator)
            state = loader.state_dict()
            expected = [plain(batch) for batch in iterator]
            iterator = iter(loader)
            next(iterator)
            loader.load_state_dict(state)
            self.assertEqual(batches(loader), expected)

    def test_persistent_workers_serve_one_iterator(self):
        loader = self.loader(Numbers(), batch_size=5, persistent_workers=True)
        older, newer = iter(loader), iter(loader)
        self.assertEqual(order_of(newer), EVERY)
        with self.assertRaisesRegex(penstock.Error, "no longer live"):
            next(older)

    def test_threads_over_one_loader_and_over_loaders_of_their_own(self):
        for shared in (True, False):
            for workers in (0, 2):
                make = lambda: self.loader(Numbers(), batch_size=5, shuffle=True, num_workers=workers)  # noqa: E731
                one, got, failed = make(), [], []

                def run(mine):
                    try:
                        for _ in range(3):
                            got.append(sorted(order_of(mine)))
                    except BaseException as error:
                        failed.append(error)

                threads = [threading.Thread(target=run, args=(one if shared else make(),)) for _ in range(3)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                with self.subTest(shared=shared, workers=workers):
                    self.assertEqual((failed, got), ([], [EVERY] * 9))

    def test_closing_ends_all(self):
        for loader in self.each():
            older, newer = iter(loader), iter(loader)
            next(older), next(newer)
            loader.close()
            for iterator in (older, newer):
                with self.assertRaisesRegex(penstock.Error, "the loader was closed"):
                    next(iterator)

    def test_copies_in_use_at_once(self):
        loader = self.loader(Numbers(), batch_size=5, shuffle=True)
        others = [loader, copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))]
        for other in others:
            self.addCleanup(other.close)
        first, = self.epochs(1)
        self.assertEqual([[batch[0].tolist() for batch in step] for step in zip(*others)],
                         [[first[at:at + 5]] * 4 for at in range(0, 20, 5)])

    def test_what_is_dropped_ends_its_processes(self):
        loader = DataLoader(Shaped(lambda _: (os.getpid(), os.getppid())), batch_size=None, num_workers=2)
        gc.collect()
        gc.disable()  # nothing keeps itself alive
        try:
            pids = {pid for pair in loader for pid in pair}
            del loader
            support.wait_until(lambda: not any(_runs(pid) for pid in pids), "the end")
        finally:
            gc.enable()


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class WordsTest(WorkersTest):
    """Types and words that programs look for in torch's errors."""

    def test_a_timeout(self):
        loader = self.loader(Shaped(lambda i: time.sleep(60)), timeout=1)
        with self.assertRaisesRegex(RuntimeError, "^DataLoader timed out after 1 seconds: ") as caught:
            next(iter(loader))
        self.assertIsInstance(caught.exception, TimeoutError)

    def test_dead_workers(self):
        for end, words in ((lambda: os.kill(os.getpid(), signal.SIGKILL), "DataLoader worker is killed by signal: "),
                           (lambda: os._exit(7), "DataLoader worker exited unexpectedly: .*exit code 7")):
            with self.assertRaisesRegex(RuntimeError, f"^{words}"):
                next(iter(self.loader(Shaped(lambda _: end()))))

    def test_an_error_in_each_batch_ends_nothing(self):
        iterator, errors = iter(self.loader(Failing(range(20)), batch_size=4)), 0
        for _ in range(5):
            with self.assertRaises(ValueError):
                next(iterator)
            errors += 1
        with self.assertRaises(StopIteration):
            next(iterator)

    def test_many_workers_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "excessive worker creation might get DataLoader running slow or even freeze"):
            DataLoader(Numbers(), num_workers=len(os.sched_getaffinity(0)) + 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            DataLoader(Numbers(), num_workers=1)

    def test_what_cannot_be_set_afterwards(self):
        loader = self.loader(Numbers(), batch_size=4)
        for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset", "persistent_workers"):
            with self.subTest(name=name), self.assertRaisesRegex(ValueError, name):
                setattr(loader, name, getattr(loader, name))

    def test_annotations(self):
        self.assertEqual(DataLoader[int].__origin__, DataLoader)
        self.assertEqual(order_of(DataLoader[list](Numbers(), batch_size=7)), EVERY)


class InWorkersTest(WorkersTest):
    def test_each_worker_has_a_seed_of_its_own(self):
        seen = []

        def prepare(_):
            seen.append((torch.initial_seed(), torch.utils.data.get_worker_info().seed))

        got = list(self.loader(Shaped(lambda _: seen[0], 64), batch_size=None, num_workers=2, worker_init_fn=prepare))
        self.assertTrue(all(one == other and 0 <= one < 2**63 for one, other in got))
        self.assertIsNone(torch.utils.data.get_worker_info())

    def test_those_that_replace_dead_ones_have_their_modes(self):
        def modes(i):
            return (torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
                    str(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype), os.getppid())

        kinds = {"none": contextlib.nullcontext, "no_grad": torch.no_grad, "inference": torch.inference_mode,
                 "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16)}
        for before, after in itertools.permutations(kinds, 2):
            with self.subTest(before=before, after=after):
                loader = self.loader(Shaped(modes, 512), batch_size=None, num_workers=1)
                with kinds[before]():
                    usual, iterator = modes(0), iter(loader)
                    *expected, host = next(iterator)
                self.assertEqual(expected, list(usual[:3]))
                os.kill(host, signal.SIGKILL)
                with kinds[after]():
                    mine = modes(0)
                    found = {tuple(each) for each in iterator}
                    self.assertEqual(modes(0), mine)
                self.assertEqual({each[:3] for each in found}, {usual[:3]})
                self.assertGreater(len(found | {(*usual[:3], host)}), 1, "the host was not replaced")
                loader.close()

    def test_a_sample_tells_torchs_seed_in_an_int64(self):
        seeds = torch.cat(list(self.loader(Shaped(lambda _: torch.initial_seed(), 64), batch_size=8)))
        self.assertEqual((len(set(seeds.tolist())), bool((seeds >= 0).all())), (64, True))

    def test_nested_tensors(self):
        def make(rows):
            return torch.nested.nested_tensor(rows)

        rows = [torch.full((i + 1, 2), float(i)) for i in range(6)]
        if not hasattr(torch, "nested") or not hasattr(torch, "jagged"):
            self.skipTest("this torch cannot send nested tensors between processes")
        got = list(self.loader(rows, batch_size=3, collate_fn=make))
        self.assertEqual([[plain(row) for row in batch.unbind()] for batch in got],
                         [[plain(row) for row in rows[at:at + 3]] for at in (0, 3)])

    def test_lists_of_keys_as_samples(self):
        class Bulk(Shaped):
            def __getitem__(self, keys):
                return torch.tensor(keys)

        lists = torch.utils.data.BatchSampler(range(10), 4, False)
        loader = self.loader(Bulk(int, 10), batch_size=None, sampler=lists)
        self.assertEqual([batch.tolist() for batch in loader], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        self.assertFalse(loader._auto_collation)

    def test_persistent_workers_keep_the_dataset_as_it_was(self):
        dataset = Numbers()
        dataset.mark = 1
        dataset.__class__ = type("Marked", (Numbers,), {"__getitem__": lambda self, index: self.mark})
        loader = self.loader(dataset, batch_size=20, persistent_workers=True)
        got = []
        for mark in (1, 2):
            dataset.mark = mark
            got += [set(batch.tolist()) for batch in loader]
        self.assertEqual(got, [{1}, {1}])

    def test_a_dataset_that_grows_between_epochs(self):
        for workers in (0, 2):
            rows = list(range(4))
            loader = self.loader(rows, shuffle=True, num_workers=workers)
            self.assertEqual(sorted(int(row) for row in loader), rows)
            rows.append(4)
            self.assertEqual((len(loader), len(loader.sampler)), (5, 5))
            self.assertEqual(sorted(int(row) for row in loader), rows)

    def each_length(self):
        """Whether epochs of a dataset that grows and shrinks are torch's, with persistent workers; and the workers' numbers."""
        results, pids = [], set()
        for kind in (torch.utils.data.DataLoader, self.loader):
            dataset, got = Shaped(lambda index: (index, os.getpid()), 4), []
            loader = kind(dataset, batch_size=2, num_workers=1, persistent_workers=True)
            for dataset.count in (4, 7, 2, 5):
                epoch = list(loader)
                got.append((len(loader), [batch[0].tolist() for batch in epoch]))
                if kind == self.loader:
                    pids |= {int(pid) for batch in epoch for pid in batch[1]}
            results.append(got)
        return results[0], results[1], pids

    def test_persistent_workers_of_a_dataset_that_grows_or_shrinks_stay(self):
        expected, got, pids = self.each_length()
        self.assertEqual((got, len(pids)), (expected, 1))
        for shuffle in (True, penstock.sampling.ShuffleWindow(2, shard_samples=2)):
            ours = self.loader(Shaped(int, 7), batch_size=2, num_workers=0, shuffle=shuffle)
            dataset = Shaped(int, 4)
            loader = self.loader(dataset, batch_size=2, shuffle=shuffle, persistent_workers=True)
            self.assertEqual(sorted(sum((batch.tolist() for batch in loader), [])), [0, 1, 2, 3])
            dataset.count = 7
            ours.set_epoch(1)
            self.assertEqual([batch.tolist() for batch in loader], [batch.tolist() for batch in ours])

    def test_persistent_workers_lack_what_was_added_later(self):
        rows = [0, 1]
        loader = self.loader(rows, num_workers=1, persistent_workers=True)
        self.assertEqual([int(row) for row in loader], rows)
        rows.append(2)
        iterator = iter(loader)
        self.assertEqual([int(next(iterator)), int(next(iterator))], [0, 1])
        self.assertRaises(IndexError, next, iterator)

    def test_persistent_workers_that_died_between_epochs_begin_with_the_dataset_as_it_is(self):
        dataset = Shaped(lambda index: os.getppid(), 4)
        loader = self.loader(dataset, num_workers=1, persistent_workers=True)
        host = int(next(iter(loader)))
        os.kill(host, signal.SIGKILL)
        while loader._remote._host.is_there:
            loader._remote._host.reap()
        dataset.count = 5
        self.assertEqual(len({int(row) for row in loader} - {host}), 1)
        self.assertEqual(len(list(loader)), 5)


if __name__ == "__main__":
    support.main()
