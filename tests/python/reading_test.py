"""Tests how torchvision's transforms are read: the meaning of each attribute, and what is refused. Needs no
daemon.

Objects with the same names and attributes stand in for torchvision v2, which the distribution lacks.
"""
import unittest

import support

torch = support.need("torch")
torchvision = support.need("torchvision")

from torchvision import transforms as theirs  # noqa: E402

import penstock  # noqa: E402
from penstock import _settings, transforms  # noqa: E402

CROP = theirs.RandomResizedCrop(8)


def v2(name, **attributes):
    """Makes an object that looks like one of torchvision's v2."""
    made = type(name, (), {"__module__": "torchvision.transforms.v2._any", "__repr__": lambda self: name})()
    made.__dict__.update(attributes)
    return made


class Image:
    """Has the name of torchvision.tv_tensors.Image."""


def plan_of(*steps):
    return transforms.plan_of(theirs.Compose(list(steps)))


class MeaningTest(unittest.TestCase):
    def test_they_are_read_as_ours(self):
        train = theirs.Compose([theirs.RandomResizedCrop(64, scale=(0.2, 1)), theirs.RandomHorizontalFlip(0.25),
                                theirs.ToTensor(), theirs.Normalize([0.5] * 3, [0.25] * 3)])
        test = theirs.Compose([theirs.Resize(73), theirs.CenterCrop((64, 60)), theirs.PILToTensor()])

        got, middle = transforms.plan_of(train), transforms.plan_of(test)

        self.assertEqual(got.random_crop, penstock.RandomResizedCrop((64, 64), (0.2, 1)))
        self.assertEqual((got.flip, got.normalize), (0.25, penstock.Normalize([0.5] * 3, [0.25] * 3)))
        self.assertEqual(middle.center_crop, (penstock.Resize(73), penstock.CenterCrop((64, 60))))
        self.assertEqual((got.dtype, middle.dtype), ("float32", "uint8"))

    def test_types(self):
        half = theirs.ConvertImageDtype(torch.float16)
        image, scaled = v2("ToImage"), v2("ToDtype", dtype=torch.float32, scale=True)
        for steps, expected in (
                ((), (None, True)), ((theirs.ToTensor(),), ("float32", True)), ((theirs.PILToTensor(),), ("uint8", True)),
                ((image,), ("uint8", True)), ((image, v2("ToPureTensor")), ("uint8", True)),
                ((theirs.PILToTensor(), half), ("float16", True)), ((theirs.ToTensor(), half), ("float16", True)),
                ((image, scaled), ("float32", True)),
                ((image, v2("ToDtype", dtype=torch.float32, scale=False)), ("float32", False)),
                ((image, v2("ToDtype", dtype=torch.bfloat16, scale=False)), ("bfloat16", False)),
                ((image, v2("ToDtype", dtype={Image: torch.float32, "others": None}, scale=True)), ("float32", True)),
                ((image, v2("ToPureTensor"), v2("ToDtype", dtype={Image: torch.float16, "others": None}, scale=True)),
                 ("uint8", True)),
                ((image, v2("ToTensor")), ("uint8", True)), ((v2("ToImage"), v2("PILToTensor")), ("uint8", True)),
                ((image, scaled, scaled), ("float32", True)), ((v2("Identity"), image, scaled), ("float32", True))):
            with self.subTest(steps=steps):
                plan = plan_of(CROP, *steps)
                self.assertEqual((plan.dtype, plan.scaled), expected)

    def test_a_flip_may_be_anywhere_behind_the_crop(self):
        flip, rest = theirs.RandomHorizontalFlip(), [theirs.ToTensor(), theirs.Normalize([0.5] * 3, [0.5] * 3)]
        plans = [plan_of(CROP, *rest[:place], flip, *rest[place:]) for place in range(3)]

        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])

    def test_wholes_in_wholes(self):
        inner = theirs.Compose([CROP, torch.nn.Sequential(theirs.RandomHorizontalFlip(1))])
        pure = v2("Compose", transforms=[v2("ToImage"), v2("ToPureTensor")])

        plan = transforms.plan_of([inner, pure])

        self.assertEqual((plan.flip, plan.dtype), (1.0, "uint8"))

    def test_presets(self):
        from torchvision.transforms._presets import ImageClassification

        plan = transforms.plan_of(ImageClassification(crop_size=224, resize_size=232))

        self.assertEqual(plan.center_crop, (penstock.Resize(232), penstock.CenterCrop((224,))))
        self.assertEqual((plan.dtype, plan.normalize), ("float32", penstock.Normalize("imagenet")))


