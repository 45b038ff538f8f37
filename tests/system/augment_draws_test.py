"""Compares the distributions of what recipes draw with what torchvision's classes draw, by two-sample tests: of
Kolmogorov and Smirnov for numbers, chi-square for choices. Seeds are fixed, so the result is always the same.

usage: augment_draws_test.py PENSTOCK-AUGMENT-RECIPE"""
import collections
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    import torch
    from PIL import Image
    from torchvision import transforms
    from torchvision.transforms import autoaugment

    from recipes import (RecipeProgram, affine, aug_mix, auto_augment, color_jitter, rand_augment, random_crop,
                         rotation, step, trivial_augment_wide)
except ImportError:
    torch = None

DRAWS = 4000
SIZE = (101, 67)


def is_number_alike(ours, theirs):
    """Whether the largest distance of the distribution functions is plausible: by chance, 1 of 10,000 exceeds it."""
    ours, theirs = sorted(ours), sorted(theirs)
    points = sorted(set(ours) | set(theirs))
    i = j = most = 0
    for point in points:
        while i < len(ours) and ours[i] <= point:
            i += 1
        while j < len(theirs) and theirs[j] <= point:
            j += 1
        most = max(most, abs(i / len(ours) - j / len(theirs)))
    return most * math.sqrt(DRAWS / 2) < 2.23, most


def is_choice_alike(ours, theirs):
    ours, theirs = collections.Counter(ours), collections.Counter(theirs)
    kinds = set(ours) | set(theirs)
    chi = sum((ours[k] - theirs[k]) ** 2 / (ours[k] + theirs[k]) for k in kinds)
    free = max(1, len(kinds) - 1)
    return chi < free + 4.5 * math.sqrt(2 * free) + 8, chi


class Comparison:
    def __init__(self, program):
        self.program, self.compared, self.problems = program, 0, []

    def plans(self, recipe):
        for sample in range(DRAWS):
            outcome, operations, *_ = self.program.plan([recipe], SIZE, (3, 1, sample))
            if outcome != "done":
                sys.exit(f"{recipe}: {outcome}")
            yield operations

    def check(self, what, alike):
        self.compared += 1
        if not alike[0]:
            self.problems.append(f"{what}: the statistic is {alike[1]:.4f}")

    def numbers(self, what, ours, theirs):
        """Of tuples, each place on its own."""
        for place, (a, b) in enumerate(zip(zip(*ours), zip(*theirs))):
            self.check(f"{what} {place}", is_number_alike(a, b))

    def choices(self, what, ours, theirs):
        self.check(what, is_choice_alike(ours, theirs))


def compare_geometry(test):
    theirs = [(transforms.RandomRotation.get_params([-30, 45]),) for _ in range(DRAWS)]
    test.numbers("rotation", [plan[0][3:4] for plan in test.plans(rotation((-30, 45)))], theirs)
    drawn = [transforms.RandomAffine.get_params([-10, 20], [0.1, 0.4], [0.8, 1.3], [-5, 5, 1, 3], list(SIZE))
             for _ in range(DRAWS)]
    recipe = affine((-10, 20), (0.1, 0.4), (0.8, 1.3), (-5, 5, 1, 3))
    test.numbers("affine", [plan[0][5:11] for plan in test.plans(recipe)],
                 [(angle, *moved, scale, *shear) for angle, moved, scale, shear in drawn])
    drawn = [transforms.RandomPerspective.get_params(*SIZE, 0.3)[1] for _ in range(DRAWS)]
    ours = [plan[0][3:11] for plan in test.plans(step("RandomPerspective", distortion_scale=0.3))]
    test.numbers("perspective", ours, [sum(corners, []) for corners in drawn])
    image = Image.new("L", SIZE)
    scale, ratio = (0.2, 0.7), (0.5, 3.0)
    drawn = [transforms.RandomResizedCrop.get_params(image, scale, ratio) for _ in range(DRAWS)]
    ours = [plan[0][3:7] for plan in test.plans(step("RandomResizedCrop", size=(9, 9), scale=scale, ratio=ratio))]
    test.numbers("resized crop", ours, [(left, top, width, height) for top, left, height, width in drawn])
    drawn = [transforms.RandomCrop.get_params(image, (60, 37))[:2] for _ in range(DRAWS)]
    test.numbers("crop", [plan[0][3:5][::-1] for plan in test.plans(random_crop((60, 37)))], drawn)


def compare_color(test):
    ranges = (0.5, 1.5), (0.2, 1.1), (0.0, 2.0), (-0.2, 0.4)
    names = ("brightness", "contrast", "saturation", "hue")
    drawn = [transforms.ColorJitter.get_params(*map(list, ranges)) for _ in range(DRAWS)]
    ours = list(test.plans(color_jitter(*ranges)))
    test.choices("order", [tuple(names.index(each[0]) for each in plan) for plan in ours],
                 [tuple(order.tolist()) for order, *_ in drawn])
    factors = [[dict((name, value) for name, _, _, value in plan)[name] for name in names] for plan in ours]
    test.numbers("jitter", factors, [numbers for _, *numbers in drawn])
    drawn = [(transforms.GaussianBlur.get_params(0.1, 2.0),) for _ in range(DRAWS)]
    blur = step("GaussianBlur", kernel_size=(3, 3), sigma=(0.1, 2.0))
    test.numbers("blur", [plan[0][5:6] for plan in test.plans(blur)], drawn)
    test.choices("probability", [len(plan) for plan in test.plans(step("RandomInvert", p=0.3))],
                 [int(torch.rand(1) < 0.3) for _ in range(DRAWS)])


