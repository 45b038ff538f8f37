"""Tests that reference counting alone frees a loader that the program drops: its threads, descriptors and processes."""
import contextlib
import gc
import os
import time

from daemons import WorkersTest
from python_datasets import Counting, Numbers, Shaped, Stateful, support, torch

from penstock._pydata import hosts  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402


def fail(_):
    raise ValueError("no sample")


def held():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        children = len(file.read().split())
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")), "children": children}


def whole(loader):
    list(loader)


def in_the_middle(loader):
    iterator = iter(loader)
    next(iterator), next(iterator)


def abandoned(loader):
    for _ in loader:
        break


def two_iterators(loader):
    first = iter(loader)
    next(first)
    next(iter(loader))


def never_begun(loader):
    iter(loader)


def after_an_error(loader):
    with contextlib.suppress(ValueError):
        next(iter(loader))


def with_a_batch_kept(loader):
    return [next(iter(loader))]


class DroppingTest(WorkersTest):
    MAKERS = {
        "map-style": lambda **keywords: DataLoader(Numbers(), batch_size=2, shuffle=True, **keywords),
        "sampler": lambda **keywords: DataLoader(Numbers(), sampler=torch.utils.data.RandomSampler(Numbers()), **keywords),
        "batch sampler": lambda **keywords: DataLoader(Numbers(), batch_sampler=[[1, 2], [3], [4]], **keywords),
        "iterable": lambda **keywords: DataLoader(Counting(), batch_size=2, **keywords),
        "stateful": lambda **keywords: DataLoader(Stateful(), batch_size=2, **keywords),
        "raising": lambda **keywords: DataLoader(Shaped(fail), batch_size=2, **keywords),
    }
    USES = (whole, in_the_middle, abandoned, two_iterators, never_begun, with_a_batch_kept)

    def setUp(self):
        warm = DataLoader(Numbers(), num_workers=2, timeout=30)
        list(warm)
        warm.close()
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        support.wait_until(lambda: not hosts._awaits, "the thread that reaps to end")
        time.sleep(0.1)  # it has still to leave
        # The daemon is a child, too.
        support.wait_until(lambda: held()["children"] == 1, "the first loader's host to be reaped")

    def check(self, use, loader):
        before = held()
        kept = use(loader())
        del kept
        deadline = time.monotonic() + 5
        while held() != before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(held(), before)

    def test_of_each_kind(self):
        for name, make in self.MAKERS.items():
            for keywords in (dict(num_workers=2, timeout=30), dict(num_workers=2, timeout=30, persistent_workers=True), {}):
                for use in (after_an_error,) if name == "raising" else self.USES:
                    with self.subTest(name=name, use=use.__name__, **keywords):
                        self.check(use, lambda: make(**keywords))

    def test_a_closed_loader_leaves_no_zombie(self):
        before = held()
        loader = DataLoader(Numbers(), num_workers=2, timeout=30)
        list(loader)
        loader.close()
        support.wait_until(lambda: held() == before, "the host to be reaped", seconds=5)


if __name__ == "__main__":
    support.main()
