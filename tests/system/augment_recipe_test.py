"""Runs recipes over photographs and made edge cases, and compares the pixels with those of torchvision's functional
calls on Pillow's images, for the parameters that were drawn.

usage: augment_recipe_test.py PENSTOCK-AUGMENT-RECIPE"""
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    from PIL import Image
    import torchvision  # noqa: F401

    import augmenting
    from recipes import (PAD_MODES, RecipeProgram, affine, aug_mix, auto_augment, color_jitter, rand_augment,
                         random_crop, rotation, step, trivial_augment_wide)
    from replay import replay
except ImportError:
    Image = None


def skip(why):
    print(f"SKIPPED: augment_recipe_test: {why}")
    sys.exit(77)


def photographs(count):
    data = os.environ.get("PENSTOCK_TEST_DATA")
    paths = sorted(pathlib.Path(data or "/nonexistent", "imagenet-sample").glob("*/*"))
    if not paths:
        skip("PENSTOCK_TEST_DATA names no folder with imagenet-sample/<class>/<photographs>")
    for path in paths[::max(1, len(paths) // count)]:
        yield path.name, Image.open(path).convert("RGB")


def images():
    """Yields (name, image): rows of a training, thumbnails as CIFAR's, gray ones, whole photographs, edge cases."""
    for i, (name, image) in enumerate(photographs(12)):
        yield f"{name} 224x224", image.resize((224, 224), Image.BILINEAR)
        yield f"{name} 32x32", image.resize((32, 32), Image.BILINEAR)
        if i % 3 == 0:
            yield f"{name} gray", image.convert("L").resize((224, 224), Image.BILINEAR)
            yield name, image
    yield from augmenting.edge_cases()


def samplings(rng):
    for number in (0, 2, 3):
        yield {"interpolation": number, "fill": tuple(rng.randrange(256) for _ in range(3))}


def recipes(rng):
    """Yields recipes."""
    flip, jitter = step("RandomHorizontalFlip", p=0.5), color_jitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1))
    yield [flip, step("RandomVerticalFlip", p=0.5), step("RandomGrayscale", p=0.5)]
    yield [jitter]
    yield [color_jitter((0, 3), (0, 3), (0, 3), (-0.5, 0.5)), step("RandomSolarize", threshold=128, p=0.5)]
    yield [step("RandomPosterize", bits=3, p=0.5), step("RandomEqualize", p=0.5), step("RandomAutocontrast", p=0.5),
           step("RandomInvert", p=0.5), step("RandomAdjustSharpness", sharpness_factor=1.7, p=0.5)]
    yield [step("GaussianBlur", kernel_size=(9, 5), sigma=(0.1, 2.0)), flip]
    for mode in PAD_MODES:
        fill = tuple(rng.randrange(256) for _ in range(3))
        yield [random_crop((32, 32), (4, 4, 4, 4), True, fill=fill, padding_mode=mode), flip]
        yield [step("Pad", padding=(3, 0, 1, 5), fill=fill, padding_mode=mode), step("CenterCrop", size=(40, 27))]
    for filter in range(4):
        rest = {"interpolation": filter}
        yield [step("RandomResizedCrop", size=(64, 48), scale=(0.08, 1), ratio=(3 / 4, 4 / 3), **rest), flip]
        yield [step("Resize", size=40, **rest), random_crop((32, 32)), step("Resize", size=(50, 17), **rest)]
        yield [step("Resize", size=60, max_size=90, **rest)]
        yield [step("RandomShortestSize", min_size=(48, 60, 73), max_size=120, **rest)]
        yield [step("RandomResize", min_size=40, max_size=90, **rest)]
        yield [step("ScaleJitter", target_size=(80, 80), scale_range=(0.3, 2), **rest),
               random_crop((64, 64), pad_if_needed=True)]
    for sampling in samplings(rng):
        yield [rotation((-180, 180), **sampling), rotation((0, 360), expand=True, center=(3, 4), **sampling)]
        yield [rotation((-30, 30), expand=True, **sampling), step("CenterCrop", size=(64, 64))]
        yield [affine((-30, 30), (0.2, 0.2), (0.7, 1.3), (-10, 10, -5, 5), **sampling), flip]
        yield [step("RandomPerspective", distortion_scale=0.6, p=0.9, **sampling)]
        yield [rand_augment(**sampling)]
        yield [rand_augment(6, 30, 31, **sampling), flip]
        yield [trivial_augment_wide(**sampling)]
        for policy in ("imagenet", "cifar10", "svhn"):
            yield [auto_augment(policy, **sampling)]
        yield [aug_mix(**sampling)]
        yield [aug_mix(10, 5, 3, 0.3, **sampling), flip]
    yield [step("RandomOrder", transforms=[
        flip, rotation((-9, 9)), step("RandomChoice", transforms=[jitter, step("RandomInvert", p=1)], weights=[1, 2]),
        step("RandomApply", transforms=[affine((-5, 5)), jitter], p=0.5)])]


def compare(program, recipe, name, image, key):
    """Returns the number of compared operations, and a description of the difference, if there is any."""
    channels = len(image.getbands())
    outcome, operations, size, pixels = program.plan(recipe, image.size, key, 0, image.tobytes(), channels)
    if outcome == "small":
        return 0, None
    wanted = replay(image, operations)
    if outcome == "done" and size == wanted.size and pixels == wanted.tobytes():
        return len(operations), None
    wrong = sum(a != b for a, b in zip(pixels, wanted.tobytes()))
    return len(operations), f"{name}, {key}, {outcome}: {wrong} bytes differ of {size}, {wanted.size}: {operations}"


def main():
    if Image is None:
        skip("needs torchvision and Pillow")
    rng, pictures = random.Random(11), list(images())
    compared, problems = 0, []
    with RecipeProgram(sys.argv[1]) as program:
        for recipe in recipes(rng):
            for name, image in pictures:
                for _ in range(1 if image.width * image.height > 60_000 else 2):
                    count, problem = compare(program, recipe, name, image, (7, rng.randrange(10), rng.getrandbits(64)))
                    compared += count
                    problems += [problem] if problem else []
    print(f"{compared} operations compared, {len(problems)} plans differ")
    for problem in problems[:20]:
        print(problem)
    sys.exit(1 if problems or compared < 5000 else 0)


main()