class RefusalTest(unittest.TestCase):
    def check(self, cases):
        for words, steps in cases:
            with self.subTest(words=words, steps=steps), self.assertRaisesRegex(penstock.InvalidArgument, words):
                plan_of(*steps)

    def test_geometry(self):
        bicubic = theirs.InterpolationMode.BICUBIC
        tensor, resized = theirs.PILToTensor(), theirs.Resize(9)
        self.check((
            ("interpolation", [theirs.RandomResizedCrop(8, interpolation=bicubic)]),
            ("interpolation", [theirs.Resize(8, interpolation=bicubic), theirs.CenterCrop(8)]),
            ("antialias is False", [theirs.Resize(8, antialias=False), theirs.CenterCrop(8)]),
            ("antialias is False", [theirs.RandomResizedCrop(8, antialias=False)]),
            ("max_size", [theirs.Resize(8, max_size=9)]), ("size is", [theirs.Resize((8, 8)), theirs.CenterCrop(8)]),
            ("put a CenterCrop", [resized]), ("needs a Resize", [theirs.CenterCrop(8)]),
            ("larger than Resize", [resized, theirs.CenterCrop(10)]),
            ("larger than Resize", [resized, theirs.CenterCrop((8, 10))]),
            ("twice", [CROP, resized, theirs.CenterCrop(8)]), ("twice", [CROP, CROP]),
            ("too late", [theirs.RandomHorizontalFlip(), CROP]),
            ("after a step that makes floats", [theirs.ToTensor(), CROP]),
            ("without antialiasing", [tensor, theirs.RandomResizedCrop(8, antialias=None)]),
            ("ratio", [theirs.RandomResizedCrop(8, ratio=(2, 1))]), ("scale", [theirs.RandomResizedCrop(8, scale=(0, 1))])))
        self.assertTrue(plan_of(tensor, theirs.RandomResizedCrop(8, antialias=True)).has_geometry)

    def test_colours_and_types(self):
        tensor, floats = theirs.PILToTensor(), theirs.ToTensor()
        normalize, half = theirs.Normalize([0.5] * 3, [0.5] * 3), theirs.ConvertImageDtype(torch.float16)
        self.check((
            ("before the image has floats", [CROP, normalize]), ("before the image has floats", [CROP, normalize, floats]),
            ("before the image has floats", [CROP, tensor, normalize]), ("gives float16", [CROP, tensor, half, normalize]),
            ("twice", [CROP, floats, normalize, normalize]), ("mean has 2", [CROP, floats, theirs.Normalize([0, 0], [1, 1])]),
            ("one channel", [theirs.Grayscale(), CROP, floats, normalize]),
            ("num_output_channels", [theirs.Grayscale(3), CROP]), ("computes it differently", [floats, theirs.Grayscale()]),
            ("too late", [CROP, theirs.Grayscale()]),
            ("already", [CROP, floats, floats]), ("already", [CROP, tensor, floats]), ("already", [CROP, floats, tensor]),
            ("from 0 to 255", [CROP, v2("ToImage"), v2("ToDtype", dtype=torch.float32, scale=False), penstock.Normalize("imagenet")]),
            ("before the image is a tensor", [CROP, half]), ("before the image is a tensor", [v2("ToDtype", dtype=torch.float32, scale=True), CROP]),
            ("to float64", [CROP, floats, theirs.ConvertImageDtype(torch.float64)]),
            ("to uint8", [CROP, floats, theirs.ConvertImageDtype(torch.uint8)]),
            ("to int32", [CROP, tensor, theirs.ConvertImageDtype(torch.int32)]),
            ("from float16 to float32", [CROP, tensor, half, theirs.ConvertImageDtype(torch.float32)]),
            ("nothing about images", [CROP, v2("ToImage"), v2("ToDtype", dtype={int: torch.float32}, scale=True)])))

    def test_what_penstock_does_not_do(self):
        self.check([(type(step).__name__, [step]) for step in (
            theirs.ColorJitter(0.4), theirs.RandomVerticalFlip(), theirs.Lambda(abs), theirs.RandomApply([CROP]),
            theirs.RandomErasing(), theirs.ToPILImage(), v2("RGB"), v2("MixUp"))])

    def test_subclasses_and_changed_objects(self):
        class Mine(theirs.RandomHorizontalFlip):
            def forward(self, image):
                return image

        class MyCompose(theirs.Compose):
            def __call__(self, image):
                return image

        changed, hooked = theirs.RandomHorizontalFlip(), theirs.RandomHorizontalFlip()
        changed.forward = lambda image: image
        hooked.register_forward_hook(lambda *_: None)
        later = theirs.RandomHorizontalFlip()
        later.axis = "vertical"
        self.check((("does not know", [CROP, Mine()]), ("does not know", [CROP, MyCompose([])]), ("was changed", [CROP, changed]),
                    ("was changed", [CROP, hooked]), ("has axis", [CROP, later]), ("does not know", [CROP, abs]),
                    ("does not know", [CROP, theirs.ToTensor])))

    def test_a_default_type_of_torchs_that_is_another(self):
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float64)

        self.check((("default type is float64", [CROP, theirs.ToTensor()]),))

    def test_types_that_contradict_the_transform(self):
        for step, dtype, words in ((theirs.PILToTensor(), "float32", "bytes from 0 to 255"), (theirs.ToTensor(), "uint8", "gives float32"),
                                   (theirs.Compose([theirs.ToTensor(), theirs.ConvertImageDtype(torch.float16)]), "float32",
                                    "gives float16")):
            with self.subTest(dtype=dtype), self.assertRaisesRegex(penstock.InvalidArgument, words):
                _settings.make("x", transform=[CROP, step], dtype=dtype)
        self.assertEqual(_settings.make("x", transform=[CROP, theirs.ToTensor()], dtype="float16").dtype, "float16")
        self.assertEqual(_settings.make("x", transform=[CROP, theirs.PILToTensor()]).dtype, "uint8")


if __name__ == "__main__":
    support.main()
