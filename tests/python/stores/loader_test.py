"""Feeds from shards in an object store, beside the same shards in a folder: against a server that checks signatures, through a
proxy that makes faults."""
import itertools
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "targets"))
import reference  # noqa: E402  (writes records)
from stores import datasets, fault_proxy, servers  # noqa: E402

numpy = support.need("numpy")
import penstock  # noqa: E402
from penstock import _penstock  # noqa: E402

SAMPLES, SHARD, BATCH = 240, 60, 32
URL = "s3://photos/train/{000000..000003}.tar"
CROPS = [penstock.RandomResizedCrop(48), penstock.HorizontalFlip()]


def clean_environment():
    foreign = ("AWS_", "GCS_", "PENSTOCK_STORE_")
    for name in [name for name in os.environ if name.startswith(foreign) or name.lower().endswith("_proxy")]:
        del os.environ[name]


def make_shards(cls):
    """Gives the test class `scratch`, a folder, and `shards` in it."""
    cls.scratch = tempfile.TemporaryDirectory(prefix="penstock-stores-")
    cls.addClassCleanup(cls.scratch.cleanup)
    cls.shards = datasets.tar_shards(pathlib.Path(cls.scratch.name) / "shards", SAMPLES, SHARD)


class StoreTest(unittest.TestCase):
    cache_max = ""  # "": there is no cache
    token = None    # that the store wants

    @classmethod
    def setUpClass(cls):
        clean_environment()
        make_shards(cls)
        folder = pathlib.Path(cls.scratch.name)
        cls.store = servers.FileStore(public=("open",), token=cls.token)
        cls.addClassCleanup(cls.store.close)
        cls.store.put_folder("photos", cls.shards, prefix="train/")
        cls.store.put_folder("open", cls.shards)
        cls.proxy = fault_proxy.FaultProxy(cls.store.address)
        cls.addClassCleanup(cls.proxy.close)
        os.environ.update(cls.store.environment())
        os.environ["AWS_ENDPOINT_URL"] = cls.proxy.endpoint
        if cls.cache_max:
            os.environ.update(PENSTOCK_STORE_CACHE=str(folder / "cache"), PENSTOCK_STORE_CACHE_MAX=cls.cache_max)
        cls.prepare_environment()
        (folder / "daemon").mkdir(mode=0o700)
        cls.daemon = support.Daemon(folder / "daemon")
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.environ["PENSTOCK_ADDRESS"] = cls.daemon.address

    @classmethod
    def prepare_environment(cls):
        """Changes the environment before the daemon starts."""

    def setUp(self):
        self.proxy.clear()
        self.proxy.reset_counts()

    def loader(self, dataset=URL, **options):
        loader = penstock.Loader(str(dataset), batch_size=BATCH, timeout=60,
                                 **{"shuffle": True, "seed": 3, "transform": CROPS, **options})
        self.addCleanup(loader.close)
        return loader

    def epoch(self, loader):
        """(ids, labels, images) of an epoch."""
        found = [(batch.sample_ids.copy(), batch["label"].copy(), batch["image"].copy()) for batch in loader]
        return [numpy.concatenate(part) for part in zip(*found)]

    def log(self):
        return (pathlib.Path(self.scratch.name) / "daemon" / "log").read_text()

    def expect_equal(self, one, other):
        for here, there in zip(one, other):
            numpy.testing.assert_array_equal(here, there)


