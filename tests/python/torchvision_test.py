"""Random compositions of torchvision's transforms give torchvision's results for the same photographs, or are
refused.

The parameters of random steps leave only one possible result. Results are equal to the last bit, with two
exceptions for torchvision's v2: it multiplies by 1/255 where the older interface divides, which differs in the
last place; and it resizes tensors with other code than Pillow's, which differs by at most one step of 255.
"""
import collections
import os
import random

import support

torch = support.need("torch")
torchvision = support.need("torchvision")
support.need("PIL.Image")

import PIL  # noqa: E402

if int(PIL.__version__.split(".")[0]) >= 13:
    support.skip(f"Pillow {PIL.__version__} resizes some tall pictures upright first; up to 12 it is the reference")

from torchvision import transforms as v1  # noqa: E402

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

SEED = int(os.environ.get("PENSTOCK_TEST_SEED", "1"))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HALVES = (torch.float16, torch.bfloat16)


class Draw:
    """Draws compositions for one of torchvision's two interfaces."""

    def __init__(self, api, generator):
        self.api, self.random = api, generator
        self.is_v2 = api is not v1

    def composition(self):
        steps = self.whole()
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            self.spoil(steps)
        return self.nested(steps)

    def whole(self):
        """Returns steps in a sensible order."""
        convert = self.conversion()
        place = self.random.choice((0, 1, 2)) if self.is_v2 else 1
        steps = [self.geometry(), [self.flip()] if self.random.random() < 0.5 else []]
        steps.insert(place if place < 2 else len(steps), convert)
        steps = sum(steps, [])
        if self.random.random() < 0.2:
            steps.append(self.flip())
        return steps

    def geometry(self):
        sizes = (16, 17, 24, 31)
        size = self.random.choice((self.random.choice(sizes), (16, 24), [20]))
        antialias = {"antialias": True} if self.is_v2 or self.random.random() < 0.5 else {}
        if self.random.random() < 0.5:
            ratio = self.random.choice((0.31, 2.9, 3.7))  # no photograph has this ratio, so every draw takes the middle
            return [self.api.RandomResizedCrop(size, scale=(1, 1), ratio=(ratio, ratio), **antialias)]
        return [self.api.Resize(self.random.choice((31, 40, [32])), **antialias), self.api.CenterCrop(size)]

    def flip(self):
        return self.api.RandomHorizontalFlip(self.random.choice((0, 1)))

    def conversion(self):
        """Returns steps that convert to a tensor, perhaps to floats, and process these."""
        first = [self.api.PILToTensor()]
        if self.is_v2 and self.random.random() < 0.7:
            first = [v2.ToImage()]
        kind = self.random.choice(("bytes", "floats", "floats", "floats", "ToTensor", "ToTensor"))
        if kind == "bytes":
            return first
        steps = [self.api.ToTensor()] if kind == "ToTensor" else first + [self.cast(torch.float32)]
        if self.random.random() < 0.6:
            steps.append(self.normalize())
        if self.random.random() < 0.3:
            steps.append(self.cast(self.random.choice(HALVES)))
        if self.is_v2 and self.random.random() < 0.3:
            steps.append(v2.ToPureTensor())
        return steps

    def normalize(self):
        return self.api.Normalize(*self.random.choice(((MEAN, STD), ((0.5,), (0.5,)), ([0.1, 0.2, 0.3], [1, 2, 3]),
                                                       ((120.0, 110.0, 100.0), (60.0, 59.0, 58.0)))))

    def cast(self, dtype):
        if not self.is_v2 or self.random.random() < 0.2:
            return v1.ConvertImageDtype(dtype)
        scale = self.random.random() < 0.7
        if self.random.random() < 0.2:
            tv_tensors = torchvision.tv_tensors
            return v2.ToDtype({tv_tensors.Image: dtype, torch.Tensor: dtype, "others": None}, scale=scale)
        return v2.ToDtype(dtype, scale=scale)

    def spoil(self, steps):
        """Makes one change that alters a transform's meaning or that Penstock does not support."""
        place = self.random.randrange(len(steps))
        what = self.random.choice(("leave out", "twice", "swap", "swap", "insert", "insert", "replace"))
        if what == "leave out" and len(steps) > 1:
            del steps[place]
        elif what == "twice":
            steps.insert(place, steps[place])
        elif what == "swap":
            other = self.random.randrange(len(steps))
            steps[place], steps[other] = steps[other], steps[place]
        elif what == "insert":
            steps.insert(self.random.randrange(len(steps) + 1), self.other())
        else:
            steps[place] = self.other()

    def other(self):
        mode = v1.InterpolationMode
        return self.random.choice((
            lambda: self.api.Resize((24, 24)), lambda: self.api.Resize(40, interpolation=mode.BICUBIC),
            lambda: self.api.Resize(40, interpolation=mode.NEAREST), lambda: self.api.Resize(30, max_size=50),
            lambda: self.api.Resize(40, antialias=False), lambda: self.api.CenterCrop(64),
            lambda: self.api.RandomResizedCrop(16, scale=(1, 1), ratio=(3, 3), antialias=False),
            lambda: self.api.Grayscale(1), lambda: self.api.Grayscale(3), lambda: self.api.RandomVerticalFlip(1),
            lambda: self.api.Pad(3), lambda: self.api.ToTensor(), lambda: self.api.PILToTensor(),
            lambda: self.api.Lambda(lambda image: image), lambda: self.api.RandomInvert(1), lambda: self.normalize(),
            lambda: self.api.Normalize((0.5, 0.5), (0.5, 0.5)), lambda: self.cast(torch.float64),
            lambda: self.cast(torch.uint8), lambda: self.cast(torch.int32), lambda: self.cast(torch.float32),
            lambda: self.cast(torch.float16), lambda: self.flip(), lambda: self.api.GaussianBlur(3, 1.0), lambda: self.api.RandomSolarize(100, 1), lambda: self.api.RandomPosterize(3, 1),
            lambda: self.api.RandomEqualize(1), lambda: self.api.RandomAutocontrast(1), lambda: self.api.RandomAdjustSharpness(2, 1),
            lambda: self.api.RandomRotation((30, 30)), lambda: self.api.RandomGrayscale(1), lambda: self.api.ColorJitter((1.5, 1.5)),
            lambda: self.api.RandomAffine((9, 9), scale=(0.9, 0.9)), lambda: self.api.RandomErasing(0),
            lambda: self.api.RandomApply([self.flip()], p=1), lambda: self.geometry()[0]))()

    def nested(self, steps):
        if len(steps) > 1 and self.random.random() < 0.2:
            cut = self.random.randrange(1, len(steps))
            steps = [self.api.Compose(steps[:cut]), *steps[cut:]]
        if self.random.random() < 0.1 and all(isinstance(step, torch.nn.Module) for step in steps):
            return torch.nn.Sequential(*steps)
        return self.api.Compose(steps)


class TorchvisionTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        real = support.DATA and os.path.join(support.DATA, "imagenet-sample")
        cls.data = real if real and os.path.isdir(real) else cls.photographs
        print(f"on {'real' if cls.data == real else 'generated'} photographs, torchvision {torchvision.__version__}, "
              f"{'' if v2 else 'no '}v2, PENSTOCK_TEST_SEED={SEED}")
        cls.images = torchvision.datasets.ImageFolder(cls.data)

    def ours(self, transform, samples):
        with penstock.torch.DataLoader(self.data, transform=transform, sampler=samples, batch_size=len(samples)) as loader:
            return next(iter(loader))["image"]

    def theirs(self, transform, samples):
        """Returns torch's batch, or None if the results cannot be a batch of tensors."""
        rows = [transform(self.images[sample][0]) for sample in samples]
        if not all(isinstance(row, torch.Tensor) for row in rows):
            return None
        return torch.stack([row.as_subclass(torch.Tensor) for row in rows])

    def compare(self, transform, samples):
        try:
            ours = self.ours(transform, samples)
        except penstock.InvalidArgument:
            return "refused"
        theirs = self.theirs(transform, samples)
        if theirs is None:
            return "no tensors with torch"
        self.assertEqual(ours.dtype, theirs.dtype)
        self.assertEqual(ours.shape, theirs.shape)
        if torch.equal(ours, theirs):
            return "equal"
        error = float((ours.double() - theirs.double()).abs().max())
        self.assertTrue(resizes_tensors(transform) or multiplies(transform), f"differs from torchvision by {error}")
        std = min(smallest_std(transform), 1)
        last_place = 0 if ours.dtype == torch.uint8 else torch.finfo(ours.dtype).eps * (2 * float(theirs.abs().max()) + 1 / std)
        if not resizes_tensors(transform):
            self.assertLessEqual(error, last_place)
            return "equal but for the last place"
        self.assertLessEqual(error, last_place + (1 if theirs.max() > 3 else 1 / 255 / std))
        return "within 1 of 255"

    def check(self, api, count):
        generator = random.Random(SEED)
        draw, seen = Draw(api, generator), collections.Counter()
        for number in range(count):
            transform = draw.composition()
            samples = generator.sample(range(len(self.images)), 3)
            with self.subTest(number=number, samples=samples, transform=str(transform).replace("\n", " ")):
                seen[self.compare(transform, samples)] += 1
        print(dict(seen))
        self.assertGreater(seen["equal"] + seen["equal but for the last place"], count // 5)
        self.assertGreater(seen["refused"], count // 10)

    def test_compositions(self):
        self.check(v1, 150)

    def test_compositions_of_v2(self):
        if v2 is None:
            self.skipTest(f"torchvision {torchvision.__version__} has no v2")
        self.check(v2, 250)

    def test_casts_of_every_byte(self):
        """Tests all values with every type, which a few photographs would not cover."""
        for dtype in (torch.float32, *HALVES):
            every = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16)
            cast = v1.ConvertImageDtype(dtype)
            stored = penstock.torch.DataLoader(self.data, batch_size=64, transform=v1.Compose(
                [v1.Resize(224), v1.CenterCrop(224), v1.PILToTensor()]))
            floats = penstock.torch.DataLoader(self.data, batch_size=64, transform=v1.Compose(
                [v1.Resize(224), v1.CenterCrop(224), v1.PILToTensor(), cast]))
            with stored, floats:
                image, got = next(iter(stored))["image"], next(iter(floats))["image"]
            self.assertEqual(image.unique().tolist(), list(range(256)))
            self.assertTrue(torch.equal(got, cast(every).flatten()[image.long()]))

    def test_presets(self):
        from torchvision.transforms._presets import ImageClassification
        for preset in (ImageClassification(crop_size=24), ImageClassification(crop_size=24, resize_size=31, mean=[0.5] * 3),
                       ImageClassification(crop_size=20, interpolation=v1.InterpolationMode.BICUBIC)):
            with self.subTest(preset=str(preset).replace("\n", " ")):
                self.assertEqual(self.compare(preset, [3, 5, 7]), "equal")

    def test_floats_of_bytes_in_every_layout(self):
        if v2 is None:
            self.skipTest(f"torchvision {torchvision.__version__} has no v2")
        transform = v2.Compose([v2.Resize(31), v2.CenterCrop(24), v2.ToImage(), v2.ToDtype(torch.float32),
                                v2.Normalize((120.0, 110.0, 100.0), (60.0, 59.0, 58.0))])
        expected = self.theirs(transform, [4, 5])
        for layout in ("NCHW", "NHWC"):
            for make in (penstock.torch.DataLoader, penstock.Loader):
                with make(self.data, transform=transform, batch_size=2, layout=layout, range=(4, 6)) as loader:
                    image = torch.as_tensor(next(iter(loader))["image"])
                self.assertTrue(torch.equal(image.permute(0, 3, 1, 2) if layout == "NHWC" else image, expected))


def steps_of(transform):
    parts = getattr(transform, "transforms", None) or (list(transform) if isinstance(transform, torch.nn.Sequential) else None)
    return [transform] if parts is None else [step for part in parts for step in steps_of(part)]


def resizes_tensors(transform):
    names = [type(step).__name__ for step in steps_of(transform)]
    tensors = next((place for place, name in enumerate(names) if name.startswith(("ToImage", "PILToTensor"))), len(names))
    return any("Resize" in name for name in names[tensors:])


def multiplies(transform):
    return any(type(step).__name__ in ("ToDtype", "ConvertImageDtype") and ".v2." in type(step).__module__
               for step in steps_of(transform))


def smallest_std(transform):
    return min((min(step.std) for step in steps_of(transform) if type(step).__name__ == "Normalize"), default=1)


if __name__ == "__main__":
    support.main()
