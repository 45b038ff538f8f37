"""Compares the Python in server/plan/README.md with what recipes draw. Arguments: README, penstock-augment-recipe."""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support/augment"))
try:
    from PIL import Image
    from recipes import (RecipeProgram, affine, aug_mix, auto_augment, color_jitter, rand_augment, random_crop,
                         rotation, step, trivial_augment_wide)
    from warp_calls import solve_exactly
    import torchvision  # noqa: F401, for the pairs of AutoAugment
except ImportError:
    Image = None

SIZES = ((224, 224), (32, 32), (1, 1), (1, 40), (333, 2), (500, 375), (31, 57))


def rotated_size(size, angle, center):
    return Image.new("L", size).rotate(angle, expand=True, center=center).size


def recipes():
    """Pairs of a recipe and the smallest side of images for which it has room."""
    flip, jitter = step("RandomHorizontalFlip", p=0.5), color_jitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1))
    turn = rotation((-30, 30))
    yield [flip, step("RandomVerticalFlip", p=0.3), step("RandomGrayscale", p=0.1)], 1
    yield [turn, rotation((0, 360), expand=True), rotation((5, 5), center=(3, 4.5))], 1
    yield [affine((-10, 20), (0.1, 0.3), (0.8, 1.2), (-5, 5, 2, 3)), affine((0, 0), center=(1, 2))], 1
    yield [step("RandomPerspective", distortion_scale=0.5, p=0.5), step("RandomPerspective", distortion_scale=1)], 1
    yield [random_crop((32, 32), (4, 4, 4, 4), True), step("Pad", padding=(1, 2, 3, 4))], 1
    yield [random_crop((20, 28), pad_if_needed=True), step("CenterCrop", size=(31, 24))], 1
    yield [random_crop((24, 30)), step("CenterCrop", size=(9, 200))], 30
    yield [step("Resize", size=40), step("Resize", size=(30, 61)), step("Resize", size=31, max_size=50)], 2
    yield [step("RandomResizedCrop", size=(20, 24), scale=(0.08, 1), ratio=(3 / 4, 4 / 3)),
           step("RandomResizedCrop", size=(9, 7), scale=(0.5, 0.6), ratio=(0.1, 0.5))], 1
    yield [step("RandomShortestSize", min_size=(31, 47, 60), max_size=70)], 30
    yield [step("RandomShortestSize", min_size=(640,)),
           step("ScaleJitter", target_size=(40, 60), scale_range=(0.5, 2))], 30
    yield [step("RandomResize", min_size=20, max_size=41), step("RandomResize", min_size=7, max_size=8)], 1
    yield [jitter, color_jitter(hue=(-0.5, 0.5)), color_jitter((0, 2), (1, 1), (0.5, 1)), color_jitter()], 1
    yield [step("GaussianBlur", kernel_size=(5, 9), sigma=(0.1, 2.0))], 30
    yield [step("RandomSolarize", threshold=128, p=0.2), step("RandomPosterize", bits=3, p=0.5),
           step("RandomEqualize", p=0.5), step("RandomAutocontrast", p=0.5), step("RandomInvert", p=0.5),
           step("RandomAdjustSharpness", sharpness_factor=1.7, p=0.5)], 1
    yield [rand_augment(), rand_augment(16, 30, 31), rand_augment(3, 5, 10), rand_augment(2, 1, 2)], 1
    yield [trivial_augment_wide(), trivial_augment_wide(2), trivial_augment_wide(100)], 1
    yield [auto_augment(policy) for policy in ("imagenet", "cifar10", "svhn")], 1
    yield [aug_mix(), aug_mix(10, 8, 8, 0.2, False), aug_mix(1, 1, 2, 30)], 1
    yield [step("RandomApply", transforms=[jitter, flip], p=0.8), step("RandomOrder", transforms=[flip, turn, jitter]),
           step("RandomChoice", transforms=[flip, turn, jitter], weights=[0.2, 0, 3]),
           step("Compose", transforms=[])], 1
    inner = step("RandomChoice", transforms=[step("Compose", transforms=[flip, jitter]), turn], weights=[1, 1])
    yield [flip, step("RandomOrder", transforms=[inner, step("RandomApply", transforms=[inner], p=0.5), turn]), flip], 1


def is_close(name, number, specified):
    """The C library's arctangent, of which policies make shears, may differ in the last bit."""
    return number == specified or (name == "affine" and abs(number - specified) <= 4e-16 * abs(specified))


def is_same(printed, specified):
    if printed[0] != specified[0] or len(printed) < len(specified):
        return False
    return all(is_close(printed[0], a, b) for a, b in zip(printed[1:], specified[1:]))


def main():
    if Image is None:
        print("SKIPPED: recipe_readme_test: needs torchvision and Pillow")
        sys.exit(77)
    readme, path = sys.argv[1:]
    specification = {"rotated_size": rotated_size, "has_solution": lambda *corners: solve_exactly(*corners) is not None}
    for block in re.findall(r"```python\n(.*?)```", open(readme).read(), re.S):
        exec(block, specification)
    rng, compared = random.Random(5), 0
    with RecipeProgram(path) as program:
        for recipe, least in recipes():
            for size in SIZES * 12:
                if min(size) < least:
                    continue
                key, view = (rng.getrandbits(64), rng.randrange(100), rng.getrandbits(64)), rng.choice((0, 1, 255))
                outcome, printed, *_ = program.plan(recipe, size, key, view)
                specified = specification["operations_of"](recipe, *size, key, view)
                if outcome != "done" or len(printed) != len(specified):
                    sys.exit(f"{recipe} {size} {key}: {outcome}: {printed}\nthe README says {specified}")
                for wanted, got in zip(specified, printed):
                    compared += 1
                    if not is_same(got, wanted):
                        sys.exit(f"{recipe} {size} {key}:\n{got}\nthe README says\n{wanted}")
    print(f"{compared} operations compared")
    if compared < 3000:
        sys.exit("too few were compared")


main()
