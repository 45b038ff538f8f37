"""A set twice as large as the cache: hits beside those that Belady's rule could have, counted at the store."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from stores import datasets  # noqa: E402

support.need("numpy")
import penstock  # noqa: E402

SAMPLES, EPOCHS = 240, 4
SIZES = [len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES)]
MIB = 1 << 20
ROOM = sum(SIZES) // 2 // MIB


def belady(reads, room):
    """The bytes that are not hits, of a cache that always holds what is read soonest."""
    following, later = [0] * len(reads), {}
    for place in range(len(reads) - 1, -1, -1):
        following[place] = later.get(reads[place], 1 << 60)
        later[reads[place]] = place
    held, used, missed = {}, 0, []
    for place, sample in enumerate(reads):
        if sample not in held:
            missed.append(sample)
            used += SIZES[sample]
        held[sample] = following[place]
        while used > room:
            last = max(held, key=held.get)
            used -= SIZES[last]
            del held[last]
    return missed


class EvictionTest(loader_test.StoreTest):
    cache_max = f"{ROOM}MiB"

    def run_epochs(self, loaders):
        """Reads epochs of all loaders in turn: (samples in the order in which they were read, samples fetched)."""
        reads = []
        self.proxy.reset_counts()
        for _ in range(EPOCHS):
            for batches in zip(*loaders):
                for batch in batches:
                    reads += [int(sample) for sample in batch.sample_ids]
        return reads, self.proxy.counts()["get"]

    def test_of_one_feed_nearly_all_hits_that_are_to_be_had(self):
        loader = self.loader(transform=loader_test.CROPS, seed=21)
        next(iter(loader))  # indexed
        reads, fetched = self.run_epochs([loader])
        self.expect_near(reads, fetched)

    def test_a_rank_of_many_keeps_what_its_next_epochs_need(self):
        # What a node with one of three ranks reads differs from epoch to epoch.
        loader = penstock.Loader(loader_test.URL, batch_size=16, shuffle=True, seed=22, transform=loader_test.CROPS, rank=0,
                                 world_size=3, timeout=60)
        self.addCleanup(loader.close)
        next(iter(loader))
        reads, fetched = self.run_epochs([loader])
        self.assertLess(len(reads), SAMPLES * EPOCHS / 2)
        self.expect_near(reads, fetched)

    def expect_near(self, reads, fetched):
        hits = len(reads) - len(belady(reads, ROOM * MIB))
        here = len(reads) - fetched
        # Blocks of the disk and the index take some of the room.
        self.assertGreaterEqual(here, 0.95 * hits - loader_test.BATCH, f"{here} of {len(reads)}; Belady's rule has {hits}")
        on_disk = sum(path.stat().st_blocks * 512 for path in (pathlib.Path(self.scratch.name) / "cache").iterdir())
        self.assertLessEqual(on_disk, ROOM * MIB + MIB)


if __name__ == "__main__":
    support.main()
