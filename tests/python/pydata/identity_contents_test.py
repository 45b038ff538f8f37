"""Tests identities of arrays, mapped files, tensors, images, and of datasets as people write them."""
import importlib.util
import os
import time
import unittest

import identities
from slots import support

numpy = support.need("numpy")
from penstock._pydata.identity import identify  # noqa: E402

ARRAYS = {
    "an array's middle": ["import numpy\ndataset = numpy.zeros(10**6)", "import numpy\ndataset = numpy.zeros(10**6)\ndataset[500_000] = 1"],
    "a type, a shape, an order": [f"import numpy\ndataset = numpy.zeros({made}" for made in
                                  ("(2, 3), 'f4')", "(2, 3), 'i4')", "(3, 2), 'f4')", "6, 'f4')", "(2, 3), '>f4')", "(2, 3), 'f4', 'F')")],
    "bytes that a type hides": ["import numpy\ndataset = numpy.array([0.0])", "import numpy\ndataset = numpy.array([-0.0])"],
    "an array of objects": [f"import numpy\ndataset = numpy.array([{n}, 'a', None], object)" for n in (1, 2)],
    "a structured array": [f"import numpy\ndataset = numpy.zeros(2, [('a', 'i4'), ('{name}', 'f4')])" for name in "bc"],
    "dates and texts": [f"import numpy\ndataset = numpy.array([{made}])" for made in
                        ("'a'", "'b'", "numpy.datetime64('2020-01-01')", "numpy.datetime64('2020-01-02')", "b'a'")],
    "a scalar": ["import numpy\ndataset = numpy.float32(1)", "import numpy\ndataset = numpy.float64(1)", "import numpy\ndataset = numpy.float32(2)"],
    "a subclass's attribute": [f"import numpy\nclass A(numpy.ndarray): pass\ndataset = numpy.zeros(2).view(A)\ndataset.x = {n}" for n in (1, 2)],
    "a mask": [f"import numpy\ndataset = numpy.ma.masked_array([1, 2], [0, {n}])" for n in (0, 1)],
    "a vectorised function": [f"import numpy\ndef f(i): return {n}\ndataset = numpy.vectorize(f)" for n in (1, 2)],
    "a view": ["import numpy\nbase = numpy.arange(10)\ndataset = base[:5]", "import numpy\nbase = numpy.arange(10)\ndataset = base[5:]"],
    "a generator": [f"import numpy\ndataset = numpy.random.{made}" for made in
                    ("default_rng(1)", "default_rng(2)", "RandomState(1)", "RandomState(2)")],
    "a function of C": ["import numpy\ndataset = numpy.sin", "import numpy\ndataset = numpy.cos", "import numpy\ndataset = numpy.random.default_rng"],
    "a library's function by another path": ["import numpy\ndef f(i): return numpy.linalg.norm(i)\ndataset = f",
                                             "import numpy\ndef f(i): return numpy.linalg.inv(i)\ndataset = f"],
    "an array in a closure": [f"import numpy\ndef m(a):\n return lambda i: a[i]\ndataset = m(numpy.array([1, {n}]))" for n in (1, 2)],
}

TORCH = {
    "a tensor's middle": ["import torch\ndataset = torch.zeros(10**5)", "import torch\ndataset = torch.zeros(10**5)\ndataset[5000] = 1"],
    "a type, a shape, an order": [f"import torch\ndataset = {made}" for made in
                                  ("torch.zeros(2, 3)", "torch.zeros(3, 2)", "torch.zeros(2, 3, dtype=torch.bfloat16)",
                                   "torch.zeros(2, 3, dtype=torch.float16)", "torch.zeros(3, 2).t()", "torch.nn.Parameter(torch.zeros(2, 3))",
                                   "torch.zeros(2, 3, requires_grad=True)", "torch.zeros(2, 3).to_sparse()", "torch.eye(3).to_sparse()",
                                   "torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)",
                                   "torch.quantize_per_tensor(torch.ones(3), 0.2, 0, torch.quint8)")],
    "a dtype or a device": [f"import torch\ndataset = torch.{made}" for made in ("float32", "float64", "device('cpu')", "Size([1])", "strided")],
    "a dataset of tensors": [f"import torch\nfrom torch.utils.data import ConcatDataset, Subset, TensorDataset\ndataset = {made}" for made in
                             ("TensorDataset(torch.arange(5))", "TensorDataset(torch.arange(6))", "Subset(TensorDataset(torch.arange(5)), [1, 2])",
                              "Subset(TensorDataset(torch.arange(5)), [2, 1])", "ConcatDataset([TensorDataset(torch.arange(5))])")],
    "a module": [f"import torch\ntorch.manual_seed({n})\ndataset = torch.nn.{layer}" for n, layer in
                 ((1, "Linear(2, 2)"), (2, "Linear(2, 2)"), (1, "Dropout(0.5)"), (1, "Dropout(0.6)"), (1, "BatchNorm1d(2)"),
                  (1, "BatchNorm1d(2).eval()"))],
    "a generator": [f"import torch\ndataset = torch.Generator()\ndataset.manual_seed({n})" for n in (1, 2)],
    "the default type": [f"import torch\ntorch.set_default_dtype(torch.float{n})\ndef undo(): torch.set_default_dtype(torch.float32)\n"
                         "dataset = lambda i: torch.zeros(i)" for n in (32, 64)],
    "a function of torch's that was replaced": [
        "import torch.nn.functional as F\ndef f(i): return F.relu(i)\ndataset = f",
        "import torch.nn.functional as F\nold = F.relu\nF.relu = lambda i: i\ndef undo(): F.relu = old\ndef f(i): return F.relu(i)\ndataset = f"],
}

