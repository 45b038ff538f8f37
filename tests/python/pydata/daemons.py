"""A daemon for each test class of Python datasets."""
import os
import subprocess
import tempfile
import unittest

from python_datasets import support

from penstock.torch import DataLoader


class WorkersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-workers-")
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", cls.folder])
        cls.daemon = support.Daemon(cls.folder)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        os.environ["PENSTOCK_ADDRESS"] = cls.daemon.address

    def loader(self, *arguments, **keywords):
        keywords.setdefault("num_workers", 2)
        if keywords["num_workers"]:
            keywords.setdefault("timeout", 30)
        loader = DataLoader(*arguments, **keywords)
        self.addCleanup(loader.close)
        return loader
