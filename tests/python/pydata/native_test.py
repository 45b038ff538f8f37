"""Tests that torchvision's datasets are read by Penstock itself where that gives the same samples, and only there."""
import io
import os
import pickle
import struct
import unittest.mock

from python_datasets import numpy, plain, support, torch

torchvision = support.need("torchvision")

import penstock  # noqa: E402
from penstock._pydata.loader import PythonLoader  # noqa: E402
from penstock._pydata.native import NativeLoader  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402

TO_TENSOR = torchvision.transforms.Compose([
    torchvision.transforms.Resize(40), torchvision.transforms.CenterCrop(32), torchvision.transforms.ToTensor(),
    torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
DIGITS = torchvision.transforms.Compose([torchvision.transforms.ToTensor(), torchvision.transforms.Normalize((0.1307,), (0.3081,))])


COLOURS = torchvision.transforms.Compose([torchvision.transforms.ToTensor(),
                                          torchvision.transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])


class AsPython2(pickle._Pickler):
    """Writes bytes as texts, as Python 2 does; its pickles of CIFAR are of protocol 2."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value):
        short = len(value) < 256
        self.write((b"U" + bytes([len(value)]) if short else b"T" + struct.pack("<i", len(value))) + value)
        self.memoize(value)

    dispatch[bytes] = save_bytes


def pickled(batch):
    """As Python 2 and an old NumPy pickled the batch: all texts are bytes."""
    file = io.BytesIO()
    AsPython2(file, 2).dump({key.encode(): [each.encode() if isinstance(each, str) else each for each in value]
                             if isinstance(value, list) else value.encode() if isinstance(value, str) else value
                             for key, value in batch.items()})
    return file.getvalue()


class VOCSegmentation(torchvision.datasets.VisionDataset):
    """Stands in for torchvision's, which needs all of its files."""

    __module__ = "torchvision.datasets.voc"

    def __init__(self, root):
        super().__init__(root)
        self.images, self.image_set = [os.path.join(root, "JPEGImages/1.jpg")], "train"

    def __getitem__(self, index):
        return index

    def __len__(self):
        return 4


class NativeTest(support.FeedTest):
    def test_python_makes_masks_and_boxes_and_says_how_penstock_would_read_them(self):
        dataset = VOCSegmentation("/data/VOCdevkit/VOC2012")
        with self.assertLogs("penstock", "INFO") as logs, DataLoader(dataset, batch_size=4, num_workers=1) as loader:
            self.assertIsInstance(loader, PythonLoader)
            self.assertEqual(next(iter(loader)).tolist(), [0, 1, 2, 3])
        self.assertIn("voc:/data/VOCdevkit/VOC2012,split=train,set=Segmentation", "".join(logs.output))
        with self.assertRaisesRegex(penstock.InvalidArgument, "other pixels than Pillow's nearest"):
            DataLoader(dataset, batch_size=4, native="require")

    def photographs_of(self, transform=TO_TENSOR, **keywords):
        return torchvision.datasets.ImageFolder(self.photographs, transform, **keywords)

    def digits(self):
        raw = os.path.join(self.folder, "MNIST/raw")
        os.makedirs(raw, exist_ok=True)
        draw = numpy.random.RandomState(0)
        images, labels = draw.randint(0, 256, (50, 28, 28), "uint8"), draw.randint(0, 10, 50, "uint8")
        for part in ("train", "t10k"):
            with open(f"{raw}/{part}-images-idx3-ubyte", "wb") as file:
                file.write(struct.pack(">IIII", 2051, 50, 28, 28) + images.tobytes())
            with open(f"{raw}/{part}-labels-idx1-ubyte", "wb") as file:
                file.write(struct.pack(">II", 2049, 50) + labels.tobytes())
        return torchvision.datasets.MNIST(self.folder, transform=DIGITS)

    def colours(self, kind, folder, parts, **keywords):
        """CIFAR as torchvision downloads it, with other images."""
        path = os.path.join(self.folder, folder)
        os.makedirs(path, exist_ok=True)
        draw = numpy.random.RandomState(1)
        for part in parts:
            names = {"labels": 10} if kind == "CIFAR10" else {"fine_labels": 100, "coarse_labels": 20}
            labels = {name: draw.randint(0, most, 6).tolist() for name, most in names.items()}
            images = draw.randint(0, 256, (6, 3072), "uint8")
            with open(os.path.join(path, part), "wb") as file:
                file.write(pickled({"batch_label": part, **labels, "data": images, "filenames": ["x.png"] * 6}))
        meta, key = ("batches.meta", "label_names") if kind == "CIFAR10" else ("meta", "fine_label_names")
        names = penstock.Loader(f"cifar:{path},split=test", batch_size=1).dataset.classes
        with open(os.path.join(path, meta), "wb") as file:
            pickle.dump({key: list(names)}, file)
        self.enterContext(unittest.mock.patch("torchvision.datasets.cifar.check_integrity", lambda *_: True))
        return getattr(torchvision.datasets, kind)(self.folder, transform=COLOURS, **keywords)

    def test_cifars_batches_are_those_of_python(self):
        for kind, folder, parts in (("CIFAR10", "cifar-10-batches-py", [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]),
                                    ("CIFAR100", "cifar-100-python", ["train", "test"])):
            for train in (True, False):
                with self.subTest(kind, train=train):
                    dataset = self.colours(kind, folder, parts, train=train)
                    own = self.loader(dataset, native="require")
                    self.assertEqual([plain(batch) for batch in own],
                                     [plain(batch) for batch in self.loader(dataset, native="never")])
                    dataset.data[0, 0, 0, 0] ^= 1
                    with self.assertRaisesRegex(penstock.InvalidArgument, "not that of its files"):
                        self.loader(dataset, native="require")

    def loader(self, dataset, **keywords):
        loader = DataLoader(dataset, batch_size=8, **{"num_workers": 2, "shuffle": True, **keywords})
        self.addCleanup(loader.close)
        return loader

    def test_batches_are_those_of_python(self):
        for dataset in (self.photographs_of(), self.digits()):
            own, python = self.loader(dataset), self.loader(dataset, native="never")
            self.assertEqual((type(own), type(python)), (NativeLoader, PythonLoader))
            self.assertEqual([plain(batch) for batch in own], [plain(batch) for batch in python])
            self.assertIs(own.dataset, dataset)
            self.assertEqual(len(own), len(python))

    def test_a_torch_loader_made_of_its_attributes_gives_the_same(self):
        for keywords in ({"shuffle": True}, {"shuffle": False}, {"shuffle": True, "rank": 1, "world_size": 3},
                         {"shuffle": False, "sampler": [3, 1, 4, 1, 5, 9, 2, 6, 5]}):
            own = self.loader(self.photographs_of(), **keywords)
            other = torch.utils.data.DataLoader(own.dataset, batch_sampler=own.batch_sampler, collate_fn=own.collate_fn,
                                                num_workers=own.num_workers)
            with self.subTest(**keywords):
                for _ in range(2):
                    expected = [plain(batch) for batch in other]
                    self.assertEqual([plain(batch) for batch in own], expected)
        with self.assertRaisesRegex(penstock.InvalidArgument, "native='never'"):
            own.collate_fn = list

    def test_what_would_differ_is_left_to_python(self):
        shorter, relabeled, changed = self.photographs_of(), self.photographs_of(), self.digits()
        shorter.samples = shorter.samples[:-1]
        relabeled.samples = [(path, 0) for path, _ in relabeled.samples]
        changed.data[3, 3, 3] += 1
        for words, dataset in (
                ("100 samples", shorter), ("of class", relabeled), ("its data", changed),
                ("loader", self.photographs_of(loader=lambda path: torchvision.datasets.folder.default_loader(path))),
                ("target_transform", self.photographs_of(target_transform=str)),
                ("different sizes", self.photographs_of(torchvision.transforms.ToTensor())),
                ("gives no tensor", self.photographs_of(torchvision.transforms.Resize(40))),
                ("gives no tensor", self.photographs_of(torchvision.transforms.ColorJitter())),
                ("FiveCrop", self.photographs_of(torchvision.transforms.FiveCrop(9))),
                ("neither", torch.utils.data.Subset(self.photographs_of(), [1, 2]))):
            with self.subTest(words=words):
                self.assertIs(type(self.loader(dataset)), PythonLoader)
                with self.assertRaisesRegex(penstock.InvalidArgument, words):
                    self.loader(dataset, native="require")

    def test_without_workers_or_with_functions_it_is_python(self):
        for keywords in ({"num_workers": 0}, {"collate_fn": list}, {"worker_init_fn": int}):
            self.assertIs(type(self.loader(self.photographs_of(), **keywords)), PythonLoader)


if __name__ == "__main__":
    support.main()