TORCH_SAME = {
    "the global generator": [f"import torch\ntorch.manual_seed({n})\ndef f(i): return torch.rand(3), torch.default_generator\ndataset = f"
                             for n in (1, 2)],
    "number of threads": [f"import torch\nold = torch.get_num_threads()\ntorch.set_num_threads({n})\ndef undo(): torch.set_num_threads(old)\n"
                          "dataset = lambda i: torch.zeros(i)" for n in (1, 2)],
    "collating": ["import torch\nfrom torch.utils.data import default_collate\ndef f(rows): return default_collate(rows)\ndataset = f\n"
                  "def use(): f([1, 2]), f([torch.ones(1)])"],
}

IMAGES = {
    "an image": [f"from PIL import Image\ndataset = Image.new('{mode}', {size}, {colour})\n{more}" for mode, size, colour, more in
                 (("RGB", (3, 2), "'red'", ""), ("RGB", (3, 2), "'blue'", ""), ("RGB", (2, 3), "'red'", ""), ("L", (3, 2), 5, ""),
                  ("RGB", (3, 2), "'red'", "dataset.label = 5"), ("RGB", (3, 2), "'red'", "dataset.info['dpi'] = (1, 1)"))],
    "a palette": [f"from PIL import Image\ndataset = Image.new('P', (2, 2))\ndataset.putpalette([{n}] * 768)" for n in (1, 2)],
    "a setting of Pillow's": [
        f"from PIL import Image, ImageFile\nImageFile.LOAD_TRUNCATED_IMAGES = {flag}\ndef undo(): ImageFile.LOAD_TRUNCATED_IMAGES = False\n"
        "def f(i): return Image.open(i)\ndataset = f" for flag in (False, True)],
    "a method of Pillow's that was replaced": [
        "from PIL import Image\ndef f(i): return Image.open(i)\ndataset = f",
        "from PIL import Image\nold = Image.Image.convert\nImage.Image.convert = lambda s, m: s\ndef undo(): Image.Image.convert = old\n"
        "def f(i): return Image.open(i)\ndataset = f"],
}

TRANSFORMS = {
    "a transform": [f"from torchvision import transforms as T\ndataset = T.Compose([{made}])" for made in
                    ("T.Resize(8)", "T.Resize(9)", "T.Resize(8), T.ToTensor()", "T.CenterCrop(8)", "T.Lambda(lambda i: i)",
                     "T.Lambda(lambda i: -i)", "T.Normalize([0.5], [0.5])", "T.Normalize([0.5], [0.6])", "T.RandomCrop(8, padding=1)")],
}
TRANSFORMS_SAME = {
    "a transform in use": ["import torch\nfrom torchvision import transforms as T\nfrom PIL import Image\ndataset = T.Compose([T.Resize(8), "
                           "T.RandomCrop(4), T.ToTensor()])\ndef use(): dataset(Image.new('RGB', (20, 20)))"],
}


# Libraries that hold datasets or their settings, by module: what must differ, and what must not.
LIBRARIES = {
    "pandas": ([f"import pandas\ndataset = pandas.DataFrame({{'a': [1, {n}], 'b': ['x', '{text}']}})" for n, text in ((2, "y"), (3, "y"), (2, "z"))],
               "import pandas\ndataset = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\ndef use(): dataset[dataset.a > 1], dataset.describe()"),
    "datasets": ([f"import datasets\ndataset = datasets.Dataset.from_dict({{'a': [1, {n}]}}).{more}" for n, more in
                  ((2, "select([0])"), (2, "select([1])"), (3, "select([0])"), (2, "with_transform(lambda rows: rows)"),
                   (2, "with_transform(lambda rows: dict(rows))"), (2, "with_format('numpy')"))],
                 "import datasets\ndataset = datasets.Dataset.from_dict({'a': [1, 2]})\ndef use(): dataset[0], list(dataset), len(dataset)"),
    "attrs": ([f"import attrs\n@attrs.define\nclass A:\n x: int = 1\ndataset = A({n})" for n in (1, 2)],
              "import attrs\n@attrs.define\nclass A:\n x: int = 1\ndataset = A()\ndef use(): repr(dataset), dataset == A()"),
    "pydantic": ([f"import pydantic\nclass P(pydantic.BaseModel):\n x: int = {n}\ndataset = P()" for n in (1, 2)],
                 "import pydantic\nclass P(pydantic.BaseModel):\n x: int = 1\ndataset = P()\ndef use(): dataset.model_dump(), repr(dataset)"),
    "omegaconf": ([f"import omegaconf\ndataset = omegaconf.OmegaConf.create({{'a': {{'b': [1, {n}]}}}})" for n in (1, 2)],
                  "import omegaconf\ndataset = omegaconf.OmegaConf.create({'a': {'b': [1]}})\ndef use(): dataset.a.b[0], dict(dataset)"),
    "scipy": ([f"import scipy.sparse, numpy\ndataset = scipy.sparse.csr_matrix(numpy.eye(3) * {n})" for n in (1, 2)],
              "import scipy.sparse, numpy\ndataset = scipy.sparse.csr_matrix(numpy.eye(3))"),
}


