"""torchvision's steps that change one image, as Penstock's: by their names and attributes, without importing torchvision."""
from . import transforms
from .errors import InvalidArgument

# Steps whose result is the same on a tensor of bytes as on a Pillow image …
_SAME_ON_BYTES = {"Pad", "RandomCrop", "RandomInvert", "RandomPosterize", "RandomSolarize", "RandomVerticalFlip"}
# … and on floats, if what they add is 0.
_SAME_ON_FLOATS = {"Pad", "RandomCrop", "RandomVerticalFlip"}


def check_tensor(name, step, dtype, normalized):
    """Refuses a step on a tensor where torchvision computes differently from Pillow."""
    if dtype is None:
        return
    same = name in (_SAME_ON_BYTES if dtype == "uint8" else _SAME_ON_FLOATS)
    adds = isinstance(step, (transforms.Pad, transforms.RandomCrop)) and dtype != "uint8"
    if same and not (adds and (normalized or step.op().numbers[-1] != 0)):
        return
    raise InvalidArgument(f"{name} comes after the step that makes a tensor of the image, where torchvision computes it "
                          "differently from Pillow; put it before that step")


def _mode(transform):
    return getattr(transform.interpolation, "value", transform.interpolation)


def _fill(transform):
    fill = transform.fill
    return fill if fill is None or isinstance(fill, (int, float)) else tuple(fill)


def _p(kind):
    return lambda step: kind(float(step.p))


def _pad(step):
    return transforms.Pad(_plain(step.padding), _fill(step), step.padding_mode)


def _random_crop(step):
    return transforms.RandomCrop(tuple(step.size), None if step.padding is None else _plain(step.padding), bool(step.pad_if_needed),
                                 _fill(step), step.padding_mode)


def _rotation(step):
    return transforms.RandomRotation(tuple(step.degrees), _mode(step), bool(step.expand), _tuple(step.center), _fill(step))


def _affine(step):
    return transforms.RandomAffine(tuple(step.degrees), _tuple(step.translate), _tuple(step.scale), _tuple(step.shear), _mode(step),
                                   _fill(step), _tuple(step.center))


def _perspective(step):
    return transforms.RandomPerspective(step.distortion_scale, float(step.p), _mode(step), _fill(step))


def _jitter(step):
    keep = (1.0, 1.0)
    return transforms.ColorJitter(_tuple(step.brightness) or keep, _tuple(step.contrast) or keep, _tuple(step.saturation) or keep,
                                  _tuple(step.hue) or (0.0, 0.0))


def _blur(step):
    return transforms.GaussianBlur(tuple(step.kernel_size), tuple(map(float, step.sigma)))


def _rand_augment(step):
    return transforms.RandAugment(step.num_ops, step.magnitude, step.num_magnitude_bins, _mode(step), _fill(step))


def _trivial(step):
    return transforms.TrivialAugmentWide(step.num_magnitude_bins, _mode(step), _fill(step))


def _auto_augment(step):
    there = vars(step).get("policies")
    if there is not None and there != step._get_policies(step.policy):
        raise InvalidArgument("AutoAugment: its policies were changed, and Penstock has only the published ones; run it in Python: "
                              "penstock.Python(…, input='pil')")
    return transforms.AutoAugment(getattr(step.policy, "value", step.policy), _mode(step), _fill(step))


def _shortest(step):
    return transforms.RandomShortestSize(tuple(step.min_size), step.max_size, _mode(step))


def _random_resize(step):
    return transforms.RandomResize(step.min_size, step.max_size, _mode(step))


def _scale_jitter(step):
    return transforms.ScaleJitter(tuple(step.target_size), tuple(step.scale_range), _mode(step))


def _erasing(step):
    value = step.value
    if value is None:
        value = "random"  # as v2 keeps it
    return transforms.RandomErasing(float(step.p), tuple(step.scale), tuple(step.ratio),
                                    value if isinstance(value, (int, float, str)) else tuple(value))


def _plain(value):
    return value if isinstance(value, int) else tuple(value)


def _tuple(value):
    return None if value is None else tuple(map(float, value))


_FILTERED = {"interpolation", "fill"}
# By a step's name: what it becomes, and all attributes that may be present.
IMAGE_STEPS = {
    "AutoAugment": (_auto_augment, _FILTERED | {"policy", "policies"}),
    "ColorJitter": (_jitter, {"brightness", "contrast", "saturation", "hue"}),
    "GaussianBlur": (_blur, {"kernel_size", "sigma"}),
    "Pad": (_pad, {"padding", "fill", "padding_mode"}),
    "RandAugment": (_rand_augment, _FILTERED | {"num_ops", "magnitude", "num_magnitude_bins"}),
    "RandomAdjustSharpness": (lambda step: transforms.RandomAdjustSharpness(float(step.sharpness_factor), float(step.p)),
                              {"sharpness_factor", "p"}),
    "RandomAffine": (_affine, _FILTERED | {"degrees", "translate", "scale", "shear", "center"}),
    "RandomAutocontrast": (_p(transforms.RandomAutocontrast), {"p"}),
    "RandomCrop": (_random_crop, {"size", "padding", "pad_if_needed", "fill", "padding_mode"}),
    "RandomEqualize": (_p(transforms.RandomEqualize), {"p"}),
    "RandomGrayscale": (_p(transforms.RandomGrayscale), {"p"}),
    "RandomInvert": (_p(transforms.RandomInvert), {"p"}),
    "RandomPerspective": (_perspective, _FILTERED | {"distortion_scale", "p"}),
    "RandomPosterize": (lambda step: transforms.RandomPosterize(int(step.bits), float(step.p)), {"bits", "p"}),
    "RandomRotation": (_rotation, _FILTERED | {"degrees", "expand", "center"}),
    "RandomSolarize": (lambda step: transforms.RandomSolarize(float(step.threshold), float(step.p)), {"threshold", "p"}),
    "RandomVerticalFlip": (_p(transforms.VerticalFlip), {"p"}),
    "RandomShortestSize": (_shortest, {"min_size", "max_size", "interpolation", "antialias"}),
    "RandomResize": (_random_resize, {"min_size", "max_size", "interpolation", "antialias"}),
    "ScaleJitter": (_scale_jitter, {"target_size", "scale_range", "interpolation", "antialias"}),
    "TrivialAugmentWide": (_trivial, _FILTERED | {"num_magnitude_bins"}),
}
ERASING = (_erasing, {"p", "scale", "ratio", "value", "inplace"})
# By a group's name: what it becomes of its steps.
GROUPS = {
    "RandomApply": (lambda group, steps: transforms.RandomApply(steps, float(group.p)), {"transforms", "p"}),
    "RandomChoice": (lambda group, steps: transforms.RandomChoice(steps, _tuple(group.p)), {"transforms", "p"}),
    "RandomOrder": (lambda group, steps: transforms.RandomOrder(steps), {"transforms"}),
}
