"""Arrays and files of tokens in an object store, beside the same files on a disk; and one object of 50 GiB."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from stores import datasets, objects  # noqa: E402

numpy = support.need("numpy")
import penstock  # noqa: E402

ROWS, LENGTH, BIG = 600, 64, 50 << 30


class ArraysCase(loader_test.StoreTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = pathlib.Path(cls.scratch.name) / "files"
        datasets.npy_arrays(cls.files, ROWS)
        datasets.tokens(cls.files, 200_000)
        random = numpy.random.default_rng(1)
        numpy.save(cls.files / "pixels.npy", random.integers(0, 256, (ROWS, 24, 24, 3), numpy.uint8))
        numpy.save(cls.files / "long.npy", random.random((50, 40_000)).astype(numpy.float32))  # rows of 160 kB
        numpy.save(cls.files / "ids.npy", random.integers(0, 1000, 30_000).astype(numpy.uint16))
        for bucket in ("files", "open"):
            cls.store.put_folder(bucket, cls.files)

    def rows(self, dataset, **options):
        loader = penstock.Loader(str(dataset), **{"batch_size": 32, "shuffle": True, "seed": 4, "timeout": 60, **options})
        self.addCleanup(loader.close)
        return loader

    def whole(self, loader):
        batches = [{name: numpy.asarray(batch[name]).copy() for name in batch.keys()} for batch in loader]
        return {name: numpy.concatenate([batch[name] for batch in batches]) for name in batches[0]}

    def expect_same(self, text, **options):
        remote = self.rows(text.replace("$", "s3://files/"), **options)
        local = self.rows(text.replace("$", f"{self.files}/"), **options)
        for _ in range(2):
            here, there = self.whole(remote), self.whole(local)
            self.assertEqual(here.keys(), there.keys())
            for name in there:
                numpy.testing.assert_array_equal(here[name], there[name])
        return remote


class EqualTest(ArraysCase):
    def test_arrays_have_the_rows_of_the_same_files_on_a_disk(self):
        self.expect_same("npy:x=$features.npy,label=$labels.npy")
        self.expect_same("npy:x=$long.npy", batch_size=8)
        self.expect_same("npy:x=$features.npy", shuffle=False)

    def test_an_array_is_named_by_its_url_alone(self):
        self.assertEqual(len(self.whole(self.rows("s3://files/features.npy"))["data"]), ROWS)

    def test_stored_images_are_transformed(self):
        self.expect_same("npy:image=$pixels.npy", transform=[penstock.RandomCrop(16), penstock.HorizontalFlip()])

    def test_tokens_have_the_windows_of_the_same_files_on_a_disk(self):
        self.expect_same(f"tokens:$00.bin,$01.bin,length={LENGTH}")
        self.expect_same(f"tokens:$ids.npy,length={LENGTH},vocabulary=1000")

    def test_a_web_server_gives_them_too(self):
        url = self.proxy.endpoint + "/open/"
        here = self.whole(self.rows(f"npy:x={url}features.npy"))
        numpy.testing.assert_array_equal(here["x"], self.whole(self.rows(f"npy:x={self.files}/features.npy"))["x"])

    def test_rows_are_fetched_ahead(self):
        loader = self.rows("npy:x=s3://files/features.npy", seed=9)
        self.whole(loader)
        self.proxy.reset_counts()
        self.proxy.add("latency", ms=30)
        self.whole(loader)
        self.assertGreater(self.proxy.counts()["most_under_way"], 15)


class ChangedTest(ArraysCase):
    def refusal(self, loader):
        with self.assertRaises(penstock.Error) as caught:
            for _ in range(3):
                self.whole(loader)
        return str(caught.exception)

    def test_a_changed_array_ends_the_feed_with_its_name(self):
        self.store.put("changing", "x.npy", self.files / "features.npy")
        loader = self.rows("npy:x=s3://changing/x.npy")
        self.whole(loader)
        numpy.save(self.files / "other.npy", numpy.zeros((ROWS, 3, 32, 32), numpy.float32))
        self.store.put("changing", "x.npy", self.files / "other.npy")
        self.assertIn("'s3://changing/x.npy' has changed since it was indexed", self.refusal(loader))

    def test_missing_tokens_end_the_feed_with_their_name(self):
        self.store.put("changing", "t.bin", self.files / "00.bin")
        loader = self.rows(f"tokens:s3://changing/t.bin,length={LENGTH}")
        self.whole(loader)
        self.store.delete("changing", "t.bin")
        self.assertIn("'s3://changing/t.bin' is not there", self.refusal(loader))

    def test_what_is_not_read_from_stores_is_said(self):
        self.store.put("pairs", "x.bin", self.files / "00.bin")
        self.store.put("pairs", "x.idx", b"MMIDIDX\x00\x00" + bytes(100))
        self.assertIn("Megatron pair, which is not read from stores",
                      self.refusal(self.rows(f"tokens:s3://pairs/x.bin,length={LENGTH}")))
        self.assertIn("s3://files/absent.npy", self.refusal(self.rows("npy:x=s3://files/absent.npy")))


class KeptTest(ArraysCase):
    cache_max = "1GiB"

    def test_the_second_epoch_reads_nothing_from_the_store(self):
        for dataset in ("npy:x=s3://files/features.npy,label=s3://files/labels.npy",
                        f"tokens:s3://files/00.bin,s3://files/01.bin,length={LENGTH}"):
            with self.subTest(dataset):
                loader = self.rows(dataset)
                self.whole(loader)
                next(iter(loader))  # what was begun ahead is there
                self.proxy.reset_counts()
                self.whole(loader)
                self.assertEqual(self.proxy.counts()["bytes"], 0)


class BigTest(loader_test.StoreTest):
    def test_windows_of_an_object_of_50_gib(self):
        self.store.put_pattern("big", "tokens.bin", BIG)
        loader = penstock.Loader("tokens:s3://big/tokens.bin,length=1024,dtype=uint16", batch_size=64, shuffle=True, seed=1,
                                 timeout=60)
        self.addCleanup(loader.close)
        highest = 0
        for batch, _ in zip(loader, range(6)):
            for sample, row in zip(batch.sample_ids, numpy.asarray(batch["tokens"])):
                offset = int(sample) * 1024 * 2
                numpy.testing.assert_array_equal(row, numpy.frombuffer(objects.pattern(1, offset, 2048), numpy.uint16))
                highest = max(highest, offset)
        self.assertGreater(highest, 40 << 30)
        self.assertLess(self.proxy.counts()["bytes"], 200 << 20)


if __name__ == "__main__":
    support.main()
