"""`penstockctl index --export`: indexes of shards in files beside them, made of files or of URLs, and what they save when a
dataset of a store is opened."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from loader_test import SAMPLES, datasets, reference  # noqa: E402

SHARDS = 4
CTL = pathlib.Path(os.environ["PENSTOCK_BIN"]) / "penstockctl"


class IndexFileTest(loader_test.StoreTest):
    """Each test has a bucket of its own, with the shards and no index."""

    def setUp(self):
        self.bucket = self.id().rpartition(".")[2].removeprefix("test_").replace("_", "-")[:60]
        self.url = f"s3://{self.bucket}/{{000000..{SHARDS - 1:06}}}.tar"
        self.store.put_folder(self.bucket, self.shards)
        self.folder = pathlib.Path(self.scratch.name) / self.bucket
        shutil.copytree(self.shards, self.folder)
        super().setUp()

    def ctl(self, *words):
        """(exit code, standard output, standard error)"""
        ran = subprocess.run([CTL, "--address", self.daemon.address, *map(str, words)], capture_output=True, text=True,
                             timeout=120)
        return ran.returncode, ran.stdout, ran.stderr

    def export(self, *words):
        code, out, err = self.ctl("-o", "json", "index", "--export", *words)
        self.assertEqual(code, 0, err)
        return json.loads(out)["indexes"]

    def upload(self, folder):
        for path in sorted(pathlib.Path(folder).glob("*.idx")):
            self.store.put(self.bucket, path.name, path.read_bytes())

    def forget(self):
        """Starts the daemon anew, without what it knew of datasets."""
        self.daemon.kill()
        shutil.rmtree(self.daemon.folder / "state")
        self.daemon.start()
        self.proxy.reset_counts()

    def manifests(self):
        return {path.name: path.read_bytes() for path in (self.daemon.folder / "state/manifests").iterdir()}

    def index(self, url=None):
        loader_test._penstock.Client.connect(address=self.daemon.address).describe(url or self.url)

    def warnings(self):
        return [line for line in self.log().splitlines() if "event=index_warning " in line and self.bucket in line]

    def shard_bytes(self):
        return sum(path.stat().st_size for path in self.shards.iterdir())


class MadeTest(IndexFileTest):
    def test_of_urls(self):
        self.forget()
        self.index()
        scanned = self.manifests()
        made = self.export(self.url, "--to", self.folder / "indexes")
        self.assertEqual([row["samples"] for row in made], [str(SAMPLES // SHARDS)] * SHARDS)
        self.upload(self.folder / "indexes")
        self.forget()

        self.index()

        self.assertEqual(self.manifests(), scanned, "to the byte")
        counts = self.proxy.counts()
        self.assertEqual((counts["head"], counts["get"], counts["requests"]), (SHARDS, SHARDS, 2 * SHARDS))
        self.assertLess(counts["bytes"], self.shard_bytes() / 50)
        self.assertEqual(self.warnings(), [])
        self.expect_equal(self.epoch(self.loader(self.url)), self.epoch(self.loader(self.shards)))

    def test_of_files_before_they_are_uploaded(self):
        made = self.export(self.folder)
        self.assertEqual(sorted(pathlib.Path(row["index"]).name for row in made),
                         [f"{i:06}.tar.idx" for i in range(SHARDS)])
        self.upload(self.folder)
        self.forget()
        self.index()
        self.assertEqual(self.proxy.counts()["requests"], 2 * SHARDS)
        self.expect_equal(self.epoch(self.loader(self.url)), self.epoch(self.loader(self.shards)))

    def test_of_records(self):
        records = self.folder / "records"
        records.mkdir()
        for shard in range(2):
            with open(records / f"train-{shard:05}-of-00002", "wb") as file:
                for _, jpeg, label in itertools.islice(datasets.numbered(40), shard * 20, (shard + 1) * 20):
                    features = reference.feature("image/encoded", jpeg) + reference.integers("image/class/label", [label])
                    file.write(reference.record(reference.field(1, features)))
        self.export(records / "train-{00000..00001}-of-00002")
        self.store.put_folder(self.bucket, records)
        self.forget()
        names = "train-{00000..00001}-of-00002"
        remote = self.epoch(self.loader(f"s3://{self.bucket}/{names}"))
        asked = [name for name in self.proxy.counts()["objects"] if name.endswith(".idx")]
        self.assertEqual(len(asked), 2)
        self.assertEqual(self.warnings(), [])
        self.expect_equal(remote, self.epoch(self.loader(records / names)))

    def test_of_several_files(self):
        shards = sorted(self.folder.glob("*.tar"))[:2]
        self.assertEqual(len(self.export(*shards)), 2)
        self.assertEqual(len(list(self.folder.glob("*.idx"))), 2)

    def test_a_listing_says_which_shards_have_one(self):
        self.export(self.folder)
        for i in (1, 3):
            (self.folder / f"{i:06}.tar.idx").unlink()
        self.upload(self.folder)
        self.forget()
        self.index(f"s3://{self.bucket}/")
        log = json.loads(self.ctl("-o", "json", "status")[1])
        self.assertEqual(log["stores"]["requests"], str(self.proxy.counts()["requests"]))
        objects = self.proxy.counts()["objects"]
        asked = [name for name in objects if name.endswith(".idx")]
        self.assertEqual(sorted(asked), [f"{self.bucket}/{i:06}.tar.idx" for i in (0, 2)])

    def test_what_cannot_be_made_is_said(self):
        for words, code, wanted in (
                ((self.url,), 2, "--to FOLDER"),
                ((self.folder / "absent.tar",), 1, "absent.tar"),
                ((f"s3://{self.bucket}/absent.tar", "--to", self.folder), 1, "absent.tar"),
                ((self.shards.parent / "shards" / "000000.tar", "--to", "/proc/x"), 1, "/proc/x")):
            with self.subTest(words):
                got, _, err = self.ctl("index", "--export", *words)
                self.assertEqual(got, code, err)
                self.assertIn(wanted, err)
        (self.folder / "000000.tar.idx").write_text("v1.2 1\n")
        code, _, err = self.ctl("index", "--export", self.folder / "000000.tar")
        self.assertEqual(code, 1)
        self.assertIn("is no index of Penstock's", err)
        self.assertEqual((self.folder / "000000.tar.idx").read_text(), "v1.2 1\n")


class RefusedIndexTest(IndexFileTest):
    def test_one_beside_a_replaced_shard(self):
        self.upload_indexes()
        other = (self.shards / "000001.tar").read_bytes()
        self.store.put(self.bucket, "000002.tar", other)
        self.forget()

        ids, labels, _ = self.epoch(self.loader(self.url, shuffle=False))

        local = [self.shards / f"{i:06}.tar" for i in (0, 1, 1, 3)]
        for i, path in enumerate(local):  # the same shard under another name
            shutil.copy(path, self.folder / f"{i:06}.tar")
        expected = self.epoch(self.loader(self.folder / f"{{000000..{SHARDS - 1:06}}}.tar", shuffle=False))
        self.expect_equal((ids, labels), expected[:2])
        [warning] = self.warnings()
        self.assertIn("000002.tar' is not used: it is of another version of the shard", warning)

    def test_one_that_is_damaged_or_cut_off(self):
        whole = self.epoch(self.loader(self.shards))
        self.upload_indexes()
        content = (self.folder / "000001.tar.idx").read_bytes()
        self.store.put(self.bucket, "000001.tar.idx", content[:-5])
        self.store.put(self.bucket, "000002.tar.idx", b"<html>404 in the words of a web server</html>")
        self.store.put(self.bucket, "000003.tar.idx", content[:200] + b"?" + content[201:])
        self.forget()
        self.expect_equal(self.epoch(self.loader(self.url)), whole)
        [warning] = self.warnings()
        self.assertIn("and so with 2 more", warning)

    def test_one_that_cannot_be_read(self):
        self.upload_indexes()
        self.forget()
        self.proxy.add("answer", status=403, method="GET", path="000001.tar.idx",
                       body="<Error><Code>AccessDenied</Code></Error>")
        self.proxy.add("truncate", method="GET", path="000002.tar.idx", after_bytes=300)
        self.expect_equal(self.epoch(self.loader(self.url)), self.epoch(self.loader(self.shards)))
        [warning] = self.warnings()
        self.assertIn("000002.tar' is not used", warning)

    def upload_indexes(self):
        self.export(self.folder)
        self.upload(self.folder)


class RoundTripsTest(IndexFileTest):
    """How many times the latency of the store a trainer waits for its first batch, in a new daemon."""
    LATENCY_MS = 500  # so that it counts on a busy machine, too

    def seconds_until_first_batch(self, latency_ms):
        self.forget()
        next(iter(self.loader(self.shards)))        # workers run
        self.index("s3://photos/train/000000.tar")  # there are connections
        self.proxy.clear()
        if latency_ms:
            self.proxy.add("latency", ms=latency_ms)
        begun = time.monotonic()
        next(iter(self.loader(self.url)))
        return time.monotonic() - begun

    def test_to_the_first_batch(self):
        self.export(self.folder)
        self.upload(self.folder)
        near = min(self.seconds_until_first_batch(0) for _ in range(2))
        far = min(self.seconds_until_first_batch(self.LATENCY_MS) for _ in range(2))
        trips = (far - near) * 1000 / self.LATENCY_MS
        print(f"first batch: {1000 * near:.0f} ms, and {1000 * far:.0f} ms with {self.LATENCY_MS} ms of latency: "
              f"{trips:.1f} round trips")
        self.assertGreater(trips, 1.5, "versions, indexes and samples come one after another")
        self.assertLess(trips, 3.9)


if __name__ == "__main__":
    support.main()
