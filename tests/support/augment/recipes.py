"""Recipes as lists of dicts with torchvision's arguments, as server/plan/README.md has them, and the program that draws
and runs them (tests/support/augment/augment_recipe.cc)."""
import subprocess

OPS = {"Compose": 1, "RandomApply": 2, "RandomChoice": 3, "RandomOrder": 4, "RandomHorizontalFlip": 10,
       "RandomVerticalFlip": 11, "RandomRotation": 12, "RandomAffine": 13, "RandomPerspective": 14, "Pad": 15,
       "RandomCrop": 16, "CenterCrop": 17, "Resize": 18, "RandomResizedCrop": 19, "RandomShortestSize": 20,
       "ScaleJitter": 21, "RandomResize": 22, "ColorJitter": 30, "RandomGrayscale": 31, "GaussianBlur": 32, "RandomSolarize": 33,
       "RandomPosterize": 34, "RandomEqualize": 35, "RandomAutocontrast": 36, "RandomInvert": 37,
       "RandomAdjustSharpness": 38, "RandAugment": 50, "TrivialAugmentWide": 51, "AutoAugment": 52, "AugMix": 53}
POLICIES = ("imagenet", "cifar10", "svhn")
PAD_MODES = ("constant", "edge", "reflect", "symmetric")


def step(name, **arguments):
    return {"name": name, **arguments}


def rotation(degrees, expand=False, center=None, **rest):
    return step("RandomRotation", degrees=degrees, expand=expand, center=center, **rest)


def affine(degrees, translate=(0, 0), scale=(1, 1), shear=(0, 0, 0, 0), center=None, **rest):
    return step("RandomAffine", degrees=degrees, translate=translate, scale=scale, shear=shear, center=center, **rest)


def random_crop(size, padding=(0, 0, 0, 0), pad_if_needed=False, **rest):
    return step("RandomCrop", size=size, padding=padding, pad_if_needed=pad_if_needed, **rest)


def color_jitter(brightness=(1, 1), contrast=(1, 1), saturation=(1, 1), hue=(0, 0)):
    return step("ColorJitter", brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)


def rand_augment(num_ops=2, magnitude=9, num_magnitude_bins=31, **rest):
    return step("RandAugment", num_ops=num_ops, magnitude=magnitude, num_magnitude_bins=num_magnitude_bins, **rest)


def trivial_augment_wide(num_magnitude_bins=31, **rest):
    return step("TrivialAugmentWide", num_magnitude_bins=num_magnitude_bins, **rest)


def auto_augment(policy, **rest):
    from torchvision.transforms import autoaugment
    pairs = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(policy)).policies
    return step("AutoAugment", policy=policy, pairs=pairs, **rest)


def aug_mix(severity=3, mixture_width=3, chain_depth=-1, alpha=1.0, all_ops=True, **rest):
    return step("AugMix", severity=severity, mixture_width=mixture_width, chain_depth=chain_depth, alpha=alpha,
                all_ops=all_ops, **rest)


def arguments_of(each):
    """Returns what `args` in server/augment/recipe/recipe.h hold for the step."""
    name = each["name"]
    if name in ("RandomRotation", "RandomAffine"):
        center = each["center"] or (0, 0)
        if name == "RandomRotation":
            return (*each["degrees"], *center)
        return (*each["degrees"], *each["translate"], *each["scale"], *each["shear"], *center)
    if name == "ColorJitter":
        return (*each["brightness"], *each["contrast"], *each["saturation"], *each["hue"])
    if name in ("RandomCrop", "CenterCrop"):
        return (*each["size"], *each.get("padding", ()))
    if name == "Resize":
        size = each["size"] if isinstance(each["size"], tuple) else (each["size"], 0)
        return (*size, each.get("max_size") or 0)
    if name == "RandomResizedCrop":
        return (*each["size"], *each["scale"], *each["ratio"])
    if name == "RandomShortestSize":
        return (each.get("max_size") or 0, *each["min_size"])
    if name == "ScaleJitter":
        return (*each["target_size"], *each["scale_range"])
    if name == "RandomResize":
        return each["min_size"], each["max_size"]
    if name == "Pad":
        return each["padding"]
    if name == "GaussianBlur":
        return (*each["kernel_size"], *each["sigma"])
    names = {"RandomPerspective": ("distortion_scale",), "RandomSolarize": ("threshold",), "RandomPosterize": ("bits",),
             "RandomAdjustSharpness": ("sharpness_factor",),
             "RandAugment": ("num_ops", "magnitude", "num_magnitude_bins"),
             "TrivialAugmentWide": ("num_magnitude_bins",),
             "AugMix": ("severity", "mixture_width", "chain_depth", "alpha")}
    return tuple(each[argument] for argument in names.get(name, ()))


def flags_of(each):
    bits = {1: each.get("center") is not None, 2: each.get("expand"), 4: each.get("pad_if_needed"),
            8: each.get("all_ops")}
    return sum(bit for bit, is_set in bits.items() if is_set)


def mode_of(each):
    return POLICIES.index(each["policy"]) if "policy" in each else PAD_MODES.index(each.get("padding_mode", "constant"))


def lines_of(steps, weights=None):
    """Yields the flattened steps."""
    for i, each in enumerate(steps):
        children = list(lines_of(each.get("transforms", ()), each.get("weights")))
        arguments = list(map(float, arguments_of(each)))
        numbers = [OPS[each["name"]], len(children), each.get("interpolation", 0), mode_of(each), flags_of(each),
                   *each.get("fill", (0, 0, 0)), float(each.get("p", 1)), float(weights[i] if weights else 1),
                   *arguments, *[0] * (12 - len(arguments))]
        yield " ".join(map(repr, numbers))
        yield from children


class RecipeProgram:
    """The running program."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def plan(self, steps, size, key, view=0, pixels=b"", channels=3):
        """Returns the outcome, the operations as tuples, and the result's size and pixels (empty without pixels)."""
        lines = list(lines_of(steps))
        head = [*size, channels, *key, view, len(lines), int(bool(pixels))]
        request = "\n".join([" ".join(map(str, head)), *lines]) + "\n"
        self.process.stdin.write(request.encode() + pixels)
        self.process.stdin.flush()
        outcome, count, width, height, *_ = self._line(request).split()
        operations = [self._line(request).split() for _ in range(int(count))]
        operations = [(name, *map(float, numbers)) for name, *numbers in operations]
        size = int(width), int(height)
        result = self.process.stdout.read(size[0] * size[1] * channels) if pixels and outcome == "done" else b""
        return outcome, operations, size, result

    def _line(self, request):
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"penstock-augment-recipe ended at the request:\n{request}")
        return line.decode()
