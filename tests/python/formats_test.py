"""A daemon feeds every format as written by other tools. The bytes equal those that an independent reader sees in
the same files. Prints a table of the results."""
import os
import pathlib
import subprocess
import sys
import tempfile

import support

np = support.need("numpy")
torchvision = support.need("torchvision")

from torchvision.transforms import functional  # noqa: E402

import penstock  # noqa: E402

SUPPORT = support.ROOT / "tests/support"
MIDDLE = [penstock.Resize(64), penstock.CenterCrop(48)]
LENGTH = 64  # of the windows that write_arrays.py makes


def written(script, *arguments, python=sys.executable):
    subprocess.run([python, str(SUPPORT / "files" / script), *map(str, arguments)], check=True)


def webdataset_python(folder):
    """Returns a Python that has webdataset; or prints the reason and returns None."""
    done = subprocess.run([str(SUPPORT / "webdataset_python.sh"), str(folder)], stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return done.stdout.split()[-1]
    print(done.stdout)
    return None


class FormatsTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.held = penstock.Loader(cls.photographs)
        len(cls.held.dataset)  # connects, so that the daemon stays while files are written
        real = support.DATA and os.path.join(support.DATA, "imagenet-sample")
        cls.images = real if real and os.path.isdir(real) else cls.photographs
        cls.files = pathlib.Path(tempfile.mkdtemp(dir=cls.folder))
        written("write_arrays.py", cls.files, *([support.DATA] if support.DATA else []))
        folder = torchvision.datasets.ImageFolder(cls.images)
        cls.middle = [np.asarray(functional.center_crop(functional.resize(image, 64), [48, 48])).tobytes()
                      for image, _ in folder]
        cls.rows = []

    @classmethod
    def tearDownClass(cls):
        cls.held.close()
        heads = ("format", "written by", "samples", "bytes equal", "quarantined")
        widths = [max(len(str(row[i])) for row in [heads, *cls.rows]) for i in range(len(heads))]
        print()
        for row in [heads, *cls.rows]:
            print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())

    def feed(self, name, tool, dataset, expected, tensor="image", **keywords):
        """Feeds all samples in order and compares each with `expected`."""
        loader = penstock.Loader(dataset, batch_size=32, timeout=60, **keywords)
        self.addCleanup(loader.close)
        samples = equal = replaced = 0
        for batch in loader:
            for row, sample in enumerate(batch.sample_ids.tolist()):
                equal += np.ascontiguousarray(batch[tensor][row]).tobytes() == expected[sample]
                samples += 1
            replaced = loader.stats()["samples_replaced"]
            del batch
        self.rows.append((name, tool, samples, equal, replaced))
        self.assertEqual((samples, equal, replaced), (len(expected), len(expected), 0), name)

    def stored(self, name, row_bytes):
        """Returns the rows that write_arrays.py saved beside its files."""
        data = (self.files / f"{name}.rows").read_bytes()
        return [data[i:i + row_bytes] for i in range(0, len(data), row_bytes)]

    def test_photographs_in_folders(self):
        tool = "their photographers" if self.images != self.photographs else "libjpeg-turbo"
        self.feed("folder", tool, self.images, self.middle, transform=MIDDLE)

    def test_shards_by_tarfile(self):
        for form in ("ustar", "gnu", "pax"):
            with self.subTest(form=form):
                written("write_shards.py", form, self.images, self.files / form, 3)
                self.feed(f"tar ({form})", "Python's tarfile", self.files / form, self.middle, transform=MIDDLE)

    def test_shards_by_webdataset(self):
        python = webdataset_python(support.BIN.parent / "tests")
        if python is None:
            self.skipTest("webdataset is not to be had")
        written("write_shards.py", "webdataset", self.images, self.files / "wds", 3, python=python)
        self.feed("tar", "webdataset.TarWriter", self.files / "wds", self.middle, transform=MIDDLE)

    def test_records(self):
        written("write_records.py", self.images, self.files / "records", 3)
        pattern = f"{self.files}/records/train-{{00000..00002}}-of-00003"
        self.feed("tfrecord", "the documented format", pattern, self.middle, transform=MIDDLE)

    def test_mnist(self):
        images = support.DATA and pathlib.Path(support.DATA) / "mnist/t10k-images-idx3-ubyte.gz"
        if not images or not images.exists():
            self.skipTest("no MNIST: PENSTOCK_TEST_DATA names no folder that has it")
        out = self.files / "mnist"
        written("read_idx.py", images, str(images).replace("images-idx3", "labels-idx1"), out)
        data = out.read_bytes()
        self.feed("idx", "MNIST's authors", images, [data[i:i + 784] for i in range(0, len(data), 785)])

    def test_arrays(self):
        for dtype in ("bool", "int16", "float16", "float64", "uint64"):
            with self.subTest(dtype=dtype):
                array = np.load(self.files / f"{dtype}.npy")
                expected = self.stored(dtype, array[0].nbytes)
                self.feed(f"npy ({dtype})", "numpy.save", f"npy:x={self.files}/{dtype}.npy", expected, tensor="x")

    def test_tokens(self):
        for name, tool, file, item, more in (
                ("raw uint16", "nanoGPT's way (tofile)", "nanogpt.bin", 2, ""),
                ("llm.c", "the documented header", "gpt2.bin", 2, ",stride=17"),
                ("Megatron", "the documented index", "megatron.bin", 2, ",format=megatron"),
                ("npy", "numpy.save", "array.npy", 8, ",dtype=int64")):
            with self.subTest(name=name):
                windows = self.stored(file.partition(".")[0], (LENGTH + 1) * item)
                dataset = f"tokens:{self.files / file},length={LENGTH}{more}"
                self.feed(f"tokens ({name})", tool, dataset, [row[:-item] for row in windows], tensor="tokens")


if __name__ == "__main__":
    support.main()