class EqualTest(StoreTest):
    def test_a_feed_has_the_bytes_of_the_same_shards_in_a_folder(self):
        remote, local = self.loader(), self.loader(self.shards)
        for _ in range(2):  # epochs
            self.expect_equal(self.epoch(remote), self.epoch(local))

    def test_tfrecords_have_the_bytes_of_the_same_files_in_a_folder(self):
        records = pathlib.Path(self.scratch.name) / "records"
        records.mkdir()
        for shard in range(SAMPLES // SHARD):
            with open(records / f"train-{shard:05}-of-00004", "wb") as file:
                for _, jpeg, label in itertools.islice(datasets.numbered(SAMPLES), shard * SHARD, (shard + 1) * SHARD):
                    features = reference.feature("image/encoded", jpeg) + reference.integers("image/class/label", [label])
                    file.write(reference.record(reference.field(1, features)))
        self.store.put_folder("records", records)
        names = "train-{00000..00003}-of-00004"
        remote, local = self.loader(f"s3://records/{names}"), self.loader(records / names)
        self.expect_equal(self.epoch(remote), self.epoch(local))

    def test_a_folder_stands_for_its_shards(self):
        strange = [f"s3://strange/a b+c&d/{name}" for name in ("x.txt", "below/000000.tar", "._000000.tar")]
        for path in self.shards.iterdir():
            self.store.put("strange", f"a b+c&d/{path.name}", path.read_bytes())
        for url in strange:
            self.store.put("strange", url.removeprefix("s3://strange/"), b"no shard")
        for folder in ("s3://photos/train/", "s3://strange/a b+c&d/"):
            with self.subTest(folder):
                self.expect_equal(self.epoch(self.loader(folder)), self.epoch(self.loader(self.shards)))

    def test_a_list_in_braces_is_expanded(self):
        url = "s3://photos/train/{000000.tar,000001.tar,000002.tar,000003.tar}"
        self.expect_equal(self.epoch(self.loader(url)), self.epoch(self.loader(self.shards)))

    def test_plain_http_is_read_without_keys(self):
        url = self.proxy.endpoint + "/open/{000000..000003}.tar"
        self.expect_equal(self.epoch(self.loader(url)), self.epoch(self.loader(self.shards)))

    def test_a_feed_is_resumed_in_the_middle_of_an_epoch(self):
        whole = self.epoch(self.loader())
        first = self.loader()
        batches = iter(first)
        begin = [next(batches).sample_ids.copy() for _ in range(3)]
        state = first.state_dict()
        first.close()
        second = self.loader()
        second.load_state_dict(state)
        rest = [batch.sample_ids.copy() for batch in second]
        numpy.testing.assert_array_equal(numpy.concatenate(begin + rest), whole[0])


class RequestsTest(StoreTest):
    def test_bytes_are_read_once_and_many_at_a_time(self):
        loader = self.loader()
        self.epoch(loader)  # indexed, and its pieces are read
        self.proxy.reset_counts()
        self.proxy.add("latency", ms=30)
        begun = time.monotonic()
        self.epoch(loader)
        took, counts = time.monotonic() - begun, self.proxy.counts()
        photographs = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
        self.assertGreaterEqual(counts["most_under_way"], 24, counts)
        # The epoch's first batches were fetched before, and the next one has begun when it ends.
        self.assertLess(counts["bytes"], 2.05 * photographs)
        self.assertGreater(counts["bytes"], 0.5 * photographs)
        self.assertLess(took, SAMPLES * 0.03 / 4, "requests one after the other would take 7 s")

    def test_nothing_is_fetched_for_rows_that_are_kept(self):
        loader = self.loader(transform=[penstock.Resize(40), penstock.CenterCrop(40)])
        first = self.epoch(loader)
        next(iter(loader))  # the batches that were begun ahead are there
        self.proxy.reset_counts()
        for _ in range(2):
            self.epoch(loader)
        photographs = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
        self.assertLess(self.proxy.counts()["bytes"], 0.1 * photographs)
        self.assertEqual(len(first[0]), SAMPLES)

    def test_a_cached_index_is_used(self):
        self.epoch(self.loader())
        self.daemon.kill()
        self.daemon.start()
        self.epoch(self.loader())
        opened = [line for line in self.log().splitlines() if "event=dataset_opened" in line and f"={URL} " in line]
        self.assertGreaterEqual(len(opened), 2)
        self.assertIn("from_cache=true", opened[-1])


class CacheTest(StoreTest):
    cache_max = "1GiB"

    def bytes_of_epoch(self, loader, whole):
        self.proxy.reset_counts()
        self.expect_equal(self.epoch(loader), whole)
        return self.proxy.counts()["bytes"]

    def test_what_was_read_once_is_not_read_again(self):
        local = self.loader(self.shards)
        whole, later = self.epoch(local), self.epoch(local)
        loader = self.loader()
        photographs = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
        with self.subTest("the first epoch reads all, and little more for the index"):
            read = self.bytes_of_epoch(loader, whole)
            self.assertGreaterEqual(read, photographs)
            self.assertLess(read, 1.06 * photographs)
        with self.subTest("the second one nothing"):
            self.assertEqual(self.bytes_of_epoch(loader, later), 0)
        loader.close()
        with self.subTest("a daemon that was killed has lost nothing"):
            self.daemon.kill()
            self.daemon.start()
            self.assertEqual(self.bytes_of_epoch(self.loader(), whole), 0)
        with self.subTest("damaged bytes are read again"):
            self.daemon.kill()  # so that no batch is left, and nobody reads half of what is written here
            [data] = [path for path in pathlib.Path(self.scratch.name, "cache").glob("*.data")][:1]
            content = bytearray(data.read_bytes())
            for at in range(len(content) // 4, len(content) // 2):
                content[at] ^= 0x55
            data.write_bytes(content)
            self.daemon.start()
            read = self.bytes_of_epoch(self.loader(), whole)
            damaged = len(content) // 4
            self.assertGreater(read, 0)
            self.assertLess(read, 1.2 * damaged + (1 << 20))  # whole pieces, some of them asked for twice


class SmallCacheTest(CacheTest):
    cache_max = "8MiB"

    def test_what_was_read_once_is_not_read_again(self):
        whole = self.epoch(self.loader(self.shards))
        photographs = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
        loader = self.loader()
        self.bytes_of_epoch(loader, whole)
        self.epoch(loader)
        loader.close()
        read = self.bytes_of_epoch(self.loader(), whole)
        self.assertLess(read, 1.05 * photographs - 7 * 2**20)
        cache = pathlib.Path(self.scratch.name, "cache")
        self.assertLessEqual(sum(path.stat().st_blocks * 512 for path in cache.iterdir()), 9 * 2**20)


class FaultTest(StoreTest):
    def test_faults_that_pass_cost_no_sample(self):
        for seed, (fault, fields) in enumerate({
                "slow_down": {"share": 0.2, "count": 60}, "reset": {"share": 0.1, "after_bytes": 5000},
                "truncate": {"share": 0.1, "after_bytes": 3000}, "shifted": {"share": 0.1, "by": 512},
                "short": {"share": 0.1}}.items(), 10):  # seeds of their own, so that no batch is there
            with self.subTest(fault):
                self.proxy.clear()
                self.proxy.reset_counts()
                self.proxy.add(fault, method="GET", **fields)
                self.expect_equal(self.epoch(self.loader(seed=seed)), self.epoch(self.loader(self.shards, seed=seed)))
                self.assertGreater(self.proxy.counts()["faults"].get(fault, 0), 5)

    def test_the_store_may_be_away_for_some_seconds(self):
        batches = iter(self.loader(seed=20))
        ids = [next(batches).sample_ids.copy()]
        self.proxy.add("outage", mode="refuse", seconds=3)
        begun = time.monotonic()
        ids += [batch.sample_ids.copy() for batch in batches]
        self.assertEqual(sorted(numpy.concatenate(ids)), list(range(SAMPLES)))
        self.assertGreater(time.monotonic() - begun, 2.5, "the feed did not need the store")

    def test_a_new_daemon_that_must_index_first_is_waited_for(self):
        whole = self.epoch(self.loader(self.shards))[0]
        batches = iter(self.loader())
        ids = [next(batches).sample_ids.copy()]
        self.daemon.kill()
        shutil.rmtree(self.daemon.folder / "state")
        self.proxy.add("latency", ms=20)  # indexing takes some seconds
        self.daemon.start()
        ids += [batch.sample_ids.copy() for batch in batches]
        numpy.testing.assert_array_equal(numpy.concatenate(ids), whole)

    def test_a_store_that_is_away_when_it_is_opened_is_asked_again(self):
        self.store.put_folder("late", self.shards)
        self.proxy.add("outage", mode="refuse", seconds=4)
        self.assertEqual(len(self.epoch(self.loader("s3://late/"))[0]), SAMPLES)

    def test_a_changed_object_ends_the_feed_with_its_name(self):
        self.store.put_folder("changing", self.shards)
        loader = self.loader("s3://changing/{000000..000003}.tar")
        self.epoch(loader)
        self.store.put("changing", "000002.tar", (self.shards / "000003.tar").read_bytes())
        with self.assertRaises(penstock.Error) as caught:
            for _ in range(3):
                self.epoch(loader)
        self.assertIn("'s3://changing/000002.tar' has changed since it was indexed", str(caught.exception))
        anew = self.epoch(self.loader("s3://changing/{000000..000003}.tar"))
        self.assertEqual(len(anew[0]), SAMPLES)


class RefusedTest(StoreTest):
    def refusal(self, url, **options):
        with self.assertRaises(penstock.Error) as caught:
            next(iter(self.loader(url, **options)))
        return str(caught.exception)

    def test_what_cannot_be_read_is_said(self):
        self.assertIn("s3://photos/absent.tar", self.refusal("s3://photos/absent.tar"))
        self.assertIn("found no samples in the class folders train", self.refusal("s3://photos/"))
        self.assertIn("tar and TFRecord shards", self.refusal("s3://photos/absent/"))
        self.assertIn("do not list their files", self.refusal(self.store.endpoint + "/open/"))
        self.assertIn("tar and TFRecord shards", self.refusal("https://127.0.0.1:9/data.zip"))
        self.proxy.add("answer", status=403, method="HEAD")
        self.proxy.add("answer", status=403, method="GET", body="<Error><Code>ExpiredToken</Code></Error>")
        self.assertIn("403 ExpiredToken", self.refusal("s3://photos/other.tar"))

    def test_secrets_in_urls_are_refused_and_not_repeated(self):
        for url in ("https://127.0.0.1:9/data.tar?key=hunter2", "http://user:hunter2@127.0.0.1:9/x{0..2.tar"):
            with self.subTest(url):
                with self.assertRaises(penstock.InvalidArgument) as caught:
                    self.loader(url)
                self.assertNotIn("hunter2", str(caught.exception))
                with self.assertRaises(penstock.InvalidArgument) as caught:  # from the daemon
                    _penstock.Client.connect(address=self.daemon.address).describe(url)
                self.assertNotIn("hunter2", str(caught.exception) + self.log())

    def test_another_environment_is_refused(self):
        before = os.environ["AWS_ENDPOINT_URL"]
        self.addCleanup(os.environ.__setitem__, "AWS_ENDPOINT_URL", before)
        os.environ["AWS_ENDPOINT_URL"] = self.store.endpoint
        refusal = self.refusal(URL)
        self.assertIn("other variables for stores than this program has now: AWS_ENDPOINT_URL; so", refusal)
        self.assertNotIn(self.store.endpoint, refusal)

    def test_no_secret_is_in_the_log(self):
        self.epoch(self.loader())
        self.refusal("s3://photos/absent.tar")
        self.assertNotIn(self.store.secret, self.log())
        self.assertNotIn(self.store.key, self.log())


if __name__ == "__main__":
    support.main()
