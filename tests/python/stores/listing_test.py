"""A folder of a million photographs is listed: how long that takes, and how much memory."""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402  (finds the package)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import loader_test  # noqa: E402

CTL = pathlib.Path(os.environ["PENSTOCK_BIN"]) / "penstockctl"
OBJECTS = 1_000_000


class ListingTest(loader_test.StoreTest):
    def memory(self):
        """The most that the daemon has had, in bytes."""
        status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10

    def test_a_million_keys(self):
        self.store.put_many("million", "train/", OBJECTS)
        self.proxy.reset_counts()
        before, begun = self.memory(), time.monotonic()
        done = subprocess.run([CTL, "--address", self.daemon.address, "index", "s3://million/train/"], capture_output=True,
                              text=True, timeout=500)
        took, grown = time.monotonic() - begun, self.memory() - before
        lists = self.proxy.counts()["list"]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1,000,000 samples in 1,000 classes", done.stdout)
        print(f"{OBJECTS} keys: {took:.1f} s, {lists} requests, {grown / 2**20:.0f} MiB", file=sys.stderr)
        self.assertLess(grown, 500 * OBJECTS)
        self.assertLess(lists, 2100)


if __name__ == "__main__":
    support.main()