def kind_of(operation):
    """A policy's operation and its magnitude, as `_apply_op` has them. Those that do nothing are alike."""
    name, _, _, *numbers = operation
    if name == "affine":
        _, _, _, x, y, _, shear_x, shear_y = numbers[:8]
        kinds = {"TranslateX": x, "TranslateY": y, "ShearX": math.tan(math.radians(shear_x)),
                 "ShearY": math.tan(math.radians(shear_y))}
        return next(((kind, round(value, 3)) for kind, value in kinds.items() if value), ("nothing",))
    value = numbers[0] - 1 if name in ("brightness", "saturation", "contrast", "sharpness") else numbers[0]
    return {"saturation": "color"}.get(name, name), round(value, 3) + 0.0


def kind_of_theirs(name, magnitude):
    if name == "Identity" or (name[:5] in ("Shear", "Trans") and magnitude == 0):
        return ("nothing",)
    if name.startswith("Translate"):
        magnitude = int(magnitude)
    return name if name[:5] in ("Shear", "Trans") else name.lower(), round(magnitude, 3) + 0.0


def drawn_by(policy):
    """What torchvision's policy draws, without doing it."""
    image, kinds = Image.new("RGB", SIZE), []
    original = autoaugment._apply_op
    autoaugment._apply_op = lambda img, name, magnitude, **_: kinds.append(kind_of_theirs(name, magnitude)) or img
    for _ in range(DRAWS):
        kinds.append(None)
        policy(image)
    autoaugment._apply_op = original
    groups = " ".join("|" if kind is None else repr(kind).replace(" ", "") for kind in kinds).split("|")[1:]
    return [tuple(group.split()) for group in groups]


def text_of(plan):
    return tuple(repr(kind_of(each)).replace(" ", "") for each in plan)


def without_nothing(kinds):
    return tuple(kind for kind in kinds if kind != "('nothing',)")


def compare_policies(test):
    cases = {"RandAugment": (rand_augment(1), transforms.RandAugment(1)),
             "TrivialAugmentWide": (trivial_augment_wide(5), transforms.TrivialAugmentWide(5))}
    for name in ("imagenet", "cifar10", "svhn"):
        cases[name] = auto_augment(name), transforms.AutoAugment(autoaugment.AutoAugmentPolicy(name))
    for name, (ours, theirs) in cases.items():
        test.choices(name, [without_nothing(text_of(plan)) for plan in test.plans(ours)],
                     [without_nothing(kinds) for kinds in drawn_by(theirs)])


def compare_mix(test):
    ours = list(test.plans(aug_mix(alpha=0.7)))
    originals = torch._sample_dirichlet(torch.tensor([0.7, 0.7]).expand(DRAWS, -1))
    shares = torch._sample_dirichlet(torch.tensor([0.7] * 3).expand(DRAWS, -1)) * originals[:, 1:]
    weights = [[each[3] for each in plan if each[0] in ("mix", "chain")] for plan in ours]
    test.numbers("weights", weights, torch.cat((originals[:, :1], shares), 1).tolist())
    theirs = drawn_by(transforms.AugMix(alpha=0.7, mixture_width=1, chain_depth=1))
    chains = [[each for each in plan if each[0] not in ("mix", "chain", "mixed")]
              for plan in test.plans(aug_mix(alpha=0.7, mixture_width=1, chain_depth=1))]
    test.choices("AugMix", list(map(text_of, chains)), theirs)
    depths = [len(kinds) for kinds in drawn_by(transforms.AugMix(mixture_width=1))]
    test.choices("depth", [len(plan) - 3 for plan in test.plans(aug_mix(mixture_width=1))], depths)


def compare_groups(test):
    names = ("hflip", "vflip", "invert")
    flips = [step("RandomHorizontalFlip"), step("RandomVerticalFlip"), step("RandomInvert")]
    ours = [plan[0][0] for plan in test.plans(step("RandomChoice", transforms=flips, weights=[1, 2, 5]))]
    drawn = torch.multinomial(torch.tensor([1.0, 2, 5]), DRAWS, replacement=True)
    test.choices("RandomChoice", ours, [names[i] for i in drawn])
    ours = [tuple(each[0] for each in plan) for plan in test.plans(step("RandomOrder", transforms=flips))]
    test.choices("RandomOrder", ours, [tuple(names[i] for i in torch.randperm(3)) for _ in range(DRAWS)])


def main():
    if torch is None:
        print("SKIPPED: augment_draws_test: needs torchvision and Pillow")
        sys.exit(77)
    torch.manual_seed(1)
    with RecipeProgram(sys.argv[1]) as program:
        test = Comparison(program)
        for compare in (compare_geometry, compare_color, compare_policies, compare_mix, compare_groups):
            compare(test)
    print(f"{test.compared} distributions compared")
    print("\n".join(test.problems))
    sys.exit(1 if test.problems or test.compared < 30 else 0)


main()