class ContentsTest(identities.Cases, unittest.TestCase):
    def has(self, *modules):
        for module in modules:
            try:
                __import__(module)
            except ImportError as error:
                self.skipTest(f"no {module} ({error})")

    def test_arrays(self):
        self.check(different=ARRAYS, opaque={
            "a function of C that has a name alone": (
                "import numpy\ndef f(i): return 1\ndataset = numpy.frompyfunc(f, 1, 1)", "says only its name")}, same={
            "one content": ["import numpy\ndataset = numpy.arange(5)", "import numpy\ndataset = numpy.array([0, 1, 2, 3, 4])"],
            "the global generator": [f"import numpy\nnumpy.random.seed({n})\ndef f(i): return numpy.random.rand(), numpy.random.mtrand._rand\n"
                                     "dataset = f" for n in (1, 2)]})

    @unittest.skipUnless(hasattr(getattr(numpy, "dtypes", None), "StringDType"), "this NumPy has no texts of variable length")
    def test_texts_of_variable_length(self):
        self.check(different={"texts": [f"import numpy\ndataset = numpy.array(['{letter}' * 100, 'c'], numpy.dtypes.StringDType())"
                                        for letter in "ab"]})

    def test_tensors(self):
        self.has("torch")
        self.check(different=TORCH, same=TORCH_SAME)

    def test_images(self):
        self.has("PIL")
        self.check(different=IMAGES, same={"an image in use": [
            "from PIL import Image\ndataset = Image.new('RGB', (4, 4), 'red')\ndef use(): dataset.getbbox(), dataset.load(), dataset.getexif()"]})

    def test_transforms_of_torchvision(self):
        self.has("torch", "torchvision")
        self.check(different=TRANSFORMS, same=TRANSFORMS_SAME)

    def test_other_libraries(self):
        there = [name for name in LIBRARIES if importlib.util.find_spec(name)]
        if not there:
            self.skipTest(f"none of {', '.join(LIBRARIES)} is installed")
        self.check(different={name: LIBRARIES[name][0] for name in there}, same={name: [LIBRARIES[name][1]] for name in there})

    def test_tensors_on_a_gpu_are_not_looked_at(self):
        self.has("torch")
        self.check(opaque={"meta": ("import torch\ndataset = [torch.ones(2, device='meta')]", "a tensor on meta")})

    def test_a_mapped_file_is_its_place_and_state_and_is_not_read(self):
        path = os.path.join(self.enterFolder(), "a.npy")
        numpy.save(path, numpy.arange(1000))
        usual = identify(dataset=numpy.load(path, mmap_mode="r"))
        self.assertEqual(identify(dataset=numpy.load(path, mmap_mode="r")), usual)
        mapped = numpy.load(path, mmap_mode="r")
        views = [mapped[1:], mapped[:-1], mapped[::2], numpy.asarray(mapped)[2:], mapped.reshape(10, 100)]
        self.assertEqual(len({usual.digest, *(identify(dataset=view).digest for view in views)}), 6)

        os.utime(path, ns=(1, 1))
        self.assertNotEqual(identify(dataset=numpy.load(path, mmap_mode="r")), usual)
        time.sleep(0.01)
        numpy.save(path, numpy.arange(1, 1001))
        self.assertNotEqual(identify(dataset=numpy.load(path, mmap_mode="r")), usual)

    def test_a_mapped_file_that_may_be_written_is_read(self):
        path = os.path.join(self.enterFolder(), "a.npy")
        numpy.save(path, numpy.arange(1000))
        for mode in ("c", "r+"):
            one, two = numpy.load(path, mmap_mode=mode), numpy.load(path, mmap_mode=mode)
            with self.subTest(mode=mode):
                self.assertEqual(identify(dataset=one), identify(dataset=two))
                before = identify(dataset=one)
                one[500] += 1
                self.assertNotEqual(identify(dataset=one), before)


if __name__ == "__main__":
    support.main()
