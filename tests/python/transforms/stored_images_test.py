"""Images that are stored as rows (MNIST's files, CIFAR's) go through recipes as decoded ones do."""
import pathlib
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

numpy = support.need("numpy")
torch = support.need("torch")
if not any(pathlib.Path(__import__("penstock").__file__).parent.glob("_decode*.so")):
    support.skip("the extension penstock._decode is not built")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from penstock import _decode  # noqa: E402
from penstock._pydata.images import decoding  # noqa: E402
from penstock.transforms import plan_of  # noqa: E402

SEED, SAMPLES = 4, 60


class StoredImagesTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rng = numpy.random.default_rng(1)
        cls.gray = rng.integers(0, 256, (SAMPLES, 28, 28), dtype="uint8")
        cls.colors = rng.integers(0, 256, (SAMPLES, 32, 32, 3), dtype="uint8")
        cls.labels = rng.integers(0, 10, SAMPLES, dtype="uint8")
        cls.place = pathlib.Path(tempfile.mkdtemp(dir=cls.folder))
        images, labels = cls.place / "train-images-idx3-ubyte", cls.place / "train-labels-idx1-ubyte"
        images.write_bytes(struct.pack(">IIII", 0x803, SAMPLES, 28, 28) + cls.gray.tobytes())
        labels.write_bytes(struct.pack(">II", 0x801, SAMPLES) + cls.labels.tobytes())
        cls.mnist = str(images)
        numpy.save(cls.place / "image.npy", cls.colors)
        cls.cifar = cls.place / "cifar"
        cls.cifar.mkdir()
        records = b"".join(bytes([label]) + image.transpose(2, 0, 1).tobytes() for label, image in zip(cls.labels, cls.colors))
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            (cls.cifar / name).write_bytes(records)

    def loader(self, dataset, transform, kind=penstock.Loader, **keywords):
        loader = kind(dataset, 16, shuffle=True, seed=SEED, transform=transform, **keywords)
        self.addCleanup(loader.close)
        return loader

    def expected(self, pixels, plan, epoch, sample):
        """What the decoder makes of a PPM or PGM of these pixels."""
        kind = "P5" if pixels.ndim == 2 else "P6"
        file = f"{kind}\n{pixels.shape[1]} {pixels.shape[0]}\n255\n".encode() + pixels.tobytes()
        data, spec = numpy.frombuffer(file, "uint8"), decoding.spec_of(plan)
        decoder = _decode.Decoder(1 << 30, 100_000_000, 100)
        row = numpy.empty(decoder.shape(data, spec), "uint8")
        self.assertIsNone(decoder.decode_row(data, spec, SEED, epoch, sample, row.reshape(-1)))
        return row

    def check(self, dataset, images, transform, plan):
        changed = 0
        for batch in self.loader(dataset, transform):
            for row, sample, label in zip(batch["image"], batch.sample_ids.tolist(), batch["label"]):
                pixels = images[sample % SAMPLES]
                self.assertTrue(numpy.array_equal(row, self.expected(pixels, plan, batch.position.epoch, sample)))
                self.assertEqual(label, self.labels[sample % SAMPLES])
                changed += not numpy.array_equal(row.squeeze(), pixels)
        self.assertGreater(changed, 0)

    def test_the_usual_recipe_of_cifar(self):
        steps = [penstock.RandomCrop(32, padding=4), penstock.HorizontalFlip(), penstock.TrivialAugmentWide()]
        self.check(f"cifar:{self.cifar},split=train", self.colors, steps, plan_of(steps))

    def test_gray_images_stay_gray(self):
        steps = [penstock.RandomCrop(28, padding=2), penstock.RandomRotation(10)]
        self.check(self.mnist, self.gray, steps, plan_of([penstock.Grayscale(), *steps]))

    def test_steps_that_keep_the_size_need_no_crop(self):
        steps = [penstock.HorizontalFlip(), penstock.ColorJitter(0.4)]
        self.check(f"cifar:{self.cifar},split=test", self.colors, steps, plan_of(steps).of_size((32, 32)))

    def test_a_crop_may_make_them_larger(self):
        steps = [penstock.RandomResizedCrop(64)]
        self.check(f"cifar:{self.cifar},split=test", self.colors, steps, plan_of(steps))

    def test_views_of_them(self):
        steps = [penstock.RandomCrop(32, padding=4), penstock.HorizontalFlip()]
        loader = penstock.Loader(f"cifar:{self.cifar},split=train", 16, views={"a": steps, "b": steps})
        self.addCleanup(loader.close)
        batch = next(iter(loader))
        self.assertEqual((batch["a"].shape, batch["b"].shape), ((16, 32, 32, 3),) * 2)
        self.assertFalse(numpy.array_equal(batch["a"], batch["b"]))

    def test_without_steps_they_come_as_they_are_stored(self):
        for batch in self.loader(f"cifar:{self.cifar},split=test", None):
            for row, sample in zip(batch["image"], batch.sample_ids.tolist()):
                self.assertTrue(numpy.array_equal(row, self.colors[sample]))

    def test_tensors_are_finished_as_others(self):
        mean, std = [0.4914, 0.4822, 0.4465], [0.247, 0.2435, 0.2616]
        steps = [penstock.RandomCrop(32, padding=4), penstock.HorizontalFlip()]
        where = f"cifar:{self.cifar},split=train"
        floats = self.loader(where, [*steps, penstock.Normalize(mean, std)], penstock.torch.DataLoader)
        for stored, batch in zip(self.loader(where, steps), floats):
            numbers = torch.from_numpy(stored["image"].copy()).permute(0, 3, 1, 2).float().div(255)
            expected = numbers.sub(torch.tensor(mean).view(-1, 1, 1)).div(torch.tensor(std).view(-1, 1, 1))
            self.assertTrue(torch.equal(batch["image"], expected))


if __name__ == "__main__":
    support.main()
