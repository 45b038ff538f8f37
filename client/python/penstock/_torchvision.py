"""torchvision's transforms, read as Penstock's: by their names and attributes, without importing it.

Each step is followed with what an image is by then, one of Pillow's or a tensor of some type, since the same step
means different things to them. What would not come out the same is refused.
"""
import sys

from . import transforms
from .errors import InvalidArgument

_FLOATS = ("float32", "float16", "bfloat16")
_OVERRIDES = ("forward", "__call__", "transform", "_transform", "get_params", "make_params")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def read(transform):
    """(Penstock's steps, the type of the result or None where no step says it, whether 255 became 1)"""
    reading = Reading()
    reading.follow(transform)
    if reading.own_normalize and not reading.scaled:
        raise InvalidArgument("penstock.Normalize is said of numbers from 0 to 1, and ToDtype without scale=True leaves them "
                              "from 0 to 255; give it scale=True, or torchvision's Normalize")
    return reading.steps, reading.dtype, reading.scaled


class Reading:
    """What an image is after the steps so far."""

    def __init__(self):
        self.steps = []
        self.dtype = None  # a tensor's; None: an image of Pillow's
        self.scaled = True  # floats from 0 to 1, not to 255
        self.wrapped = False  # a tensor of torchvision's class Image
        self.own_normalize = False  # Penstock's, not torchvision's

    def follow(self, transform):
        if transform is None:
            return
        parts = _parts(transform)
        if parts is not None:
            for part in parts:
                self.follow(part)
        elif _root(transform) != "torchvision":
            self.steps.append(transform)
            self.own_normalize = self.own_normalize or isinstance(transform, transforms.Normalize)
        else:
            self._follow_one(transform)

    def _follow_one(self, transform):
        name = type(transform).__name__
        if name not in _KNOWN:
            raise InvalidArgument(
                f"Penstock does not do torchvision's {name}; it does {', '.join(sorted(_KNOWN))}. Do others on the "
                "finished batch, which is on your device already")
        follow, attributes = _KNOWN[name]
        _refuse_changed(transform, name, attributes)
        follow(self, transform)
        self.wrapped = self.wrapped and _is_v2(transform)  # the older ones give plain tensors

    # Geometry.

    def random_resized_crop(self, transform):
        self._check_resize(transform)
        self.steps.append(transforms.RandomResizedCrop(_sides(transform.size), tuple(transform.scale),
                                                       tuple(transform.ratio)))

    def resize(self, transform):
        self._check_resize(transform)
        if getattr(transform, "max_size", None) is not None:
            raise InvalidArgument("Resize: max_size is not done by Penstock; put a CenterCrop behind the Resize")
        self.steps.append(transforms.Resize(_plain(transform.size)))

    def _check_resize(self, transform):
        name = type(transform).__name__
        _check_bilinear(name, getattr(transform, "interpolation", None))
        antialias = getattr(transform, "antialias", None)
        if antialias not in (None, True, "warn"):
            raise InvalidArgument(f"{name}: antialias is {antialias!r}; Penstock resizes as Pillow does, which always "
                                  "does it, so leave it out")
        if self.dtype is None:
            return
        if self.dtype != "uint8":
            raise InvalidArgument(f"{name} stands behind what makes floats of the image, where torchvision does not round "
                                  "to bytes; Penstock resizes bytes, so put it before that step")
        if antialias is not True:
            raise InvalidArgument(f"{name} stands behind the step that makes a tensor of the image, where torchvision may "
                                  "resize without antialiasing; put it first, or give it antialias=True")

    def center_crop(self, transform):
        self.steps.append(transforms.CenterCrop(_sides(transform.size)))

    def flip(self, transform):
        self.steps.append(transforms.HorizontalFlip(float(transform.p)))

    # Colours and types.

    def grayscale(self, transform):
        if transform.num_output_channels != 1:
            raise InvalidArgument("Grayscale: num_output_channels is 3; Penstock gives gray rows of one channel. Repeat "
                                  "it on the finished batch: image.expand(-1, 3, -1, -1) costs nothing")
        if self.dtype is not None:
            raise InvalidArgument("Grayscale stands behind the step that makes a tensor of the image, where torchvision "
                                  "computes it in another way than Pillow; put it first")
        self.steps.append(transforms.Grayscale())

    def normalize(self, transform):
        if self.dtype is None or self.dtype == "uint8":
            raise InvalidArgument("Normalize stands where the image has no floats yet, which torchvision refuses, too; "
                                  "put ToTensor(), or ToDtype(torch.float32, scale=True), before it")
        if self.dtype != "float32":
            raise InvalidArgument(f"Normalize stands behind a step that gives {self.dtype}, in which torchvision then "
                                  f"computes; Penstock computes in float32, so put the step to {self.dtype} behind it")
        self.steps.append(transforms.Normalize(transform.mean, transform.std))

    def to_tensor(self, transform):
        if self._is_again(transform):
            return
        self.dtype, self.scaled = _default_dtype(), True

    def pil_to_tensor(self, transform):
        if not self._is_again(transform):
            self.dtype = "uint8"

    def _is_again(self, transform):
        """A tensor is left as it is by v2, and an error of v1's."""
        if self.dtype is None:
            return False
        if not _is_v2(transform):
            raise InvalidArgument(f"{type(transform).__name__} stands where the image is a tensor already, which "
                                  "torchvision refuses; leave one of them out")
        return True

    def to_image(self, _):
        self.dtype = self.dtype or "uint8"
        self.wrapped = True

    def to_pure_tensor(self, _):
        self.wrapped = False

    def convert_dtype(self, transform):
        self._cast(transform, transform.dtype, True)

    def to_dtype(self, transform):
        dtype = transform.dtype
        if isinstance(dtype, dict):
            dtype = self._meant(dtype)
        self._cast(transform, dtype, bool(transform.scale))

    def _meant(self, dtypes):
        """Of types by the classes of what is transformed."""
        wanted = "Image" if self.wrapped else "Tensor"
        for kind, dtype in dtypes.items():
            if getattr(kind, "__name__", None) == wanted:
                return dtype
        if "others" not in dtypes:
            raise InvalidArgument(f"ToDtype: {dtypes!r} says nothing about images; give the type itself")
        return dtypes["others"]

    def _cast(self, transform, dtype, scale):
        name, wanted = type(transform).__name__, str(dtype).removeprefix("torch.")
        if self.dtype is None:
            raise InvalidArgument(f"{name} stands where the image is no tensor yet; put ToImage() or PILToTensor() "
                                  "before it")
        if dtype is None or wanted == self.dtype:
            return
        if wanted not in _FLOATS or self.dtype not in ("uint8", "float32"):
            raise InvalidArgument(f"{name}: from {self.dtype} to {wanted} is not done by Penstock; it gives uint8, or "
                                  f"float32 of it, and of that float16 or bfloat16")
        if self.dtype == "uint8":
            self.scaled = scale
        self.dtype = wanted

    def preset(self, transform):
        """What `weights.transforms()` gives for classification."""
        _check_bilinear("the preset", transform.interpolation)
        if getattr(transform, "antialias", True) not in (None, True, "warn"):
            raise InvalidArgument("the preset's antialias is off; Penstock resizes as Pillow does, which always does it")
        if self.dtype is not None or self.steps:
            raise InvalidArgument("the preset ImageClassification stands behind other steps; it is a whole transform")
        self.steps += [transforms.Resize(_plain(transform.resize_size)), transforms.CenterCrop(_sides(transform.crop_size)),
                       transforms.Normalize(transform.mean, transform.std)]
        self.dtype = "float32"

    def nothing(self, _):
        pass


