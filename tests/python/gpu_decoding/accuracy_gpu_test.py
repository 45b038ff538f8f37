"""A ResNet-18 that is trained on digits in colour, decoded by workers and on the GPU, reaches the same accuracy."""
import gzip
import io
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
import penstock  # noqa: E402  (before CUDA is used)

torch = support.need("torch")
numpy = support.need("numpy")
support.need("PIL")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")
if not support.DATA or not pathlib.Path(support.DATA, "mnist").is_dir():
    support.skip("no folder mnist in PENSTOCK_TEST_DATA")

import penstock.torch  # noqa: E402
from penstock.bench.train import resnet  # noqa: E402
from PIL import Image  # noqa: E402

IMAGES, TRAINED = 10000, 8000
EPOCHS, SEEDS = 6, 3
CROP = [penstock.RandomResizedCrop(64, scale=(0.5, 1.0)), penstock.Normalize("half")]


def digits():
    folder = pathlib.Path(support.DATA, "mnist")
    images = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    return numpy.frombuffer(images, numpy.uint8).reshape(IMAGES, 28, 28), list(labels)


def coloured(digit, random):
    """A digit and its ground in two colours of nearly the same brightness, so that chroma decides, as a JPEG file with 4:2:0."""
    ink, ground = (numpy.array(random.permutation([40, 110, 180])) for _ in range(2))
    if (ink == ground).all():
        ground = ink[[1, 2, 0]]
    weight = digit[..., None] / 255
    pixels = (weight * ink + (1 - weight) * ground + random.normal(0, 12, (28, 28, 3))).clip(0, 255).astype(numpy.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((112, 112), Image.BILINEAR).save(file, "JPEG", quality=85, subsampling="4:2:0")
    return file.getvalue()


def write(folder):
    random = numpy.random.default_rng(1)
    for number, (digit, label) in enumerate(zip(*digits())):
        path = pathlib.Path(folder, "train" if number < TRAINED else "test", str(label), f"{number:05}.jpg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(coloured(digit, random))


class AccuracyTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.mkdtemp(prefix="penstock-digits-")
        cls.addClassCleanup(shutil.rmtree, cls.files, ignore_errors=True)
        write(cls.files)
        super().setUpClass()

    def loader(self, part, steps, **asked):
        loader = penstock.torch.DataLoader(os.path.join(self.files, part), 128, transform=steps, device="cuda", timeout=60, **asked)
        self.addCleanup(loader.close)
        return loader

    def accuracy(self, seed, **asked):
        torch.manual_seed(seed)
        model = resnet.make("resnet18", 10).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        loader = self.loader("train", CROP, shuffle=True, seed=seed, **asked)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=EPOCHS * len(loader))
        for _ in range(EPOCHS):
            for batch in loader:
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"]).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                schedule.step()
        loader.close()
        model.eval()
        right = 0
        with torch.no_grad():
            for batch in self.loader("test", [penstock.Resize(72), penstock.CenterCrop(64), penstock.Normalize("half")], decode="cpu"):
                right += int((model(batch["image"]).argmax(1) == batch["label"]).sum())
        return 100 * right / (IMAGES - TRAINED)

    def test_is_the_same_within_noise(self):
        found = {decode: [self.accuracy(seed, decode=decode) for seed in range(SEEDS)] for decode in ("cpu", "gpu")}
        for decode, values in found.items():
            print(f"decode={decode!r}: " + ", ".join(f"{value:.2f} %" for value in values) + f"; mean {statistics.mean(values):.2f} %")
        noise = max(statistics.stdev(values) for values in found.values())
        self.assertGreater(min(map(min, found.values())), 80)
        self.assertLess(abs(statistics.mean(found["cpu"]) - statistics.mean(found["gpu"])), max(2 * noise, 0.5))


if __name__ == "__main__":
    support.main()
