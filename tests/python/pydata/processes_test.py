"""Tests what the forked processes of a loader are: their signals, sessions, garbage, and loaders within samples."""
import multiprocessing
import os
import signal
import threading
from unittest import mock

from daemons import WorkersTest
from python_datasets import Counting, Shaped, plain, support, torch

import penstock  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402

Torch = torch.utils.data.DataLoader


def batches(loader):
    return [plain(batch) for batch in loader]


def sample_of_loader(index, **keywords):
    inner = DataLoader(Shaped(lambda i: (i, penstock.rng().random(), torch.rand(1)), 5), batch_size=2, shuffle=True, seed=index, **keywords)
    return [penstock.rng().random(), torch.rand(2), list(inner), penstock.rng().random(), torch.rand(2)]


class Chained(torch.utils.data.IterableDataset):
    """Goes on with another loader's batches."""

    def __iter__(self):
        for batch in DataLoader(Counting(5), batch_size=2):
            yield batch, torch.rand(1)


class ForksTest(WorkersTest):
    def test_ctrl_c_in_the_child_of_a_fork_makes_no_second_trainer(self):
        fork = os.fork

        def forked():
            child = fork()
            if child == 0:
                signal.raise_signal(signal.SIGINT)  # the terminal sends it to all
            return child

        with mock.patch("os.fork", forked):
            loader = self.loader(Shaped(int, 8), batch_size=4)
            self.assertEqual([batch.tolist() for batch in loader], [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_ctrl_c_while_the_host_is_forked_comes_when_the_loader_has_it(self):
        fork = os.fork

        def forked():
            child = fork()
            if child != 0 and os.getpid() == trainer:
                signal.raise_signal(signal.SIGINT)
            return child

        trainer, loader = os.getpid(), self.loader(Shaped(int, 8), batch_size=4)
        iterator = iter(loader)
        with mock.patch("os.fork", forked):
            self.assertRaises(KeyboardInterrupt, next, iterator)
        self.assertTrue(loader._remote._host.is_there)
        self.assertEqual([batch.tolist() for batch in iterator], [[0, 1, 2, 3], [4, 5, 6, 7]])


class LoadersWithinSamplesTest(WorkersTest):
    def test_a_sample_may_take_batches_that_its_process_makes(self):
        expected = batches(Torch(Shaped(lambda i: [b.tolist() for b in Torch(range(i, 7), batch_size=3)], 4), batch_size=None))
        for workers in (0, 2):
            dataset = Shaped(lambda i: [b.tolist() for b in DataLoader(range(i, 7), batch_size=3)], 4)
            self.assertEqual(batches(self.loader(dataset, batch_size=None, num_workers=workers)), expected)

    def test_bytes_do_not_depend_on_the_number_of_workers(self):
        for dataset in (Shaped(sample_of_loader, 6), Chained()):
            here, one = (batches(self.loader(dataset, batch_size=None, num_workers=workers)) for workers in (0, 1))
            self.assertEqual(here, one)
        first = self.loader(Shaped(sample_of_loader, 6), batch_size=None)
        for drawn, uniform, _, later, _ in first:
            self.assertNotEqual(drawn, later)  # the sample's own generator goes on behind the inner loader

    def test_nor_on_the_rank(self):
        dataset = Shaped(sample_of_loader, 6)
        expected = batches(self.loader(dataset, batch_size=None, rank=0, world_size=1))
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2", LOCAL_RANK="1"):
            self.assertEqual(batches(self.loader(dataset, batch_size=None, rank=0, world_size=1)), expected)

    def test_workers_of_workers_are_refused_in_torchs_words(self):
        with self.assertRaisesRegex(Exception, "daemonic processes are not allowed to have children"):
            list(Torch(Shaped(lambda i: list(Torch(range(3), num_workers=1))), num_workers=1))
        for inner in (lambda i: list(DataLoader(range(3), num_workers=1)),
                      lambda i: list(DataLoader(Counting(), num_workers=1))):
            with self.assertRaisesRegex(penstock.FailedPrecondition, "(?s)daemonic processes are not allowed to have children.*"
                                                                     "num_workers=1.*give num_workers=0"):
                list(self.loader(Shaped(inner)))

    def test_a_sample_of_this_process_may_have_workers(self):
        def make(index):
            with DataLoader(range(index, 4), batch_size=2, num_workers=1, timeout=30) as inner:
                return [batch.tolist() for batch in inner]

        self.assertEqual(list(self.loader(Shaped(make, 3), batch_size=None, num_workers=0)), [[[0, 1], [2, 3]], [[1, 2], [3]], [[2, 3]]])

    def test_what_a_dataset_collates_and_keeps_stays_as_it_is(self):
        kept = []

        def make(index):
            if not kept:
                kept.append(torch.utils.data.default_collate([torch.full((4,), 7.)] * 3))
            return torch.full((3, 4), float(index)), kept[0].sum()

        for _, total in self.loader(Shaped(make, 60), batch_size=4, num_workers=1):
            self.assertEqual(set(total.tolist()), {84.0})


class MultiprocessingTest(WorkersTest):
    def test_queues_and_proxies_that_the_trainer_has_used_work(self):
        with multiprocessing.Manager() as manager:
            queue, shared, total = multiprocessing.Queue(), manager.dict(), multiprocessing.Value("i", 0)
            queue.put(-1)  # begins a thread that its forked children do not have
            shared[-1] = -1  # makes a connection that they must not use

            def make(index):
                for again in range(20):
                    shared[index] = shared.get(index, 0) + 1
                    if shared[index] != again + 1:
                        raise AssertionError("another process's answer")
                with total.get_lock():
                    total.value += index
                queue.put(index)
                return len(multiprocessing.active_children())

            loader = self.loader(Shaped(make, 12), batch_size=2, persistent_workers=True)
            self.assertEqual([batch.tolist() for batch in loader], [[0, 0]] * 6)
            self.assertEqual(sorted(queue.get(timeout=10) for _ in range(13)), list(range(-1, 12)))
            self.assertEqual(dict(shared), {-1: -1, **{index: 20 for index in range(12)}})
            self.assertEqual(total.value, sum(range(12)))


    def test_what_the_last_samples_put_into_a_queue_arrives(self):
        for size in (1, 1 << 20):
            queue = multiprocessing.Queue()
            dataset = Shaped(lambda index: queue.put((index, b"x" * size)) or index, 8)
            for _ in range(5):
                loader = self.loader(dataset, batch_size=2)
                iterator = iter(loader)
                got = []
                reader = threading.Thread(target=lambda: got.extend(queue.get(timeout=10)[0] for _ in range(8)))
                reader.start()
                list(iterator)
                loader.close()
                reader.join()
                self.assertEqual(sorted(got), list(range(8)))


class SessionsTest(WorkersTest):
    def test_a_worker_may_begin_a_session_or_a_process_group(self):
        for leads, begin in ((True, lambda: os.setsid()), (False, lambda: os.setpgid(0, 0)),
                             (False, lambda: os.setpgid(0, os.getpgid(os.getppid()))), (False, os.setpgrp)):
            for keywords in (dict(worker_init_fn=lambda place: begin()), {}):
                begun = []

                def make(index):
                    if not begun and not keywords:
                        begin()
                        begun.append(True)
                    return index, os.getpid() == os.getsid(0)

                got = list(self.loader(Shaped(make, 8), batch_size=4, **keywords))
                self.assertEqual([batch[0].tolist() for batch in got], [[0, 1, 2, 3], [4, 5, 6, 7]])
                self.assertEqual({lead for batch in got for lead in batch[1].tolist()}, {leads})

    def test_a_session_behind_started_processes_is_refused_in_words(self):
        def make(index):
            if os.fork() == 0:
                signal.pause()
            os.setsid()

        with self.assertRaisesRegex(PermissionError, "(?s)processes that it has started are in its process group"):
            list(self.loader(Shaped(make)))


class SignalsTest(WorkersTest):
    def test_they_do_what_they_do_in_torchs_workers(self):
        numbers = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGALRM, signal.SIGINT, signal.SIGCHLD)

        def handle(number, frame):
            raise AssertionError("this process gets no such signal")

        def make(_):
            return [getattr(signal.getsignal(number), "__name__", str(signal.getsignal(number))) for number in numbers]

        for action in (signal.SIG_IGN, signal.SIG_DFL, handle):
            for number in numbers[:4]:
                self.addCleanup(signal.signal, number, signal.signal(number, action))
            expected, got = (list(kind(Shaped(make, 1), batch_size=None, num_workers=1, timeout=30)) for kind in (Torch, DataLoader))
            self.assertEqual(got[0][:5], expected[0][:5])  # torch has a handler of its own for SIGCHLD

    def test_sigterm_ends_a_worker_whatever_the_trainer_does(self):
        self.addCleanup(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, lambda *_: None))
        with self.assertRaisesRegex(penstock.DataLoss, "signal 15"):
            list(self.loader(Shaped(lambda _: os.kill(os.getpid(), signal.SIGTERM))))


