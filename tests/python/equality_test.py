"""Batches equal Pillow's and torchvision's results for the same files and crop boxes: to the byte before
normalisation and to the last bit after it."""
import os

import support

torch = support.need("torch")
torchvision = support.need("torchvision")
support.need("PIL.Image")

import PIL  # noqa: E402

if int(PIL.__version__.split(".")[0]) >= 13:
    support.skip(f"Pillow {PIL.__version__} resizes some tall pictures upright first; up to 12 it is the reference")

from PIL import Image, ImageOps  # noqa: E402

from torchvision.transforms import functional  # noqa: E402

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DRAW = support.draw()


class EqualityTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        real = support.DATA and os.path.join(support.DATA, "imagenet-sample")
        cls.data = real if real and os.path.isdir(real) else cls.photographs
        print(f"on {'real' if cls.data == real else 'generated'} photographs")
        cls.images = torchvision.datasets.ImageFolder(cls.data)

    def batches(self, transform, **keywords):
        loader = penstock.torch.DataLoader(self.data, batch_size=25, shuffle=True, seed=11, transform=transform,
                                           **keywords)
        self.addCleanup(loader.close)
        return loader

    def random_crop(self, sample, epoch, size, p):
        """Applies torchvision's functions to the box and flip that Penstock drew."""
        image, label = self.images[sample]
        key = (11, epoch, sample)
        x, y, width, height = DRAW["crop"](*image.size, key)
        image = functional.resized_crop(image, y, x, height, width, [size, size])
        return (functional.hflip(image) if DRAW["flip"](key, p) else image), label

    def middle(self, sample, resize, size):
        image, label = self.images[sample]
        return functional.center_crop(functional.resize(image, resize), [size, size]), label

    def check(self, batches, expected, convert, least):
        seen = 0
        for batch in batches:
            for row, sample in enumerate(batch.sample_ids.tolist()):
                image, label = expected(sample, batch.position.epoch)
                self.assertTrue(torch.equal(batch["image"][row], convert(image)), self.images.samples[sample][0])
                self.assertEqual(int(batch["label"][row]), label)
                seen += 1
        self.assertGreaterEqual(seen, least)

    def test_bytes_of_random_crops(self):
        loader = self.batches([penstock.RandomResizedCrop(96), penstock.HorizontalFlip(0.3)], dtype="uint8")

        for _ in range(2):  # two epochs draw different boxes
            self.check(loader, lambda sample, epoch: self.random_crop(sample, epoch, 96, 0.3),
                       functional.pil_to_tensor, len(self.images))

    def test_bytes_of_the_middle(self):
        loader = self.batches([penstock.Resize(80), penstock.CenterCrop(64)], dtype="uint8")

        self.check(loader, lambda sample, _: self.middle(sample, 80, 64), functional.pil_to_tensor, len(self.images))

    def test_bytes_of_gray_rows(self):
        loader = self.batches([penstock.Grayscale(), penstock.RandomResizedCrop(48)], dtype="uint8")

        def expected(sample, epoch):
            image, label = self.images[sample]
            x, y, width, height = DRAW["crop"](*image.size, (11, epoch, sample))
            with Image.open(self.images.samples[sample][0]) as stored:
                gray = stored.convert("L")
            return functional.resized_crop(gray, y, x, height, width, [48, 48]), label

        self.check(loader, expected, functional.pil_to_tensor, len(self.images))

    def test_an_image_is_turned_on_request(self):
        folder = os.path.join(self.folder, "turned")
        path = os.path.join(folder, "class", "a.jpg")
        os.makedirs(os.path.dirname(path))
        exif = Image.Exif()
        exif[0x0112] = 6  # rotated by 90 degrees
        self.images[0][0].save(path, exif=exif, quality=95)
        with Image.open(path) as file:
            upright = ImageOps.exif_transpose(file).convert("RGB")
            stored = file.convert("RGB")
        middle = [penstock.Resize(40), penstock.CenterCrop(40)]

        for transform, source in ((middle, stored), ([penstock.ExifTranspose()] + middle, upright)):
            with penstock.torch.DataLoader(folder, transform=transform, dtype="uint8") as loader:
                got = next(iter(loader))["image"][0]

            expected = functional.center_crop(functional.resize(source, 40), [40, 40])
            self.assertTrue(torch.equal(got, functional.pil_to_tensor(expected)))

    def test_normalised_numbers(self):
        transform = torchvision.transforms.Compose([
            torchvision.transforms.RandomResizedCrop(64), torchvision.transforms.RandomHorizontalFlip(),
            torchvision.transforms.ToTensor(), torchvision.transforms.Normalize(MEAN, STD)])
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                loader = self.batches(transform, dtype=dtype)

                self.check(loader, lambda sample, epoch: self.random_crop(sample, epoch, 64, 0.5),
                           lambda image: functional.normalize(functional.to_tensor(image), MEAN, STD).to(dtype),
                           len(self.images))


if __name__ == "__main__":
    support.main()
