"""What a daemon and `penstockctl` do about a cache that somebody has damaged, and about stores that do not answer."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import warming_test  # noqa: E402
from stores import datasets  # noqa: E402

numpy = support.need("numpy")
import penstock  # noqa: E402

SAMPLES, URL = warming_test.SAMPLES, warming_test.URL


class RepairCase(warming_test.CacheCase):
    cache_max = "1GiB"

    @classmethod
    def prepare_environment(cls):
        os.environ["PENSTOCK_RETRY_FOR"] = "3s"

    def data(self):
        found = sorted(self.cache.glob("*.data"))
        self.assertTrue(found)
        return found

    def go_away(self, mode="refuse"):
        self.proxy.add("outage", mode=mode, seconds=3600)


class DamageTest(RepairCase):
    def cut(self, at):
        for path in self.data():
            os.truncate(path, at)

    def flip(self):
        """Changes a byte of a photograph; nobody reads what is between a tar's files."""
        for path in self.data():
            content = bytearray(path.read_bytes())
            content[content.index(b"\xff\xd8\xff", len(content) // 2) + 100] ^= 255
            path.write_bytes(content)

    def remove_files(self):
        for path in self.cache.iterdir():
            path.unlink()

    def remove_folder(self):
        gone = pathlib.Path(self.scratch.name) / "gone"
        self.cache.rename(gone)  # a feed that runs may write to it meanwhile
        shutil.rmtree(gone, ignore_errors=True)

    def test_a_fetch_repairs_what_was_damaged_and_then_all_is_there(self):
        whole = self.epoch(self.loader(self.shards))
        self.json("fetch", URL)
        for harm in (lambda: self.cut(1000), self.flip, self.remove_files, self.remove_folder):
            with self.subTest(harm):
                self.proxy.clear()
                harm()
                fetched = self.json("fetch", URL)
                self.assertEqual(int(fetched["samples_fetched"]), SAMPLES)
                self.assertGreater(int(fetched["bytes_fetched"]), 0)
                code, out, err = self.ctl("cache", "verify", self.cache)
                self.assertEqual(code, 0, out + err)
                self.restart()
                self.go_away()
                self.expect_equal(self.epoch(self.loader()), whole)

    def test_what_an_epoch_reads_again_is_whole_again(self):
        self.json("fetch", URL)
        loader = self.loader()
        self.epoch(loader)
        self.cut(1000)
        self.epoch(loader)
        code, out, err = self.ctl("cache", "verify", self.cache)
        self.assertEqual(code, 0, out + err)

    def test_verify_looks_at_what_stores_said(self):
        self.json("fetch", URL)
        known = self.cache / "known"
        content = bytearray(known.read_bytes())
        content[len(content) // 2] ^= 1
        known.write_bytes(content)
        code, out, _ = self.ctl("cache", "verify", self.cache)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"known: 1 damaged of \d+")
        self.json("fetch", URL)
        self.assertEqual(self.ctl("cache", "verify", self.cache)[0], 0)


class AwayTest(RepairCase):
    def rows(self, url):
        batches = [{name: numpy.asarray(batch[name]).copy() for name in batch.keys()}
                   for batch in penstock.Loader(url, batch_size=32, timeout=60, shuffle=True, seed=4)]
        return {name: numpy.concatenate([batch[name] for batch in batches]) for name in batches[0]}

    def test_arrays_and_tokens_are_read_from_the_cache_while_the_store_is_away(self):
        files = pathlib.Path(self.scratch.name) / "files"
        datasets.npy_arrays(files, 600)
        datasets.tokens(files, 200_000)
        self.store.put_folder("files", files)
        urls = ("npy:x=s3://files/features.npy,label=s3://files/labels.npy",
                "tokens:s3://files/00.bin,s3://files/01.bin,length=64")
        wanted = []
        for url in urls:
            self.json("fetch", url)
            wanted.append(self.rows(url))
        self.restart()
        self.go_away()
        for url, rows in zip(urls, wanted):
            with self.subTest(url):
                here = self.rows(url)
                self.assertEqual(here.keys(), rows.keys())
                for name in rows:
                    numpy.testing.assert_array_equal(here[name], rows[name])

    def test_a_store_that_says_nothing_does_not_keep_a_cached_dataset_from_opening(self):
        whole = self.epoch(self.loader(self.shards))
        url = "s3://photos/train/"
        self.json("fetch", url)
        self.restart()
        self.go_away("hang")
        begun = time.monotonic()
        self.expect_equal(self.epoch(self.loader(url)), whole)
        self.assertLess(time.monotonic() - begun, 20)

    def test_an_absent_store_is_not_taken_for_an_absent_daemon(self):
        self.json("fetch", URL)
        self.store.put_folder("unseen", self.shards)
        self.go_away()
        code, _, err = self.ctl("fetch", "s3://unseen/000000.tar")
        self.assertEqual(code, 1)
        self.assertIn("s3://unseen/000000.tar", err)
        self.assertNotIn("does not accept calls", err)


class UnusableFilesTest(RepairCase):
    def test_files_that_cannot_be_used_are_named(self):
        self.json("fetch", URL)
        self.daemon.kill()
        for path in self.data():
            path.unlink()
            path.mkdir()
        self.daemon.start()
        code, _, err = self.ctl("fetch", URL)
        self.assertEqual(code, 1)
        self.assertIn("the cache cannot keep", err)
        self.assertIn(".data'", err)
        for path in self.data():
            path.rmdir()
        self.assertEqual(int(self.json("fetch", URL)["samples_fetched"]), SAMPLES)


class MountedTest(RepairCase):
    @classmethod
    def prepare_environment(cls):
        super().prepare_environment()
        cls.mounted = pathlib.Path(cls.scratch.name) / "cache"
        cls.mounted.mkdir(mode=0o700)
        words = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", str(cls.mounted)]
        if subprocess.run(words, capture_output=True).returncode != 0:
            raise unittest.SkipTest("file systems may not be mounted here")
        cls.addClassCleanup(subprocess.run, ["umount", "-l", str(cls.mounted)], check=True)

    def test_a_full_disk_is_named_and_used_again_and_one_mounted_read_only_is_read(self):
        whole = self.epoch(self.loader(self.shards))
        with open(self.mounted / "hog", "wb", buffering=0) as hog:
            with self.assertRaises(OSError):
                while True:
                    hog.write(b"x" * 4096)
        code, _, err = self.ctl("fetch", URL)
        self.assertEqual(code, 1)
        self.assertIn("No space left on device", err)
        self.assertNotIn("there is no cache", err)
        (self.mounted / "hog").unlink()
        self.assertEqual(int(self.json("fetch", URL)["samples_fetched"]), SAMPLES)
        self.daemon.kill()
        subprocess.run(["mount", "-o", "remount,ro", str(self.mounted)], check=True)
        self.daemon.start()
        self.assertEqual(int(self.json("fetch", URL)["bytes_fetched"]), 0)
        self.store.put_folder("more", self.shards)
        more = "s3://more/{000000..000003}.tar"
        self.expect_equal(self.epoch(self.loader(more)), whole)
        code, _, err = self.ctl("fetch", more)
        self.assertEqual(code, 1)
        self.assertIn("Read-only file system", err)
        status = subprocess.run([warming_test.CTL, "--address", self.daemon.address, "-o", "json", "status"],
                                capture_output=True, text=True, check=True).stdout
        self.assertGreater(int(json.loads(status)["stores"]["cache"]["refused"]), 0)
        self.go_away()
        self.expect_equal(self.epoch(self.loader()), whole)
        subprocess.run(["mount", "-o", "remount,rw", str(self.mounted)], check=True)
        self.proxy.clear()
        self.assertEqual(int(self.json("fetch", more)["samples_fetched"]), SAMPLES)


if __name__ == "__main__":
    support.main()
