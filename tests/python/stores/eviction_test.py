"""A set twice as large as the cache: hits beside those that Belady's rule could have, counted at the store."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from stores import datasets  # noqa: E402

support.need("numpy")
import penstock  # noqa: E402

SAMPLES = 240
SIZES = [len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES)]
MIB = 1 << 20
CTL = pathlib.Path(os.environ["PENSTOCK_BIN"]) / "penstockctl"
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


class EvictionCase(loader_test.StoreTest):
    room = ROOM

    def run_epochs(self, loader, epochs):
        """The samples in the order in which they were read, and how many were fetched."""
        subprocess.run([CTL, "--address", self.daemon.address, "index", loader_test.URL], check=True, capture_output=True)
        self.proxy.reset_counts()
        reads = []
        for _ in range(epochs):
            for batch in loader:
                reads += [int(sample) for sample in batch.sample_ids]
        return reads, self.proxy.counts()["get"]

    def expect_near(self, reads, fetched, ahead):
        """`ahead`: samples of the epoch that had begun to be fetched at the end."""
        hits = len(reads) - len(belady(reads, self.room * MIB))
        here = len(reads) - (fetched - ahead)
        # Blocks of the disk and the index take some of the room.
        self.assertGreaterEqual(here, 0.95 * hits, f"{here} of {len(reads)}; Belady's rule has {hits}")
        print(f"{here} hits of {len(reads)} reads; Belady's rule has {hits}", file=sys.stderr)
        on_disk = sum(path.stat().st_blocks * 512 for path in (pathlib.Path(self.scratch.name) / "cache").iterdir())
        self.assertLessEqual(on_disk, self.room * MIB + MIB)


class OneFeedTest(EvictionCase):
    cache_max = f"{ROOM}MiB"

    def test_of_a_set_twice_as_large_nearly_all_hits_that_are_to_be_had(self):
        loader = self.loader(transform=loader_test.CROPS, seed=21)
        self.expect_near(*self.run_epochs(loader, 4), ahead=2 * loader_test.BATCH)


class OneRankTest(EvictionCase):
    room = ROOM // 2
    cache_max = f"{room}MiB"

    def test_a_rank_of_many_keeps_what_its_next_epochs_need(self):
        # What a node with one of four ranks reads differs from epoch to epoch.
        loader = penstock.Loader(loader_test.URL, batch_size=10, shuffle=True, seed=22, transform=loader_test.CROPS, rank=0,
                                 world_size=4, timeout=60)
        self.addCleanup(loader.close)
        reads, fetched = self.run_epochs(loader, 14)
        self.assertEqual(len(reads), 14 * SAMPLES // 4)
        self.expect_near(reads, fetched, ahead=20)


if __name__ == "__main__":
    support.main()
