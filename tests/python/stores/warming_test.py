"""`penstockctl fetch` and `penstockctl cache`: filling a cache before a job, and looking after it."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402
from stores import datasets  # noqa: E402

support.need("numpy")

SAMPLES, URL = loader_test.SAMPLES, loader_test.URL
WHOLE = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
CTL = pathlib.Path(os.environ["PENSTOCK_BIN"]) / "penstockctl"


class CacheCase(loader_test.StoreTest):
    def ctl(self, *words):
        """(exit code, standard output, standard error)"""
        ran = subprocess.run([CTL, "--address", self.daemon.address, *map(str, words)], capture_output=True, text=True,
                             timeout=120)
        return ran.returncode, ran.stdout, ran.stderr

    def json(self, *words):
        code, out, err = self.ctl("-o", "json", *words)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    @property
    def cache(self):
        return pathlib.Path(self.scratch.name) / "cache"

    def restart(self):
        self.daemon.kill()
        self.daemon.start()

    def bytes_of_epoch(self, loader):
        self.proxy.reset_counts()
        self.epoch(loader)
        return self.proxy.counts()["bytes"]


class FetchTest(CacheCase):
    cache_max = "1GiB"

    def setUp(self):
        super().setUp()
        self.daemon.kill()
        if self.cache.exists():
            for path in self.cache.iterdir():
                path.unlink()
        self.daemon.start()

    def put_classes(self):
        """Small objects, a file each."""
        folders = datasets.class_folders(pathlib.Path(self.scratch.name) / "folders", SAMPLES)
        self.store.put_folder("classes", folders)

    def test_after_a_fetch_the_first_epoch_reads_nothing_from_the_store(self):
        self.put_classes()
        for url in (URL, "s3://classes/"):
            with self.subTest(url):
                self.proxy.reset_counts()
                fetched = self.json("fetch", url)
                self.assertEqual(int(fetched["samples_fetched"]), SAMPLES)
                self.assertGreater(int(fetched["bytes_fetched"]), 0)
                self.assertGreater(self.proxy.counts()["bytes"], WHOLE)
                loader = self.loader(url)
                next(iter(loader))  # it is open, which may ask for versions
                self.proxy.reset_counts()
                self.epoch(loader)
                self.assertEqual(self.proxy.counts()["get"], 0)
                again = self.json("fetch", url)
                self.assertEqual((int(again["samples_fetched"]), int(again["bytes_fetched"])), (SAMPLES, 0))

    def test_a_fetch_that_was_interrupted_goes_on_where_it_ended(self):
        self.put_classes()
        self.proxy.add("bandwidth", bytes_per_s=2 << 20)
        process = subprocess.Popen([CTL, "--address", self.daemon.address, "fetch", "s3://classes/"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + 60
        while time.monotonic() < limit and self.proxy.counts()["bytes"] < 2 << 20:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.proxy.clear()
        time.sleep(0.5)  # what was under way
        fetched = int(self.json("fetch", "s3://classes/")["bytes_fetched"])
        self.assertLess(fetched, WHOLE - (1 << 20))
        self.assertGreater(fetched, 0)

    def test_progress_and_a_summary_are_for_people(self):
        code, out, err = self.ctl("fetch", URL)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, rf"{SAMPLES} of {SAMPLES} samples are in the cache; [0-9.]+ ?MiB fetched")

    def test_what_cannot_be_fetched_is_said(self):
        code, _, err = self.ctl("fetch", self.shards)
        self.assertEqual(code, 1)
        self.assertIn("nothing to fetch", err)
        code, _, err = self.ctl("fetch", "s3://photos/absent.tar")
        self.assertEqual(code, 1)
        self.assertIn("s3://photos/absent.tar", err)
        self.assertEqual(self.ctl("fetch")[0], 2)

    def test_a_folder_is_listed_verified_and_cleared(self):
        self.json("fetch", URL)
        code, out, err = self.ctl("cache", "list", self.cache)
        self.assertEqual(code, 0, err)
        for shard in range(4):
            self.assertIn(f"s3://photos/train/00000{shard}.tar", out)
        listed = self.json("cache", "list", self.cache)["objects"]
        self.assertEqual(len(listed), 4)
        self.assertEqual(sum(int(each["pieces"]) for each in listed), SAMPLES * 3)  # photograph, class, json
        code, out, err = self.ctl("cache", "verify", self.cache)
        self.assertEqual(code, 0, err)
        code, _, err = self.ctl("cache", "clear", self.cache)
        self.assertEqual(code, 1)
        self.assertIn("is used by a daemon", err)
        data = sorted(self.cache.glob("*.data"))[0]
        content = bytearray(data.read_bytes())
        content[content.index(b"\xff\xd8\xff") + 100] ^= 1  # in a photograph, not between two
        with open(data, "r+b") as file:
            file.write(content)
        code, out, err = self.ctl("cache", "verify", self.cache)
        self.assertEqual(code, 1, out)
        self.assertIn("1 damaged piece", out + err)
        self.daemon.kill()
        code, out, err = self.ctl("cache", "clear", self.cache)
        self.assertEqual(code, 0, err)
        self.assertEqual(list(self.cache.glob("*.data")), [])
        self.assertEqual(self.json("cache", "list", self.cache).get("objects", []), [])
        code, _, err = self.ctl("cache", "list", self.scratch.name)
        self.assertEqual(code, 1)
        self.assertIn("is no folder of a cache", err)
        self.daemon.start()

    def test_shards_are_read_from_the_cache_while_the_store_is_away(self):
        whole = self.epoch(self.loader(self.shards))
        for url in (URL, "s3://photos/train/"):
            with self.subTest(url):
                self.proxy.clear()
                self.json("fetch", url)
                self.restart()
                self.proxy.add("outage", mode="refuse", seconds=3600)
                self.expect_equal(self.epoch(self.loader(url)), whole)
                self.assertIn("event=store_away", self.log())

    def test_what_was_never_opened_is_refused_while_the_store_is_away(self):
        self.json("fetch", URL)
        self.store.put_folder("never", self.shards)
        self.proxy.add("outage", mode="refuse", seconds=3600)
        code, _, err = self.ctl("fetch", "s3://never/{000000..000001}.tar")
        self.assertEqual(code, 1, err)
        self.assertIn("s3://never/00000", err)


class NoRoomTest(CacheCase):
    cache_max = "8MiB"

    def test_a_cache_without_room_for_all_of_it_is_an_error_that_says_how_much_is_there(self):
        code, _, err = self.ctl("fetch", URL)
        self.assertEqual(code, 1)
        self.assertRegex(err, rf"has no room for all of it: \d+ of {SAMPLES} samples are there")


class PrivateDaemonTest(CacheCase):
    def test_a_url_is_fetched_by_the_private_daemon_which_is_started_for_it(self):
        cache, runtime = pathlib.Path(self.scratch.name) / "own", pathlib.Path(self.scratch.name) / "runtime"
        runtime.mkdir(mode=0o700)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PENSTOCK_STORE_CACHE": str(cache),
                       "PENSTOCK_STORE_CACHE_MAX": "1GiB", "HOME": self.scratch.name}
        del environment["PENSTOCK_ADDRESS"]
        ran = subprocess.run([CTL, "fetch", URL], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"{SAMPLES} of {SAMPLES} samples are in the cache", ran.stdout)
        listed = subprocess.run([CTL, "cache", "list"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertIn("4 objects", listed.stdout, listed.stderr)


class NoCacheTest(CacheCase):
    def test_without_a_cache_there_is_nothing_to_fetch_into(self):
        code, _, err = self.ctl("fetch", URL)
        self.assertEqual(code, 1)
        self.assertIn("PENSTOCK_STORE_CACHE", err)


if __name__ == "__main__":
    support.main()
