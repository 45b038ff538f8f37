"""A system daemon that reads stores as its configuration says: with its own keys, and nothing else for anybody."""
import os
import pathlib
import subprocess
import unittest

import loader_test

import numpy
import penstock
from penstock import _penstock

import support
from stores import servers

OTHER = {"key": "AKIASECOND", "secret": "second/secret+of/tests", "token": "second-token=="}
CONFIG = """server: {{socket: {folder}/run/penstock.sock, group: "", state_dir: {folder}/state}}
pool: {{max: 256MiB}}
workers: {{count: 2}}
stores:
  cache: {folder}/cache
  cache_max: 1GiB
  ca: {ca}
  places:
    - url: s3://photos/train/
      endpoint: {endpoint}
      region: {region}
      credentials: profile
      credentials_file: {folder}/credentials
      profile: daemon
    - url: gs://open/
      endpoint: {endpoint}
    - url: gs://photos/
      endpoint: {endpoint}
      region: {region}
      credentials: profile
      credentials_file: {folder}/credentials
      profile: daemon
    - url: {endpoint}/open/
datasets:
  - name: photos
    tar: {{shards: ["s3://photos/train/{{000000..000003}}.tar"]}}
  - name: folder
    tar: {{shards: [s3://photos/train/]}}
  - name: google
    tar: {{shards: ["gs://open/{{000000..000003}}.tar"]}}
  - name: google-hmac
    tar: {{shards: [gs://photos/train/]}}
  - name: web
    tar: {{shards: ["{endpoint}/open/{{000000..000003}}.tar"]}}
"""


class ConfiguredStoresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        loader_test.clean_environment()
        loader_test.make_shards(cls)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.store = servers.FileStore(public=("open",), tls=True, region="eu-west-1")
        cls.addClassCleanup(cls.store.close)
        cls.store.put_folder("photos", cls.shards, prefix="train/")
        cls.store.put_folder("photos", cls.shards, prefix="secret/")
        cls.store.put_folder("open", cls.shards)
        cls.write_keys(cls.store.key, cls.store.secret)
        cls.config = cls.folder / "penstock.yaml"
        cls.write_config()
        cls.address = str(cls.folder / "run/penstock.sock")
        with open(cls.folder / "log", "wb") as log:
            # What is said here is not what the configuration says.
            cls.daemon = subprocess.Popen([support.program("penstockd"), "--config", str(cls.config)], stderr=log,
                                          env={**os.environ, "AWS_ACCESS_KEY_ID": "wrong", "AWS_SECRET_ACCESS_KEY": "x",
                                               "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
        cls.addClassCleanup(cls.daemon.wait)
        cls.addClassCleanup(cls.daemon.terminate)
        support.wait_until_serving(cls.daemon, cls.folder / "log")

    @classmethod
    def write_keys(cls, key, secret, token=None):
        (cls.folder / "credentials").write_text(
            f"[daemon]\naws_access_key_id={key}\naws_secret_access_key={secret}\n"
            + (f"aws_session_token={token}\n" if token else ""))

    @classmethod
    def write_config(cls, more=""):
        cls.config.write_text(CONFIG.format(folder=cls.folder, endpoint=cls.store.endpoint, region=cls.store.region,
                                            ca=cls.store.certificate.ca) + more)

    def log(self):
        return (self.folder / "log").read_text()

    def reload(self):
        before = self.log().count("event=reload")
        self.daemon.send_signal(1)  # SIGHUP
        support.wait_until(lambda: self.log().count("event=reload") > before, "the reload")

    def epoch(self, dataset, **options):
        with penstock.Loader(str(dataset), batch_size=32, seed=3, timeout=60, transform=loader_test.CROPS,
                             **{"address": self.address, **options}) as loader:
            found = [(batch.sample_ids.copy(), batch["label"].copy(), batch["image"].copy()) for batch in loader]
        return [numpy.concatenate(part) for part in zip(*found)]

    def test_datasets_in_stores_have_the_bytes_of_the_same_shards_in_a_folder(self):
        (self.folder / "private").mkdir(mode=0o700)
        private = support.Daemon(self.folder / "private")
        private.start()
        self.addCleanup(private.stop)
        whole = self.epoch(self.shards, address=private.address)
        for name in ("photos", "folder", "google", "google-hmac", "web"):
            with self.subTest(name):
                for here, there in zip(self.epoch(name), whole):
                    numpy.testing.assert_array_equal(here, there)
        self.assertNotEqual(list((self.folder / "cache").glob("*.data")), [])

    def test_nobody_names_a_url_or_learns_a_key(self):
        client = _penstock.Client.connect(address=self.address)
        for url in ("s3://photos/train/000000.tar", "s3://photos/secret/000000.tar", self.store.endpoint + "/open/000000.tar"):
            with self.subTest(url):
                with self.assertRaises(penstock.Error) as caught:
                    client.describe(url)
                self.assertIn("this daemon serves datasets only by name", str(caught.exception))
        self.epoch("photos")
        self.assertNotIn(self.store.secret, self.log())
        self.assertNotIn(self.store.key, self.log())

    def test_a_reload_takes_new_keys_at_once(self):
        self.epoch("photos")
        self.store.change_keys(**OTHER)
        self.write_keys(**OTHER)
        self.store.put_folder("photos", self.shards, prefix="train/fresh/")
        self.write_config("  - name: fresh\n    tar: {shards: [s3://photos/train/fresh/]}\n")
        refused = lambda: sum(count for status, count in self.store.counts()["statuses"].items() if status[0] == "4")
        before = refused()
        self.reload()
        support.wait_until(lambda: self.log().count("event=store_keys ") >= 2, "the new keys")
        self.assertEqual(len(self.epoch("fresh")[0]), loader_test.SAMPLES)
        self.assertEqual(refused(), before)

    def test_a_reload_that_names_a_url_elsewhere_is_refused(self):
        self.addCleanup(self.write_config)
        self.write_config("  - name: stolen\n    tar: {shards: [s3://photos/secret/]}\n")
        self.reload()
        self.assertIn("wanted a URL that begins with one of stores.places", self.log())
        self.assertEqual(len(self.epoch("photos")[0]), loader_test.SAMPLES)


if __name__ == "__main__":
    support.main()