class GarbageTest(WorkersTest):
    def test_the_trainers_objects_are_finalised_in_the_trainer_alone(self):
        said = support.script(
            "import atexit, gc, os, sys, tempfile, threading, torch, weakref\nfrom penstock.torch import DataLoader\n"
            "log, trainer = sys.argv[1], os.getpid()\n"
            "def note(what):\n"
            "    with open(log, 'a') as file: file.write(f'{what} {os.getpid() == trainer}\\n')\n"
            "class Owned:\n"
            "    def __init__(self): self.me = self\n"
            "    def __del__(self): note('deleted')\n"
            "atexit.register(note, 'at exit')\n"
            "class D(torch.utils.data.Dataset):\n"
            "    def __len__(self): return 40\n"
            "    def __getitem__(self, i):\n"
            "        gc.collect(); return [[] for _ in range(2000)] and i\n"
            "folder = tempfile.TemporaryDirectory()\n"
            "held = Owned(); weakref.finalize(held, note, 'finalised')\n"
            "gc.set_threshold(10)\n"
            "for again in range(5):\n"
            "    gc.disable()\n"
            "    for _ in range(20): Owned()\n"
            "    for sample in DataLoader(D(), batch_size=4, num_workers=2, timeout=30): pass\n"
            "    assert os.path.exists(folder.name) and not gc.isenabled()\n"
            "    gc.enable()\n"
            "    for sample in DataLoader(D(), batch_size=4, num_workers=2, timeout=30): pass\n"
            "    assert gc.isenabled()\n"
            "del held; gc.collect()\n"
            "print('done')\n", f"{self.folder}/finalised")
        self.assertEqual(said, "done\n")
        with open(f"{self.folder}/finalised") as file:
            lines = file.read().splitlines()
        self.assertEqual(set(lines), {"deleted True", "at exit True", "finalised True"})
        self.assertEqual(lines.count("deleted True"), 101)


if __name__ == "__main__":
    support.main()
