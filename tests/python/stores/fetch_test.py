"""How a daemon asks a store: indexing by large ranges, what it reports, and what it says when a store is slow."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import support  # noqa: E402  (finds the package)
import loader_test  # noqa: E402
from loader_test import SAMPLES, URL  # noqa: E402
from penstock import _penstock  # noqa: E402


class FetchTest(loader_test.StoreTest):
    def status(self):
        words = [support.program("penstockctl"), "--address", self.daemon.address, "-o", "json", "status"]
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def index(self, url=URL):
        _penstock.Client.connect(address=self.daemon.address).describe(url)

    def events(self, name):
        return [line for line in self.log().splitlines() if f"event={name} " in line]

    def shard_bytes(self):
        return sum(path.stat().st_size for path in self.shards.iterdir())


class IndexingTest(FetchTest):
    def test_an_index_takes_few_requests_and_no_byte_twice(self):
        self.proxy.add("latency", ms=30)
        self.index()
        counts = self.proxy.counts()
        self.assertLess(counts["requests"], SAMPLES / 2, "it is no request a sample")
        self.assertGreater(counts["most_under_way"], 4, "several are under way for each shard")
        self.assertLessEqual(counts["bytes"], 1.01 * self.shard_bytes())

    def test_faults_while_it_indexes_do_no_harm(self):
        whole = self.epoch(self.loader(self.shards))
        self.store.put_folder("faulty", self.shards)
        for fault, fields in (("slow_down", {"share": 0.3, "count": 20}), ("truncate", {"share": 0.2, "after_bytes": 3000}),
                              ("reset", {"share": 0.2, "after_bytes": 5000})):
            self.proxy.add(fault, method="GET", path="faulty", **fields)
        self.index("s3://faulty/{000000..000003}.tar")
        self.assertGreater(sum(self.proxy.counts()["faults"].values()), 3)
        self.proxy.clear()
        self.expect_equal(self.epoch(self.loader("s3://faulty/{000000..000003}.tar")), whole)


class CachedIndexTest(FetchTest):
    cache_max = "1GiB"

    def test_the_first_epoch_uses_what_indexing_read(self):
        whole = self.epoch(self.loader(self.shards))
        self.expect_equal(self.epoch(self.loader()), whole)
        read = self.proxy.counts()["bytes"]
        self.assertLessEqual(read, 1.02 * self.shard_bytes())
        self.assertGreaterEqual(read, 0.98 * self.shard_bytes())
        stores = self.status()["stores"]
        no_index = read - int(stores["read_bytes"])  # the store's words that a shard has none beside it
        self.assertGreater(no_index, 0)
        self.assertLess(no_index, 4 * 1000)
        self.assertGreaterEqual(int(stores["cache"]["hits"]), SAMPLES)
        self.assertEqual(int(stores["cache"]["refused"]), 0)


class BrokenCacheTest(FetchTest):
    cache_max = "1GiB"

    def test_a_cache_that_cannot_be_used_is_said_once_and_the_feed_goes_on(self):
        self.index()
        cache = pathlib.Path(os.environ["PENSTOCK_STORE_CACHE"])
        shutil.rmtree(cache)
        cache.write_text("in the way of a new one")
        self.store.put_folder("later", self.shards)
        for shard in range(4):
            self.index(f"s3://later/00000{shard}.tar")
        self.assertEqual(len(self.epoch(self.loader("s3://later/000000.tar"))[0]), loader_test.SHARD)
        time.sleep(1)
        self.assertEqual(len(self.events("store_cache_failed")), 1, self.log())


class FullCacheTest(FetchTest):
    cache_max = "4MiB"

    def test_a_full_cache_is_said_once(self):
        for seed in (5, 6):
            self.epoch(self.loader(seed=seed))
        time.sleep(1)
        self.assertEqual(len(self.events("store_cache_full")), 1, self.log())
        self.assertGreater(int(self.status()["stores"]["cache"]["refused"]), 0)


class SlowStoreTest(FetchTest):
    def test_the_verdict_names_the_store_and_its_rate(self):
        self.index()
        self.proxy.add("bandwidth", bytes_per_s=3_000_000)
        loader, words = self.loader(), ""
        wanted = re.compile(r"the store is the bottleneck: [234]\.\d MB/s, \d+ requests? under way")
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and not wanted.search(words):  # the rate is a mean of some seconds
            for batch in loader:
                del batch
                words = self.status()["feeds"][0]["verdict"]
                if wanted.search(words):
                    break
        self.assertRegex(words, wanted)


class StatusTest(FetchTest):
    def test_a_daemon_that_read_no_store_says_nothing_of_stores(self):
        self.epoch(self.loader(self.shards))
        self.assertNotIn("stores", self.status())


if __name__ == "__main__":
    support.main()
