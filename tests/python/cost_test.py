"""Measures what Python adds to a batch. Runs alone."""
import statistics
import time

import support

support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402


class CostTest(support.FeedTest):
    def test_a_ready_batch_costs_python_little(self):
        """Measures a step's time beyond the C++ client's own. Rows of one pixel make other costs negligible."""
        loader = penstock.torch.DataLoader(self.photographs, batch_size=1, shuffle=True, prefetch_factor=64,
                                           transform=[penstock.RandomResizedCrop(1)])
        self.addCleanup(loader.close)
        iterator = iter(loader)
        next(iterator)
        limit = 30e-6  # the goal is half of this; the rest allows for a busy machine, as do more tries
        medians = []
        while len(medians) < 8 or (min(medians) > limit and len(medians) < 80):
            time.sleep(0.1)  # until the window is ready
            burst = []
            for _ in range(12):
                begin = time.perf_counter()
                next(iterator)
                burst.append(time.perf_counter() - begin)
            medians.append(statistics.median(burst))
        took = min(medians)  # other load only adds to the time

        print(f"a ready batch of one pixel: {took * 1e6:.1f} us (goal: 15)")
        self.assertLess(took, limit)


if __name__ == "__main__":
    support.main()
