"""What Python adds to a batch. Runs alone: it measures time."""
import statistics
import time

import support

support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402


class CostTest(support.FeedTest):
    def test_a_ready_batch_costs_python_little(self):
        """The time of a step beyond the C++ client's own: rows of one pixel, so that nothing else counts."""
        loader = penstock.torch.DataLoader(self.photographs, batch_size=1, shuffle=True, prefetch_factor=64,
                                           transform=[penstock.RandomResizedCrop(1)])
        self.addCleanup(loader.close)
        iterator = iter(loader)
        next(iterator)
        limit = 30e-6  # the goal is half of it; a busy machine has room, and more tries
        medians = []
        while len(medians) < 8 or (min(medians) > limit and len(medians) < 80):
            time.sleep(0.1)  # until the window is ready
            burst = []
            for _ in range(12):
                begin = time.perf_counter()
                next(iterator)
                burst.append(time.perf_counter() - begin)
            medians.append(statistics.median(burst))
        took = min(medians)  # what else the machine does only adds to it

        print(f"a ready batch of one pixel: {took * 1e6:.1f} us (goal: 15)")
        self.assertLess(took, limit)


if __name__ == "__main__":
    support.main()
