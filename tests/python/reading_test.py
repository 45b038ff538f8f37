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

    def test_a_random_size_is_version_twos(self):
        resize = v2("RandomResize", min_size=260, max_size=1040, interpolation=theirs.InterpolationMode.BICUBIC, antialias=True)
        got = plan_of(resize, theirs.RandomCrop(480, pad_if_needed=True))
        self.assertEqual(got.recipe[0], penstock.RandomResize(260, 1040, "bicubic"))
        self.assertEqual(got.whole, (480, 480))

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

    def test_what_an_object_of_the_programs_only_calls(self):
        class Preset:
            """As torchvision's training scripts have it."""

            def __init__(self, *steps):
                self.transforms = theirs.Compose(list(steps))

            def __call__(self, img):
                return self.transforms(img)

        class Twice(Preset):
            def __call__(self, img):
                return self.transforms(self.transforms(img))

        self.assertEqual(transforms.plan_of(Preset(CROP, theirs.RandAugment())), plan_of(CROP, theirs.RandAugment()))
        for other in (Twice(CROP), type("Derived", (Preset,), {})(CROP)):
            with self.assertRaisesRegex(penstock.InvalidArgument, "does not know"):
                transforms.plan_of(other)

    def test_presets(self):
        from torchvision.transforms._presets import ImageClassification

        plan = transforms.plan_of(ImageClassification(crop_size=224, resize_size=232))

        self.assertEqual(plan.center_crop, (penstock.Resize(232), penstock.CenterCrop((224,))))
        self.assertEqual((plan.dtype, plan.normalize), ("float32", penstock.Normalize("imagenet")))


class RecipeTest(unittest.TestCase):
    """What the decoder does on its way, and what the recipe does then."""

    def test_a_crop_that_comes_first_is_the_decoders(self):
        bicubic = theirs.InterpolationMode.BICUBIC
        for steps, crop in (([theirs.RandomResizedCrop(8, interpolation=bicubic)], "random_crop"),
                            ([theirs.Resize(9, interpolation=bicubic), theirs.CenterCrop(8)], "center_crop")):
            plan = plan_of(*steps, theirs.RandomHorizontalFlip(), theirs.RandAugment())
            self.assertEqual((plan.flip, plan.recipe, plan.whole), (0.5, (penstock.RandAugment(),), None))
            self.assertIn("bicubic", repr(getattr(plan, crop)))

    def test_else_the_recipe_begins_with_the_whole_image(self):
        flip = theirs.RandomHorizontalFlip()
        for steps, sides, count in (
                ([theirs.CenterCrop(8)], (8, 8), 1), ([theirs.Resize((6, 8))], (6, 8), 1), ([flip, CROP], (8, 8), 2),
                ([theirs.Resize(9), theirs.CenterCrop(10)], (10, 10), 2), ([theirs.Resize(9), theirs.RandomCrop(8)], (8, 8), 2),
                ([CROP, theirs.CenterCrop(6)], (6, 6), 2), ([CROP, flip, theirs.Pad((1, 2))], (12, 10), 3),
                ([theirs.RandomCrop(32, padding=4), flip], (32, 32), 2),
                ([theirs.RandomChoice([CROP, theirs.CenterCrop(8)])], (8, 8), 1)):
            with self.subTest(steps=steps):
                plan = plan_of(*steps)
                self.assertEqual((plan.whole, len(plan.recipe), plan.flip, plan.random_crop), (sides, count, 0.0, None))

    def test_each_step_is_read(self):
        mode, flip = theirs.InterpolationMode.BILINEAR, theirs.RandomVerticalFlip(0.2)
        ours = penstock
        for theirs_step, expected in (
                (flip, ours.VerticalFlip(0.2)), (theirs.RandomCrop(8, 1, True, 7, "edge"), ours.RandomCrop((8, 8), 1, True, 7, "edge")),
                (theirs.RandomRotation(10, mode, False, (1, 2), 3), ours.RandomRotation((-10, 10), "bilinear", False, (1, 2), 3)),
                (theirs.RandomAffine(10, (0.1, 0.2), (0.5, 2), 3, mode, 4),
                 ours.RandomAffine((-10, 10), (0.1, 0.2), (0.5, 2), (-3, 3), "bilinear", 4)),
                (theirs.RandomPerspective(0.3, 0.4), ours.RandomPerspective(0.3, 0.4)),
                (theirs.ColorJitter(0.4, (0.5, 0.6), 0, 0.1), ours.ColorJitter(0.4, (0.5, 0.6), 0, 0.1)),
                (theirs.RandomGrayscale(0.2), ours.RandomGrayscale(0.2)), (theirs.GaussianBlur(3, 0.5), ours.GaussianBlur(3, 0.5)),
                (theirs.RandomSolarize(128, 0.2), ours.RandomSolarize(128, 0.2)), (theirs.RandomPosterize(3, 0.2), ours.RandomPosterize(3, 0.2)),
                (theirs.RandomEqualize(0.2), ours.RandomEqualize(0.2)), (theirs.RandomAutocontrast(0.2), ours.RandomAutocontrast(0.2)),
                (theirs.RandomInvert(0.2), ours.RandomInvert(0.2)), (theirs.RandomAdjustSharpness(2, 0.2), ours.RandomAdjustSharpness(2, 0.2)),
                (theirs.RandAugment(3, 8, 30, mode, 5), ours.RandAugment(3, 8, 30, "bilinear", 5)),
                (theirs.TrivialAugmentWide(30, mode), ours.TrivialAugmentWide(30, "bilinear")),
                (theirs.AutoAugment(theirs.AutoAugmentPolicy.SVHN), ours.AutoAugment("svhn")),
                (theirs.RandomApply([flip], 0.3), ours.RandomApply([ours.VerticalFlip(0.2)], 0.3)),
                (theirs.RandomChoice([flip, theirs.Compose([flip, flip])], [1, 3]),
                 ours.RandomChoice([ours.VerticalFlip(0.2), [ours.VerticalFlip(0.2)] * 2], [1, 3])),
                (theirs.RandomOrder([flip, flip]), ours.RandomOrder([ours.VerticalFlip(0.2)] * 2))):
            with self.subTest(step=theirs_step):
                got, = plan_of(CROP, theirs_step).ops()
                self.assertEqual(got, expected.op())

    def test_gray_images_of_three_channels_are_a_step(self):
        three, any_channels = plan_of(CROP, theirs.Grayscale(3)), plan_of(CROP, penstock.RandomGrayscale(1.0))
        self.assertEqual([step.op() for step in three.recipe], [step.op() for step in any_channels.recipe])
        self.assertEqual((three.makes_three_channels, any_channels.makes_three_channels), (True, False))
        self.assertTrue(plan_of(CROP, theirs.RandomApply([theirs.Grayscale(3)])).makes_three_channels)
        with self.assertRaisesRegex(penstock.InvalidArgument, "comes after Grayscale with one"):
            plan_of(theirs.Grayscale(1), CROP, theirs.Grayscale(3))

    def test_what_is_erased_before_normalize_is_normalised(self):
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        plan = plan_of(CROP, theirs.ToTensor(), theirs.RandomErasing(1, value=0.25), theirs.Normalize(mean, std))
        expected = torch.full((3,), 0.25).sub(torch.tensor(mean)).div(torch.tensor(std))
        self.assertEqual(torch.tensor(plan.erasing.value).tolist(), expected.tolist())

    def test_erasing_is_the_finishs(self):
        plan = plan_of(CROP, theirs.RandAugment(), theirs.RandomApply([theirs.RandomInvert()]), theirs.ToTensor(),
                       theirs.Normalize([0.5] * 3, [0.5] * 3), theirs.RandomErasing(0.1, value="random"))

        self.assertEqual((plan.erasing, plan.erasing_step), (penstock.RandomErasing(0.1, value="random"), 4))