def _root(transform):
    return type(transform).__module__.split(".")[0]


def _is_v2(transform):
    return ".v2." in type(transform).__module__ + "."


def _parts(transform):
    """Of what is several steps one behind the other; else None."""
    if isinstance(transform, (list, tuple)):
        return transform
    name, root = type(transform).__name__, _root(transform)
    if root == "torchvision" and name == "Compose":
        _refuse_changed(transform, name, {"transforms"})
        return transform.transforms
    if root == "torch" and name == "Sequential":
        return list(transform)
    return None


def _refuse_changed(transform, name, attributes):
    """What a later torchvision added, or a program changed, may mean anything."""
    there = vars(transform)
    changed = [each for each in _OVERRIDES if each in there] + [each for each in _HOOKS if there.get(each)]
    if changed:
        raise InvalidArgument(f"this {name} was changed ({', '.join(changed)}), and Penstock cannot run what it now does; "
                              "do it on the finished batch")
    more = sorted(each for each in there if each[0] != "_" and each != "training" and each not in attributes)
    if more:
        raise InvalidArgument(f"this {name} has {', '.join(more)}, which Penstock does not know; give its own steps "
                              f"(penstock.{name} where there is one)")


def _check_bilinear(name, mode):
    if mode is not None and str(getattr(mode, "value", mode)) not in ("bilinear", "2"):
        raise InvalidArgument(f"{name}: interpolation is {mode}; Penstock resizes as Pillow's bilinear does, which is "
                              "torchvision's default")


def _plain(number):
    return number[0] if isinstance(number, (list, tuple)) and len(number) == 1 else number


def _sides(size):
    return size if isinstance(size, int) else tuple(size)


def _default_dtype():
    """What ToTensor gives: torch's default type, which a program may have set."""
    torch = sys.modules.get("torch")
    name = "float32" if torch is None else str(torch.get_default_dtype()).removeprefix("torch.")
    if name != "float32":
        raise InvalidArgument(f"torch's default type is {name}, which ToTensor() then gives; Penstock computes in "
                              f"float32: put ToDtype(torch.{name}) behind, or leave the default type alone")
    return name


_RESIZES = {"size", "interpolation", "antialias"}
# A step's name, how it is followed, and its attributes, all of which that looks at or need not look at.
_KNOWN = {
    "RandomResizedCrop": (Reading.random_resized_crop, _RESIZES | {"scale", "ratio"}),
    "Resize": (Reading.resize, _RESIZES | {"max_size"}),
    "CenterCrop": (Reading.center_crop, {"size"}),
    "RandomHorizontalFlip": (Reading.flip, {"p"}),
    "Grayscale": (Reading.grayscale, {"num_output_channels"}),
    "Normalize": (Reading.normalize, {"mean", "std", "inplace"}),
    "ToTensor": (Reading.to_tensor, set()),
    "PILToTensor": (Reading.pil_to_tensor, set()),
    "ToImage": (Reading.to_image, set()),
    "ToImageTensor": (Reading.to_image, set()),
    "ToPureTensor": (Reading.to_pure_tensor, set()),
    "ConvertImageDtype": (Reading.convert_dtype, {"dtype"}),
    "ConvertDtype": (Reading.convert_dtype, {"dtype"}),
    "ToDtype": (Reading.to_dtype, {"dtype", "scale"}),
    "Identity": (Reading.nothing, set()),
    "ImageClassification": (Reading.preset, {"crop_size", "resize_size", "mean", "std", "interpolation", "antialias"}),
}
