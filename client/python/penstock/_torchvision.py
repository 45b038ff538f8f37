"""Reads torchvision's transforms as Penstock's, by their names and attributes, without importing torchvision.

Tracks whether an image is a Pillow image or a tensor, and of which type, after each step, because the same step means
different things to them. Refuses every step whose result would differ.
"""
import inspect
import sys

from . import transforms
from .transforms import _checks as check
from .transforms.color import GrayInThree
from ._torchvision_steps import ERASING, GROUPS, IMAGE_STEPS, check_tensor
from .errors import InvalidArgument

_FLOATS = ("float32", "float16", "bfloat16")
_OVERRIDES = ("forward", "__call__", "transform", "_transform", "get_params", "make_params")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def read(transform):
    """(Penstock's steps, the type of the result or None if no step sets it, whether floats go to 1 instead of 255)"""
    reading = Reading()
    reading.follow(transform)
    if reading.own_normalize and not reading.scaled:
        raise InvalidArgument("penstock.Normalize expects numbers from 0 to 1, but ToDtype without scale=True leaves them "
                              "from 0 to 255; use scale=True, or torchvision's Normalize")
    return reading.steps, reading.dtype, reading.scaled


class Reading:
    """What an image is after the steps so far."""

    def __init__(self):
        self.steps = []
        self.dtype = None  # a tensor's; None: a Pillow image
        self.scaled = True  # floats from 0 to 1, not to 255
        self.wrapped = False  # a tensor of torchvision's Image class
        self.own_normalize = False  # has Penstock's Normalize, not torchvision's

    def follow(self, transform):
        if transform is None:
            return
        parts = parts_of(transform)
        if parts is not None:
            for part in parts:
                self.follow(part)
        elif root_of(transform) != "torchvision":
            self.steps.append(transform)
            self.own_normalize = self.own_normalize or isinstance(transform, transforms.Normalize)
        else:
            self._follow_one(transform)

    def _follow_one(self, transform):
        name = type(transform).__name__
        if name in ("MixUp", "CutMix"):
            raise InvalidArgument(f"{name} mixes whole batches; give it to the loader, as mix=")
        if not is_known(transform):
            if name == "AugMix":
                raise InvalidArgument("torchvision's AugMix computes on tensors even if it gets a Pillow image, and Penstock on Pillow's "
                                      "bytes; give penstock.AugMix(…), which is the published one, or run torchvision's in Python: "
                                      "penstock.Python(AugMix(…), input='pil')")
            raise InvalidArgument(
                f"Penstock does not support torchvision's {name}; it supports {', '.join(sorted(_names()))}. Apply others to the "
                "finished batch, which is already on your device")
        if name in _KNOWN:
            follow, attributes = _KNOWN[name]
            _refuse_changed(transform, name, attributes)
            follow(self, transform)
        else:
            self.steps.append(self._image_step(transform, name))
        self.wrapped = self.wrapped and _is_v2(transform)  # v1 steps give plain tensors

    def _image_step(self, transform, name):
        """A step that changes one image, or a group of such steps."""
        if name in GROUPS:
            make, attributes = GROUPS[name]
            _refuse_changed(transform, name, attributes)
            return make(transform, [self._step_of_group(step) for step in transform.transforms])
        make, attributes = IMAGE_STEPS[name]
        _refuse_changed(transform, name, attributes)
        step = make(transform)
        check_tensor(name, step, self.dtype, self._is_normalized())
        return step

    def _step_of_group(self, step):
        """One step, or the list of a Compose; a type that the group sets would depend on chance."""
        inner = Reading()
        inner.dtype = self.dtype
        inner.steps = [each for each in self.steps if isinstance(each, transforms.Normalize)]
        before = len(inner.steps)
        inner.follow(step)
        if inner.dtype != self.dtype:
            raise InvalidArgument(f"{type(step).__name__} within a group changes the image's type, which would depend on chance; "
                                  "put it behind the group")
        steps = inner.steps[before:]
        return steps[0] if len(steps) == 1 else steps

    def _is_normalized(self):
        return any(isinstance(step, transforms.Normalize) for step in self.steps)

    def erasing(self, transform):
        if self.dtype is None or self.dtype == "uint8":
            raise InvalidArgument("RandomErasing comes before the image has floats; Penstock erases in the finished numbers, so put "
                                  "it last, behind ToTensor() or ToDtype(torch.float32, scale=True)")
        self.steps.append(ERASING[0](transform))

    # Geometry.

    def random_resized_crop(self, transform):
        self._check_resize(transform)
        self.steps.append(transforms.RandomResizedCrop(_sides(transform.size), tuple(transform.scale), tuple(transform.ratio),
                                                       _mode(transform)))

    def resize(self, transform):
        self._check_resize(transform)
        self.steps.append(transforms.Resize(_sides(_plain(transform.size)), _mode(transform), getattr(transform, "max_size", None)))

    def _check_resize(self, transform):
        name = type(transform).__name__
        antialias = getattr(transform, "antialias", None)
        if antialias not in (None, True, "warn"):
            raise InvalidArgument(f"{name}: antialias is {antialias!r}; Penstock resizes as Pillow does, which always "
                                  "antialiases, so leave it out")
        if self.dtype is None:
            return
        if _mode(transform) != "bilinear":
            raise InvalidArgument(f"{name} comes after the step that makes a tensor of the image, where torchvision's {_mode(transform)} "
                                  "filter differs from Pillow's; put it before that step")
        if self.dtype != "uint8":
            raise InvalidArgument(f"{name} comes after a step that makes floats of the image, where torchvision does not round "
                                  "to bytes; Penstock resizes bytes, so put it before that step")
        if antialias is not True:
            raise InvalidArgument(f"{name} comes after the step that makes a tensor of the image, where torchvision may "
                                  "resize without antialiasing; put it first, or give it antialias=True")

    def center_crop(self, transform):
        self.steps.append(transforms.CenterCrop(_sides(transform.size)))

    def flip(self, transform):
        self.steps.append(transforms.HorizontalFlip(float(transform.p)))

    # Colors and types.

    def grayscale(self, transform):
        if self.dtype is not None:
            raise InvalidArgument("Grayscale comes after the step that makes a tensor of the image, where torchvision "
                                  "computes it differently from Pillow; put it first")
        self.steps.append(transforms.Grayscale() if transform.num_output_channels == 1 else GrayInThree())

    def normalize(self, transform):
        if self.dtype is None or self.dtype == "uint8":
            raise InvalidArgument("Normalize comes before the image has floats, which torchvision refuses, too; "
                                  "put ToTensor(), or ToDtype(torch.float32, scale=True), before it")
        if self.dtype != "float32":
            raise InvalidArgument(f"Normalize comes after a step that gives {self.dtype}, in which torchvision then "
                                  f"computes; Penstock computes in float32, so put the step to {self.dtype} after it")
        self.steps.append(transforms.Normalize(transform.mean, transform.std))

    def to_tensor(self, transform):
        if self._is_again(transform):
            return
        self.dtype, self.scaled = _default_dtype(), True

    def pil_to_tensor(self, transform):
        if not self._is_again(transform):
            self.dtype = "uint8"

    def _is_again(self, transform):
        """Whether the image is already a tensor, which v2 leaves as it is and v1 refuses."""
        if self.dtype is None:
            return False
        if not _is_v2(transform):
            raise InvalidArgument(f"{type(transform).__name__} comes when the image is already a tensor, which "
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
        """The type for images in a dict from classes to types."""
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
            raise InvalidArgument(f"{name} comes before the image is a tensor; put ToImage() or PILToTensor() "
                                  "before it")
        if dtype is None or wanted == self.dtype:
            return
        if wanted not in _FLOATS or self.dtype not in ("uint8", "float32"):
            raise InvalidArgument(f"{name}: Penstock does not convert from {self.dtype} to {wanted}; it gives uint8, "
                                  f"uint8 as float32, and that as float16 or bfloat16")
        if self.dtype == "uint8":
            self.scaled = scale
        self.dtype = wanted

    def preset(self, transform):
        """The transform that `weights.transforms()` returns for classification."""
        if getattr(transform, "antialias", True) not in (None, True, "warn"):
            raise InvalidArgument("the preset's antialias is off; Penstock resizes as Pillow does, which always antialiases")
        if self.dtype is not None or self.steps:
            raise InvalidArgument("the preset ImageClassification comes after other steps; it is a whole transform, so use it alone")
        self.steps += [transforms.Resize(_plain(transform.resize_size), _mode(transform)), transforms.CenterCrop(_sides(transform.crop_size)),
                       transforms.Normalize(transform.mean, transform.std)]
        self.dtype = "float32"

    def nothing(self, _):
        pass


def root_of(transform):
    """The package that a transform's class comes from."""
    return type(transform).__module__.split(".")[0]


def is_known(transform):
    """Whether Penstock has this transform of torchvision's, or looks into it."""
    return type(transform).__name__ in _names()


def _names():
    return {*_KNOWN, *IMAGE_STEPS, *GROUPS}


def _is_v2(transform):
    return ".v2." in type(transform).__module__ + "."


def parts_of(transform):
    """The steps of a sequence of transforms; None for a single one."""
    if isinstance(transform, (list, tuple)):
        return transform
    name, root = type(transform).__name__, root_of(transform)
    if root == "torchvision" and name == "Compose":
        _refuse_changed(transform, name, {"transforms"})
        return transform.transforms
    if root == "torch" and name == "Sequential":
        return list(transform)
    inner = None if root == "torchvision" else _wrapped(transform)
    return None if inner is None else [inner]


def _only_calls(self, image):
    return self.attribute(image)


def _wrapped(transform):
    """What an object of the program's own class calls, if its `__call__` does nothing else: `return self.transforms(image)`."""
    kind = type(transform)
    code = getattr(kind.__dict__.get("__call__"), "__code__", None)
    if code is None or kind.__bases__ != (object,) or kind.__getattribute__ is not object.__getattribute__:
        return None
    same = _only_calls.__code__
    flags = ~inspect.CO_NESTED
    is_same = (code.co_code, code.co_argcount, code.co_flags & flags) == (same.co_code, same.co_argcount, same.co_flags & flags)
    if not is_same or code.co_freevars or len(code.co_names) != 1 or hasattr(kind, code.co_names[0]):
        return None
    return getattr(transform, "__dict__", {}).get(code.co_names[0])


def _refuse_changed(transform, name, attributes):
    """Refuses a transform with an unknown attribute, of a later torchvision, or one that the program has changed."""
    there = vars(transform)
    changed = [each for each in _OVERRIDES if each in there] + [each for each in _HOOKS if there.get(each)]
    if changed:
        raise InvalidArgument(f"this {name} was changed ({', '.join(changed)}), and Penstock cannot run the change; "
                              "apply it to the finished batch")
    more = sorted(each for each in there if each[0] != "_" and each != "training" and each not in attributes)
    if more:
        raise InvalidArgument(f"this {name} has {', '.join(more)}, which Penstock does not know; use Penstock's own step "
                              f"(penstock.{name}, if there is one)")


def _mode(transform):
    """The interpolation's name. torchvision's default is bilinear."""
    mode = getattr(transform, "interpolation", None)
    return "bilinear" if mode is None else check.interpolation(mode, type(transform).__name__)


def _plain(number):
    return number[0] if isinstance(number, (list, tuple)) and len(number) == 1 else number


def _sides(size):
    return size if isinstance(size, int) else tuple(size)


def _default_dtype():
    """The type that ToTensor gives: torch's default type, which a program may have changed."""
    torch = sys.modules.get("torch")
    name = "float32" if torch is None else str(torch.get_default_dtype()).removeprefix("torch.")
    if name != "float32":
        raise InvalidArgument(f"torch's default type is {name}, so ToTensor() gives that; Penstock computes in "
                              f"float32: put ToDtype(torch.{name}) after it, or leave the default type alone")
    return name


_RESIZES = {"size", "interpolation", "antialias"}
# By a step's name: how it is followed, and all attributes that may be present.
_KNOWN = {
    "RandomResizedCrop": (Reading.random_resized_crop, _RESIZES | {"scale", "ratio"}),
    "Resize": (Reading.resize, _RESIZES | {"max_size"}),
    "CenterCrop": (Reading.center_crop, {"size"}),
    "RandomHorizontalFlip": (Reading.flip, {"p"}),
    "RandomErasing": (Reading.erasing, ERASING[1]),
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
