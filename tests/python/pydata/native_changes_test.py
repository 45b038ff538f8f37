"""Tests that nothing else is fed in silence when files, or a torchvision dataset, change after their loader was made."""
import os
import shutil
import struct
import tempfile

from python_datasets import numpy, support, torch

torchvision = support.need("torchvision")

import penstock  # noqa: E402
from penstock._pydata.loader import PythonLoader  # noqa: E402
from penstock._pydata.native import NativeLoader  # noqa: E402
from penstock.torch import DataLoader  # noqa: E402

STEPS = torchvision.transforms
SMALL = STEPS.Compose([STEPS.Resize((16, 16)), STEPS.ToTensor()])


class NativeChangesTest(support.FeedTest):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="penstock-changes-", dir=self.folder)
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("a", "b"):
            shutil.copytree(os.path.join(self.photographs, sorted(os.listdir(self.photographs))[0]), os.path.join(self.root, name))

    def images(self):
        return torchvision.datasets.ImageFolder(self.root, SMALL)

    def native(self, dataset, **more):
        loader = DataLoader(dataset, batch_size=4, num_workers=1, **more)
        self.addCleanup(loader.close)
        self.assertIsInstance(loader, NativeLoader)
        return loader

    def by_path(self, **more):
        loader = DataLoader(self.root, batch_size=4, transform=SMALL, **more)
        self.addCleanup(loader.close)
        return loader

    def add_class(self):
        shutil.copytree(os.path.join(self.root, "b"), os.path.join(self.root, "0_new"))

    def file(self, number):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)[number]

    def digits(self, transform=None):
        raw = os.path.join(self.root, "MNIST/raw")
        os.makedirs(raw)
        images, labels = numpy.random.RandomState(0).randint(0, 256, (8, 28, 28), "uint8"), numpy.arange(8, dtype="uint8")
        for part in ("train", "t10k"):
            with open(f"{raw}/{part}-images-idx3-ubyte", "wb") as file:
                file.write(struct.pack(">IIII", 2051, 8, 28, 28) + images.tobytes())
            with open(f"{raw}/{part}-labels-idx1-ubyte", "wb") as file:
                file.write(struct.pack(">II", 2049, 8) + labels.tobytes())
        return torchvision.datasets.MNIST(self.root, transform=transform or STEPS.ToTensor())

    # Files that change before the first loop.

    def test_a_folder_that_grew_is_refused(self):
        native, path = self.native(self.images()), self.by_path()
        self.assertEqual(path.dataset.classes, ["a", "b"])
        self.add_class()

        for loader in (native, path):
            with self.subTest(loader=loader), self.assertRaisesRegex(penstock.FailedPrecondition, "has changed since this loader looked"):
                next(iter(loader))

    def test_a_file_that_took_anothers_place_is_refused(self):
        native = self.native(self.images())
        os.rename(self.file(0), os.path.join(self.root, "a", "zzz.JPEG"))

        with self.assertRaisesRegex(penstock.FailedPrecondition, "where it has"):
            next(iter(native))

    def test_new_content_of_the_same_names_is_read(self):
        native, path = self.native(self.images()), self.by_path()
        self.assertEqual(len(path), 5)
        shutil.copyfile(self.file(3), self.file(0))

        for loader in (native, path):
            images, _ = next(iter(loader))
            self.assertTrue(torch.equal(images[0], images[3]))

    def test_a_state_of_other_files_says_what_has_changed(self):
        loader = self.by_path()
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        loader.close()
        self.add_class()
        loader.load_state_dict(state)

        with self.assertRaisesRegex(penstock.FailedPrecondition, "it had 20 samples, and has 30"):
            next(iter(loader))

    # Objects that change.

    def test_a_changed_object_is_refused_at_the_next_epoch(self):
        def transform(dataset):
            dataset.transform = STEPS.Compose([STEPS.Resize((8, 8)), STEPS.ToTensor()])

        def step(dataset):
            dataset.transform.transforms[0] = STEPS.Resize((8, 8))

        def samples(dataset):
            del dataset.samples[10:]

        def target_transform(dataset):
            dataset.target_transform = lambda label: label + 1

        for change in (transform, step, samples, target_transform):
            for epochs in (0, 1):
                with self.subTest(change=change.__name__, epochs=epochs):
                    dataset = torchvision.datasets.ImageFolder(self.root, STEPS.Compose(list(SMALL.transforms)))
                    loader = self.native(dataset)
                    for _ in range(epochs):
                        self.assertEqual(len(list(loader)), 5)
                    change(dataset)

                    name = "transform" if change is step else change.__name__
                    with self.assertRaisesRegex(penstock.FailedPrecondition, f"^'{name}' of the ImageFolder was changed"):
                        iter(loader)

    def test_changed_digits_are_refused(self):
        for name in ("data", "targets"):
            with self.subTest(changed=name):
                shutil.rmtree(os.path.join(self.root, "MNIST"), ignore_errors=True)
                dataset = self.digits()
                loader = self.native(dataset)
                self.assertEqual(next(iter(loader))[1].tolist(), [0, 1, 2, 3])
                getattr(dataset, name)[:] = 7

                with self.assertRaisesRegex(penstock.FailedPrecondition, f"'{name}' of the MNIST was changed"):
                    iter(loader)

    def test_an_unchanged_one_goes_on(self):
        loader = self.native(self.images())
        self.assertEqual([len(list(loader)) for _ in range(3)], [5, 5, 5])

    # Three channels.

    def test_three_channels_of_one_are_pythons(self):
        dataset = self.digits(STEPS.Compose([STEPS.Grayscale(num_output_channels=3), STEPS.ToTensor()]))
        with self.assertRaisesRegex(penstock.InvalidArgument, "makes three channels of one"):
            DataLoader(dataset, batch_size=4, native="require")
        with DataLoader(dataset, batch_size=4, num_workers=1) as loader:
            self.assertIsInstance(loader, PythonLoader)
            images, _ = next(iter(loader))

        self.assertTrue(torch.equal(images, torch.stack([dataset[number][0] for number in range(4)])))
        self.assertEqual(images.shape, (4, 3, 28, 28))
        path = os.path.join(self.root, "MNIST/raw/train-images-idx3-ubyte")
        with self.assertRaisesRegex(penstock.InvalidArgument, "gives three channels, but the images of"):
            next(iter(DataLoader(path, batch_size=4, transform=dataset.transform)))

    def test_three_channels_of_photographs_are_read(self):
        dataset = torchvision.datasets.ImageFolder(self.root, STEPS.Compose([STEPS.Resize((16, 16)), STEPS.Grayscale(3), STEPS.ToTensor()]))
        images, _ = next(iter(self.native(dataset)))

        self.assertTrue(torch.equal(images, torch.stack([dataset[number][0] for number in range(4)])))

    # Broken photographs.

    def test_the_loop_goes_on_behind_a_broken_photograph(self):
        for number in (0, 9, 19):  # of the batches 0, 2 and 4
            with open(self.file(number), "wb") as file:
                file.write(b"not a photograph")
        for loader in (self.native(self.images()), self.by_path(fail_on_bad_sample=True)):
            for epoch in range(2):
                with self.subTest(loader=loader, epoch=epoch):
                    self.assertEqual(self.outcomes(iter(loader)), ["OSError", 4, "OSError", 4, "OSError"])

    def outcomes(self, batches):
        """Of each batch how many rows, or that it failed."""
        found = []
        while len(found) < 20:
            try:
                found.append(len(next(batches)[1]))
            except StopIteration:
                break
            except OSError:
                found.append("OSError")
        return found

    def test_a_state_behind_a_broken_photograph_resumes_there(self):
        with open(self.file(0), "wb") as file:
            file.write(b"not a photograph")
        loader = self.native(self.images(), sampler=list(range(20)))
        batches = iter(loader)
        with self.assertRaises(penstock.DataLoss):
            next(batches)
        state = loader.state_dict()
        other = self.native(self.images(), sampler=list(range(20)))
        other.load_state_dict(state)

        for again in (batches, iter(other)):
            rest = list(again)
            self.assertEqual([len(labels) for _, labels in rest], [4, 4, 4, 4])

    # Seeds.

    def test_a_state_of_another_seed_is_refused(self):
        state = self.by_path(shuffle=True, seed=3).state_dict()
        with self.assertRaisesRegex(penstock.FailedPrecondition, "its seed is 3, the loader's 4; give the loader seed=3"):
            self.by_path(shuffle=True, seed=4).load_state_dict(state)


if __name__ == "__main__":
    support.main()