class RefusalTest(unittest.TestCase):
    def check(self, cases):
        for words, steps in cases:
            with self.subTest(words=words, steps=steps), self.assertRaisesRegex(penstock.InvalidArgument, words):
                plan_of(*steps)

    def test_geometry(self):
        tensor = theirs.PILToTensor()
        self.check((
            ("antialias is False", [theirs.Resize(8, antialias=False), theirs.CenterCrop(8)]),
            ("antialias is False", [theirs.RandomResizedCrop(8, antialias=False)]),
            ("different sizes", [theirs.Resize(9)]), ("different sizes", [theirs.Resize(9, max_size=12)]),
            ("different sizes", [theirs.RandomApply([CROP])]),
            ("different sizes", [theirs.RandomChoice([CROP, theirs.CenterCrop(9)])]),
            ("different sizes", [CROP, theirs.RandomRotation(10, expand=True)]),
            ("after a step that makes floats", [theirs.ToTensor(), CROP]),
            ("differently from Pillow", [CROP, tensor, theirs.ColorJitter(0.4)]),
            ("differently from Pillow", [CROP, theirs.ToTensor(), theirs.RandomRotation(10)]),
            ("differently from Pillow", [CROP, theirs.ToTensor(), theirs.RandomCrop(8, padding=1, fill=3)]),
            ("differently from Pillow", [CROP, theirs.ToTensor(), theirs.Normalize([0.5] * 3, [0.5] * 3), theirs.RandomCrop(8, padding=1)]),
            ("without antialiasing", [tensor, theirs.RandomResizedCrop(8, antialias=None)]),
            ("ratio", [theirs.RandomResizedCrop(8, ratio=(2, 1))]), ("scale", [theirs.RandomResizedCrop(8, scale=(0, 1))]),
            ("policies were changed", [CROP, self.changed_policies()]), ("at most 32", [CROP] + [theirs.RandomInvert()] * 33),
            ("change the image's type|changes the image's type", [CROP, theirs.RandomApply([theirs.ToTensor()])])))
        self.assertTrue(plan_of(tensor, theirs.RandomResizedCrop(8, antialias=True)).has_geometry)

    def changed_policies(self):
        step = theirs.AutoAugment()
        step.policies = step.policies[:-1]
        return step

    def test_colours_and_types(self):
        tensor, floats = theirs.PILToTensor(), theirs.ToTensor()
        normalize, half = theirs.Normalize([0.5] * 3, [0.5] * 3), theirs.ConvertImageDtype(torch.float16)
        self.check((
            ("before the image has floats", [CROP, normalize]), ("before the image has floats", [CROP, normalize, floats]),
            ("before the image has floats", [CROP, tensor, normalize]), ("gives float16", [CROP, tensor, half, normalize]),
            ("twice", [CROP, floats, normalize, normalize]), ("mean has 2", [CROP, floats, theirs.Normalize([0, 0], [1, 1])]),
            ("one channel", [theirs.Grayscale(), CROP, floats, normalize]),
            ("computes it differently", [floats, theirs.Grayscale()]),
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
            theirs.AugMix(), theirs.Lambda(abs), theirs.RandomErasing(), theirs.ToPILImage(), v2("RGB"), v2("MixUp"))])

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
