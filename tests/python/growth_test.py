"""Memory, descriptors and threads do not grow over 10,000 batches."""
import os

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

BATCHES = 10_000


def resources():
    # Private_Clean is not counted: a library's pages become that when no other process maps it.
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        private = sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))
    return private, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


class GrowthTest(support.FeedTest):
    def test_ten_thousand_batches_leave_nothing_behind(self):
        loader = penstock.torch.DataLoader(self.photographs, batch_size=2, shuffle=True,
                                           transform=[penstock.RandomResizedCrop(8)])
        self.addCleanup(loader.close)
        taken, before = 0, None
        while taken < BATCHES:
            for batch in loader:
                taken += 1
            before = before or (resources() if taken >= 500 else None)
        after = resources()

        print(f"{taken} batches: private KiB, descriptors, threads: {before} before, {after} after")
        self.assertLess(after[0] - before[0], 1024)
        self.assertEqual(after[1:], before[1:])

    def test_sessions_leave_nothing_behind(self):
        def one(count):
            for _ in range(count):
                with penstock.torch.DataLoader(self.photographs, batch_size=50,
                                               transform=[penstock.RandomResizedCrop(8)]) as loader:
                    self.assertEqual(len(list(loader)), 2)

        one(20)
        before = resources()
        one(60)
        after = resources()

        print(f"60 loaders: private KiB, descriptors, threads: {before} before, {after} after")
        self.assertLess(after[0] - before[0], 2048)
        self.assertEqual(after[1], before[1])


if __name__ == "__main__":
    support.main()
