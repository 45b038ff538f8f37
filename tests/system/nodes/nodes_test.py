"""One job on three nodes, with a store that fails: nodes_test.py [--long] [-v] BIN."""
import importlib.util
import os
import pathlib
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from stores import datasets, fault_proxy, servers  # noqa: E402

import job  # noqa: E402
import link  # noqa: E402
import node  # noqa: E402

link.enter_namespace()

LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
BIN = pathlib.Path(sys.argv.pop()).resolve()
if not importlib.util.find_spec("penstock"):
    print("SKIPPED: the Python package is not built here")
    sys.exit(77)

SAMPLES, SHARD, BATCH = (6000, 500, 8) if LONG else (720, 60, 4)
OUTAGE_S = 60 if LONG else 4
RANKS, RANKS_LEFT = 10, 7
LATENCY_MS = 15
URL = "s3://photos/train/{000000..%06d}.tar" % (SAMPLES // SHARD - 1)


class NodesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for name in [name for name in os.environ if name.startswith(("AWS_", "GCS_", "PENSTOCK_STORE_"))]:
            del os.environ[name]
        cls.bridge = None
        if why := link.LACKS:
            print(f"nodes have no namespaces of their own: {why}", file=sys.stderr)
        else:
            cls.bridge = link.Bridge()
            cls.addClassCleanup(cls.bridge.close)
        scratch = tempfile.TemporaryDirectory(prefix="penstock-nodes-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.shards = datasets.tar_shards(cls.folder / "shards", SAMPLES, SHARD)
        cls.store = servers.FileStore()
        cls.addClassCleanup(cls.store.close)
        cls.store.put_folder("photos", cls.shards, prefix="train/")
        cls.proxy = fault_proxy.FaultProxy(cls.store.address, listen=cls.bridge.address if cls.bridge else "127.0.0.1")
        cls.addClassCleanup(cls.proxy.close)
        cls.environment = {**cls.store.environment(), "AWS_ENDPOINT_URL": cls.proxy.endpoint}
        cls.expected = cls.reference()

    @classmethod
    def reference(cls):
        """Rows by epoch, of one rank that reads the same shards in a folder."""
        alone = node.Node(9, cls.folder, BIN, cls.environment)
        cls.addClassCleanup(alone.kill)
        alone.start_daemon()
        work = job.Job([alone], 1, cls.folder / "reference", url=str(cls.shards), batch=64, epochs=3)
        work.wait()
        alone.kill()
        return {epoch: sorted(rows) for epoch, rows in work.rows().items()}

    def setUp(self):
        self.proxy.clear()
        self.proxy.add("latency", ms=LATENCY_MS)
        self.nodes = []
        for _ in range(3):
            self.join()

    def join(self):
        """A new node, with its daemon."""
        number = sum(1 for each in self.folder.iterdir() if each.name.startswith("node"))
        joined = node.Node(number, self.folder, BIN, self.environment, self.bridge)
        self.addCleanup(joined.kill)
        joined.start_daemon()
        self.nodes.append(joined)

    def start(self, nodes, world, name, **options):
        return job.Job(nodes, world, self.folder / name, url=URL, batch=BATCH, **options)

    def expect_exactly_once(self, rows, epochs):
        for epoch in epochs:
            self.assertEqual(len(rows[epoch]), SAMPLES, f"epoch {epoch}")
            self.assertEqual(sorted(rows[epoch]), self.expected[epoch], f"epoch {epoch}")

    def test_each_sample_comes_exactly_once_whatever_fails(self):
        pause = 0.02 if LONG else 0.05
        first = self.start(self.nodes, RANKS, "first", epochs=2, pause=pause)
        first.wait_for_steps(2)

        with self.subTest("a daemon is killed: its ranks wait for the next one"):
            self.nodes[0].kill_daemon()
            self.nodes[0].start_daemon()
            first.wait_for_steps(first.least_steps() + 2)

        with self.subTest("the store is away: the ranks wait"):
            outage = self.proxy.add("outage", mode="refuse")
            time.sleep(OUTAGE_S)
            self.proxy.remove(outage)
            first.wait_for_steps(first.least_steps() + 2, seconds=120)
            first.expect_running()

        with self.subTest("a node is gone: the job is resumed on two nodes with fewer ranks"):
            lost = self.nodes.pop()
            lost.kill()
            first.stop()
            before, states = first.checkpoint()
            self.assertEqual(len({str(state) for state in states}), 1, "the state is the same on every rank")
            self.assertLess(len(before[0]), SAMPLES, "the epoch has not ended yet")
            second = self.start(self.nodes, RANKS_LEFT, "second", epochs=2, state=states[0])
            second.wait()
            after = second.rows()
            self.expect_exactly_once({0: before[0] + after[0], 1: after[1]}, (0, 1))

        with self.subTest("the node joins again: three nodes and ten ranks"):
            self.join()
            state = second.steps(0)[-1]["state"]
            self.proxy.reset_counts()
            third = self.start(self.nodes, RANKS, "third", epochs=3, state=state)
            third.wait()
            self.expect_exactly_once(third.rows(), (2,))

        with self.subTest("the nodes together have read each byte about once"):
            data = sum(len(jpeg) for _, jpeg, _ in datasets.numbered(SAMPLES))
            # Two of the nodes had fetched the epoch's first batches before, as two nodes share them; all have
            # fetched the first ones of the epoch after it. The node that joined has read the shards for its index.
            read = self.proxy.counts()["bytes"] - data
            self.assertGreater(read, 0.5 * data)
            self.assertLess(read, 1.5 * data)


if __name__ == "__main__":
    unittest.main()
