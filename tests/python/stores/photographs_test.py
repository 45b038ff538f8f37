"""Folders of photographs in an object store, beside the same folders on a disk."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from stores import datasets  # noqa: E402

numpy = support.need("numpy")
import penstock  # noqa: E402

SAMPLES = loader_test.SAMPLES


class PhotographsCase(loader_test.StoreTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folders = datasets.class_folders(pathlib.Path(cls.scratch.name) / "folders", SAMPLES)
        cls.store.put_folder("classes", cls.folders, prefix="train set+1/")
        cls.url = "s3://classes/train set+1/"

    def photograph_bytes(self):
        return sum(path.stat().st_size for path in self.folders.rglob("*.jpg"))

    def restart(self):
        self.daemon.kill()
        self.daemon.start()

    def refusal(self, loader):
        with self.assertRaises(penstock.Error) as caught:
            for _ in range(3):
                self.epoch(loader)
        return str(caught.exception)


class PhotographsTest(PhotographsCase):
    def test_a_feed_has_the_bytes_of_the_same_folders_on_a_disk(self):
        remote, local = self.loader(self.url), self.loader(self.folders)
        for _ in range(2):
            self.expect_equal(self.epoch(remote), self.epoch(local))

    def test_bytes_are_read_once_and_many_at_a_time(self):
        loader = self.loader(self.url, seed=5)
        self.epoch(loader)
        self.proxy.reset_counts()
        self.proxy.add("latency", ms=30)
        self.epoch(loader)
        counts = self.proxy.counts()
        self.assertGreaterEqual(counts["most_under_way"], 24, counts)
        self.assertLess(counts["bytes"], 2.05 * self.photograph_bytes())  # of two epochs, at most

    def test_keys_that_no_file_could_have_are_refused(self):
        for number, key in enumerate(("../class03/x.jpg", "class03/../x.jpg", "class03//x.jpg", "class03/./x.jpg")):
            with self.subTest(key):
                self.store.put_folder(f"odd{number}", self.folders, prefix="in/")
                self.store.put(f"odd{number}", f"in/{key}", datasets.photographs()[0])
                self.assertRegex(self.refusal(self.loader(f"s3://odd{number}/in/")), "'\\.\\.'.*rename it")

    def test_faults_that_pass_cost_no_sample(self):
        for seed, (fault, fields) in enumerate({
                "slow_down": {"share": 0.2, "count": 60}, "reset": {"share": 0.1, "after_bytes": 5000},
                "truncate": {"share": 0.1, "after_bytes": 3000}}.items(), 10):
            with self.subTest(fault):
                self.proxy.clear()
                self.proxy.reset_counts()
                self.proxy.add(fault, method="GET", **fields)
                self.expect_equal(self.epoch(self.loader(self.url, seed=seed)),
                                  self.epoch(self.loader(self.folders, seed=seed)))
                self.assertGreater(self.proxy.counts()["faults"].get(fault, 0), 5)

    def test_a_changed_photograph_ends_the_feed_with_its_name(self):
        for number, content in enumerate((b"another photograph", datasets.photographs()[-1])):
            bucket = f"changing{number}"
            self.store.put_folder(bucket, self.folders)
            loader = self.loader(f"s3://{bucket}/")
            self.epoch(loader)
            self.store.put(bucket, "class03/00000013.jpg", content)
            self.assertIn(f"'s3://{bucket}/class03/00000013.jpg' has changed since it was listed",
                          self.refusal(loader))

    def test_a_missing_photograph_ends_the_feed_with_its_name(self):
        self.store.put_folder("missing", self.folders)
        loader = self.loader("s3://missing/")
        self.epoch(loader)
        self.store.delete("missing", "class03/00000013.jpg")
        self.assertRegex(self.refusal(loader), "'s3://missing/class03/00000013.jpg' is not there.*when the dataset was opened")

    def test_new_photographs_are_seen_when_it_is_opened_again(self):
        self.store.put_folder("growing", self.folders)
        self.assertEqual(len(self.epoch(self.loader("s3://growing/"))[0]), SAMPLES)
        self.store.put("growing", "class03/new.jpg", datasets.photographs()[0])
        self.assertEqual(len(self.epoch(self.loader("s3://growing/"))[0]), SAMPLES + 1)


class ManyObjectsTest(PhotographsCase):
    def test_ten_thousand_small_objects(self):
        folder = pathlib.Path(self.scratch.name) / "small"
        from PIL import Image
        names = ("plain", "with space", "plus+and&", "per%25cent", "ümläut", "a=b;c,d", "tilde~(x)")
        for number in range(10_000):
            place = folder / f"{number % 100:02d}"
            place.mkdir(parents=True, exist_ok=True)
            color = (number % 256, number // 256, 77)
            Image.new("RGB", (4, 4), color).save(place / f"{number:05d} {names[number % 7]}.png")
        self.store.put_folder("small", folder)
        self.proxy.reset_counts()
        options = {"transform": [penstock.Resize((4, 4))], "batch_size": 250}
        remote, local = self.small("s3://small/", options), self.small(folder, options)
        self.expect_equal(self.epoch(remote), self.epoch(local))
        lists = self.proxy.counts()["list"]
        self.assertLess(lists, 310, "a page a class, twice, and what lies in the folder")

    def small(self, dataset, options):
        loader = penstock.Loader(str(dataset), timeout=120, shuffle=True, seed=3, **options)
        self.addCleanup(loader.close)
        return loader


class OfflineTest(PhotographsCase):
    cache_max = "1GiB"

    def test_an_epoch_from_the_cache_alone_while_the_store_is_away(self):
        whole = self.epoch(self.loader(self.folders))
        loader = self.loader(self.url)
        self.expect_equal(self.epoch(loader), whole)
        self.proxy.reset_counts()
        self.epoch(loader)
        self.assertEqual(self.proxy.counts()["get"], 0)
        loader.close()
        self.restart()
        self.proxy.add("outage", mode="refuse", seconds=3600)
        self.expect_equal(self.epoch(self.loader(self.url)), whole)
        self.assertIn("could not be listed", self.log())


if __name__ == "__main__":
    support.main()
