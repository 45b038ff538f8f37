"""Keys that end while a private daemon feeds trainers from a store: nothing of it is seen but in the log."""
import os
import pathlib
import threading
import time

import loader_test  # the store's shards, the daemon, `loader` and `epoch`

import numpy

import support
from stores import key_server

OTHER = {"key": "AKIASECOND", "secret": "second/secret+of/tests", "token": "second-token=="}
ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_EC2_METADATA_DISABLED")


class EndingKeysTest(loader_test.StoreTest):
    token = "first-token=="

    @classmethod
    def prepare_environment(cls):
        cls.keys = key_server.KeyServer(cls.store.key, cls.store.secret, cls.store.token)
        cls.addClassCleanup(cls.keys.close)
        for name in ENVIRONMENT:
            os.environ.pop(name, None)
        os.environ.update(cls.keys.metadata_environment())

    def change_all(self):
        self.keys.change(**OTHER)
        self.store.change_keys(**OTHER)

    def test_the_store_refuses_them_in_the_middle_of_an_epoch(self):
        whole = self.epoch(self.loader(self.shards, seed=30))
        loader = self.loader(seed=30)
        batches = iter(loader)
        found = [next(batches)]
        found = [(found[0].sample_ids.copy(), found[0]["label"].copy(), found[0]["image"].copy())]
        self.proxy.reset_counts()
        before = len(self.keys.requests)
        self.change_all()
        begun = time.monotonic()
        found += [(batch.sample_ids.copy(), batch["label"].copy(), batch["image"].copy()) for batch in batches]
        self.expect_equal([numpy.concatenate(part) for part in zip(*found)], whole)
        self.assertLess(time.monotonic() - begun, 10)
        statuses = self.store.counts()["statuses"]
        self.assertGreater(statuses.get("400", 0) + statuses.get("403", 0), 0, "no key was refused")
        self.assertEqual(len(self.keys.requests) - before, 3, "there is one renewal")
        self.assertEqual(self.keys.most_at_once, 1)
        log = self.log()
        self.assertIn("event=store_keys from=\"instance metadata\"", log)
        for secret in (OTHER["secret"], OTHER["token"], OTHER["key"], key_server.TOKEN, self.token):
            self.assertNotIn(secret, log)


class ShortKeysTest(loader_test.StoreTest):
    """They end every few seconds, and whoever gives them is away for a while."""

    token = "first-token=="

    @classmethod
    def prepare_environment(cls):
        EndingKeysTest.prepare_environment.__func__(cls)
        cls.keys.lasts_s = 4

    def test_epochs_go_on_without_a_refused_request(self):
        whole = self.epoch(self.loader(self.shards, transform=loader_test.CROPS))
        loader = self.loader()
        timer = threading.Timer(1, setattr, (self.keys, "fails", 500))
        again = threading.Timer(2.5, setattr, (self.keys, "fails", None))
        timer.start(), again.start()
        until = time.monotonic() + 8
        first = self.epoch(loader)
        self.expect_equal(first, whole)
        while time.monotonic() < until:
            self.assertEqual(len(self.epoch(loader)[0]), loader_test.SAMPLES)
            time.sleep(0.2)
        timer.join(), again.join()
        self.assertGreaterEqual(self.keys.count("/latest/api/token"), 3)
        statuses = self.store.counts()["statuses"]
        # 404: shards without an index beside them
        self.assertEqual([status for status in statuses if status not in ("200", "206", "404")], [], statuses)


class FileKeysTest(loader_test.StoreTest):
    @classmethod
    def prepare_environment(cls):
        cls.file = pathlib.Path(cls.scratch.name, "credentials")
        for name in ENVIRONMENT[:3]:
            os.environ.pop(name, None)
        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(cls.file)
        cls.write(cls.store.key, cls.store.secret)

    @classmethod
    def write(cls, key, secret, token=None):
        whole = cls.file.with_suffix(".new")
        whole.write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key={secret}\n"
                         + (f"aws_session_token={token}\n" if token else ""))
        whole.rename(cls.file)  # never half of it

    def test_a_file_with_new_keys_is_read_in_the_middle_of_an_epoch(self):
        loader = self.loader(seed=31)
        batches = iter(loader)
        ids = [next(batches).sample_ids.copy()]
        self.store.change_keys(**OTHER)
        time.sleep(3)
        self.write(**OTHER)
        ids += [batch.sample_ids.copy() for batch in batches]
        self.assertEqual(sorted(numpy.concatenate(ids)), list(range(loader_test.SAMPLES)))

    def test_it_is_read_anew_at_an_opening(self):
        self.epoch(self.loader(seed=32))
        third = {"key": "AKIATHIRD", "secret": "third/secret"}
        self.store.change_keys(**third)
        self.write(**third)
        self.store.put_folder("fresh", self.shards)
        self.assertEqual(len(self.epoch(self.loader("s3://fresh/"))[0]), loader_test.SAMPLES)


if __name__ == "__main__":
    support.main()
