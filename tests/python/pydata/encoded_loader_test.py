"""Tests that loaders of encoded images in Python samples, and of native datasets with Python functions, give the batches of
the native loader, made in this process and by forked workers."""
import pathlib
import pickle

from slots import support

numpy = support.need("numpy")
torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

CROP, FLIP, NORMALIZE = penstock.RandomResizedCrop(40), penstock.HorizontalFlip(), penstock.Normalize("imagenet")
STEPS = [CROP, FLIP, NORMALIZE]


class Files(torch.utils.data.Dataset):
    """The photographs of a folder, in ImageFolder's order."""

    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder).rglob("*.*"))
        self.classes = sorted({file.parent.name for file in self.files})

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        file = self.files[index]
        return penstock.Encoded(file.read_bytes()), self.classes.index(file.parent.name)


class AtOnce(Files):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Streamed(torch.utils.data.IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return (self.files[index] for index in range(first, len(self.files), step))


def darker(image):
    return image // 2


class EncodedLoaderTest(support.FeedTest):
    workers = 0

    def loader(self, dataset, *arguments, transform=STEPS, **keywords):
        loader = penstock.torch.DataLoader(dataset, *arguments, transform=transform, seed=7, num_workers=self.workers, timeout=60,
                                           **keywords)
        self.addCleanup(loader.close)
        return loader

    def check_equal(self, dataset, transform=STEPS, native=STEPS, **keywords):
        """Compares two epochs of a loader with those of the native one."""
        expected = self.loader(self.photographs, 16, transform=native, **keywords)
        loader = self.loader(dataset, 16, transform=transform, **keywords)
        for _ in range(2):
            batches = 0
            for (images, labels), (own_images, own_labels) in zip(expected, loader):
                self.assertTrue(torch.equal(own_images, images))
                self.assertTrue(torch.equal(own_labels, labels))
                batches += 1
            self.assertEqual(batches, len(expected))

    def test_encoded_samples_are_the_native_loaders(self):
        files = Files(self.photographs)
        self.check_equal(files)
        self.check_equal(files, shuffle=True)
        self.check_equal(AtOnce(self.photographs), shuffle=True)
        self.check_equal(files, shuffle=True, dtype="float16", layout="NHWC")
        self.check_equal(files, transform=STEPS[:2], native=STEPS[:2], dtype=torch.uint8, shuffle=True)

    def test_so_they_are_on_each_rank_and_with_padding(self):
        for last_batch in ("pad_ranks", "pad_batch", "partial"):
            for rank in (0, 2):
                self.check_equal(Files(self.photographs), shuffle=True, rank=rank, world_size=3, last_batch=last_batch)

    def test_so_they_are_in_a_samplers_order(self):
        self.check_equal(Files(self.photographs), sampler=[5, 5, 80, 3, 5, 99])

    def test_a_native_dataset_takes_functions(self):
        for function in (lambda image: image, penstock.Python(lambda image: image, "tensor"), penstock.Python(lambda image: image, "pil")):
            self.check_equal(self.photographs, transform=[CROP, FLIP, function, NORMALIZE], shuffle=True)
        loader = self.loader(self.photographs, 10, transform=[CROP, darker])
        batch = next(iter(loader))
        plain = next(iter(self.loader(self.photographs, 10, transform=[CROP], dtype="uint8")))

        self.assertEqual(list(batch.keys()), ["image", "label"])
        self.assertTrue(torch.equal(batch["image"], (plain["image"] // 2).to(torch.float32).div(255)))

    def test_a_part_of_a_native_dataset_takes_functions(self):
        native = self.loader(self.photographs, 10, range=(20, 50))
        own = self.loader(self.photographs, 10, transform=[CROP, FLIP, lambda image: image, NORMALIZE], range=(20, 50))

        for (images, labels), (own_images, own_labels) in zip(native, own):
            self.assertTrue(torch.equal(own_images, images))
            self.assertTrue(torch.equal(own_labels, labels))

    def test_functions_draw_from_the_samples_generator(self):
        def noise(image):
            return image + penstock.rng().integers(0, 9, image.shape, dtype=numpy.uint8)

        one = [batch[0] for batch in self.loader(self.photographs, 10, transform=[CROP, noise], shuffle=True)]
        two = [batch[0] for batch in self.loader(self.photographs, 20, transform=[CROP, noise], shuffle=True)]

        self.assertTrue(torch.equal(torch.cat(one), torch.cat(two)))

    def test_an_iterable_dataset_may_give_them(self):
        loader = self.loader(Streamed(Files(self.photographs)), 10, transform=[CROP])
        images = torch.cat([images for images, _ in loader])

        self.assertEqual(images.shape, (100, 3, 40, 40))
        if self.workers == 0:  # else no order is promised
            self.assertTrue(torch.equal(images[:10], next(iter(self.loader(self.photographs, 10, transform=[CROP])))[0]))

    def test_a_state_resumes_and_a_loader_is_pickled(self):
        loader = self.loader(Files(self.photographs), 10, shuffle=True)
        whole = [images for images, _ in loader]
        loader.set_epoch(0)
        begun = [next(iter(loader))[0]]
        again = pickle.loads(pickle.dumps(loader))
        self.addCleanup(again.close)

        self.assertTrue(torch.equal(torch.cat(begun + [images for images, _ in again]), torch.cat(whole)))

    def test_a_bad_image_raises_in_the_loop(self):
        class Broken(Files):
            def __getitem__(self, index):
                return penstock.Encoded(b"\xff\xd8\xff\xdb") if index == 3 else super().__getitem__(index)[0]

        with self.assertRaisesRegex(penstock.DataLoss, "the image of 4 bytes cannot be decoded: truncated"):
            list(self.loader(Broken(self.photographs), 10))

    def test_what_cannot_be_is_refused(self):
        files = Files(self.photographs)
        with self.assertRaisesRegex(penstock.InvalidArgument, "Normalize comes before darker"):
            self.loader(self.photographs, 10, transform=[CROP, NORMALIZE, darker])
        with self.assertRaisesRegex(penstock.InvalidArgument, "dtype is 'uint8'"):
            self.loader(files, 10, dtype="uint8")
        with self.assertRaisesRegex(penstock.InvalidArgument, "fields is for datasets that Penstock reads itself"):
            self.loader(files, 10, fields=["txt"])


class WorkersTest(EncodedLoaderTest):
    """The same by forked workers."""

    workers = 2


if __name__ == "__main__":
    support.main()
