"""Tests that torchvision's datasets are read by Penstock itself where that gives the same samples, and only there."""
import os
import struct

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


class NativeTest(support.FeedTest):
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
                ("ColorJitter", self.photographs_of(torchvision.transforms.ColorJitter())),
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
