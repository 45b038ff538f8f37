"""Tests what a program is told when a batch takes too long, or its workers die or cannot start."""
import os
import resource
import signal
import time

from daemons import WorkersTest
from python_datasets import Shaped, support, torch

import penstock  # noqa: E402


class Stuck(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from range(6)
        time.sleep(60)


def stick(*_):
    time.sleep(60)


def stick_at_5(index):
    return stick() if index == 5 else index


def kill_itself(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def add_addresses(mebibytes):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))


class TimeoutTest(WorkersTest):
    def test_it_says_what_hung_with_whom_and_names_the_timeout(self):
        rows = torch.utils.data.default_collate
        for dataset, keywords, what in (
                (Shaped(stick_at_5, 8), dict(batch_size=4), r"sample 5 has been with Python worker \d \(pid \d+\) for \d s"),
                (Shaped(int, 8), dict(batch_size=4, collate_fn=stick), r"worked for \d s on the batch that begins with sample [04],.* collates it"),
                (Shaped(stick_at_5, 8), dict(batch_sampler=[[1, 2], [5, 4]]), r"on batch 1, samples \[5, 4\]"),
                (Shaped(stick_at_5, 8), dict(batch_size=None, sampler=[1, 5]), r"sample 5 has been with Python worker \d .*"),
                (Stuck(), dict(batch_size=4, num_workers=1, collate_fn=rows), r"on batch 1 \(stream 0\)")):
            with self.subTest(what=what), self.assertRaisesRegex(
                    TimeoutError, rf"DataLoader timed out after 4 seconds: .*{what}; give a longer timeout \(timeout=4\)"):
                list(self.loader(dataset, timeout=4, **keywords))


class DeathTest(WorkersTest):
    def test_signal_9_is_explained_and_the_batch_is_named(self):
        die = Shaped(lambda i: kill_itself() if i == 5 else i, 8)
        for keywords, what in ((dict(batch_size=4), "sample 5"), (dict(batch_sampler=[[1, 2], [5, 4]]), r"batch 1, samples \[5, 4\]"),
                               (dict(batch_size=8, collate_fn=kill_itself, dataset=Shaped(int, 8)), "the batch of 8 samples that begins with sample 0")):
            with self.subTest(what=what), self.assertRaisesRegex(
                    penstock.DataLoss, rf"worker is killed by signal: Killed: {what}: 2 worker processes died over it.*"
                                       r"signal 9 mostly means that memory ran out.*fewer workers \(num_workers=2\)"):
                list(self.loader(**{"dataset": die, **keywords}))

    def test_workers_that_cannot_begin_are_an_error_soon(self):
        for prepare, how in ((lambda _: os._exit(4), "ended with exit code 4"), (kill_itself, "killed by signal 9")):
            for workers in (1, 3):
                begun = time.monotonic()
                # Or some more, if several end at the same time.
                counts = "|".join(str(count) for count in range(2 * workers + 2, 3 * workers + 2))
                with self.assertRaisesRegex(penstock.FailedPrecondition, rf"the dataset: ({counts}) Python workers in a row ended "
                                                                         rf"before they began.*{how}.*worker_init_fn"):
                    list(self.loader(Shaped(int), worker_init_fn=prepare, num_workers=workers))
                self.assertLess(time.monotonic() - begun, 10)


class LimitTest(WorkersTest):
    def test_a_worker_without_addresses_is_an_error_that_names_the_limit(self):
        with self.assertRaisesRegex(penstock.FailedPrecondition, r"Cannot allocate memory.*ulimit -v"):
            list(self.loader(Shaped(int), worker_init_fn=lambda _: add_addresses(100)))

    def test_so_is_a_trainer_without_addresses_or_threads(self):
        had = resource.getrlimit(resource.RLIMIT_AS)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, had)
        for mebibytes in (50, 1000):
            add_addresses(mebibytes)
            with self.assertRaisesRegex(penstock.Error, "ulimit -v"):
                list(self.loader(Shaped(int)))
            self.assertEqual(len(list(self.loader(Shaped(int), num_workers=0))), 7)
            resource.setrlimit(resource.RLIMIT_AS, had)
        self.assertEqual(len(list(self.loader(Shaped(int, 9)))), 9)

    def test_a_user_without_processes_is_told_the_limit(self):
        if os.getuid() != 0:
            self.skipTest("only root can become a user without other processes")
        said = support.script(
            "import os, resource, torch, penstock\nfrom penstock.torch import DataLoader\n"
            "list(DataLoader(range(4)))\n"
            "from penstock._pydata import remote\n"
            "os.setgid(54321); os.setuid(54321)\n"
            "resource.setrlimit(resource.RLIMIT_NPROC, (len(os.listdir('/proc/self/task')) + 10,) * 2)\n"
            "try: list(DataLoader(range(4), num_workers=2))\n"
            "except penstock.ResourceExhausted as error: print(error)\n")
        self.assertRegex(said, r"the limit of processes and threads \(ulimit -u \d+\): only \d+ more")


class LongLookTest(WorkersTest):
    def test_a_dataset_that_takes_long_to_compare_is_mentioned_once(self):
        class Annotated(Shaped):
            pass

        dataset = Annotated(int, 8)
        dataset.annotations = [{"box": [i]} for i in range(300_000)]
        with self.assertLogs("penstock", "INFO") as logs:
            for _ in range(2):
                list(self.loader(dataset, batch_size=4))
            list(self.loader(dataset, batch_size=4, key="mine"))
        said = [line for line in logs.output if "comparing the dataset Annotated" in line]
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"takes \d\.\d s, before each epoch; give key=")


if __name__ == "__main__":
    support.main()
