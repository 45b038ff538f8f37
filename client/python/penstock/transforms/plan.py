"""A transform taken apart: what the daemon does to each image, and what the finish does to the batch."""
from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple, Union

from . import _checks as check
from ..errors import InvalidArgument
from .color import (ColorJitter, GaussianBlur, GrayInThree, RandomAdjustSharpness, RandomAutocontrast, RandomEqualize, RandomGrayscale,
                    RandomInvert, RandomPosterize, RandomSolarize)
from .finish import RandomErasing
from .geometry import HorizontalFlip, Pad, RandomAffine, RandomCrop, RandomPerspective, RandomRotation, VerticalFlip
from .op import Op
from .policies import size_after
from .policies import AugMix, AutoAugment, RandAugment, RandomApply, RandomChoice, RandomOrder, TrivialAugmentWide
from .steps import (Canvas, CenterCrop, ExifTranspose, Grayscale, Normalize, Python, RandomResize, RandomResizedCrop, RandomShortestSize,
                    Resize, ScaleJitter)

MOST_LEVELS = 8  # of groups
MOST_STEPS = 32  # of a recipe, those within groups included

_IMAGE = (AugMix, AutoAugment, CenterCrop, ColorJitter, GaussianBlur, HorizontalFlip, Pad, RandAugment, RandomAdjustSharpness,
          RandomAffine, RandomApply, RandomAutocontrast, RandomChoice, RandomCrop, RandomEqualize, RandomGrayscale, RandomInvert,
          RandomOrder, RandomPerspective, RandomPosterize, RandomResize, RandomResizedCrop, RandomRotation, RandomShortestSize,
          RandomSolarize, Resize, ScaleJitter, TrivialAugmentWide, VerticalFlip)
_AFTER_NUMBERS = (HorizontalFlip, VerticalFlip)  # move pixels only, so Normalize may come before them
_ORDER = "ExifTranspose; Grayscale; steps that crop, move and color images; Canvas; Normalize; RandomErasing"


@dataclass(frozen=True)
class Plan:
    """The crop and the flip that the decoder does on its way, if there are such, come first. The recipe's steps follow them, or,
    with `whole`, begin with the whole image and end with images of `whole`, (height, width)."""

    upright: bool = False
    gray: bool = False
    random_crop: Union[RandomResizedCrop, None] = None
    center_crop: Union[Tuple[Resize, CenterCrop], None] = None
    whole: Optional[Tuple[int, int]] = None
    canvas: bool = False  # images may be smaller than `whole`
    flip: float = 0.0
    recipe: Tuple[Any, ...] = ()
    normalize: Union[Normalize, None] = None
    erasing: Union[RandomErasing, None] = None
    dtype: Union[str, None] = None  # of the result, if a step sets it
    scaled: bool = True  # whether floats go to 1 instead of 255

    @property
    def has_geometry(self):
        return self.random_crop is not None or self.center_crop is not None or self.whole is not None

    @property
    def makes_three_channels(self):
        """Whether torchvision's steps would give three channels to an image of one."""
        return _has(GrayInThree, self.recipe)

    @property
    def changes_images(self):
        return self.has_geometry or self.flip > 0 or bool(self.recipe)

    def of_size(self, size):
        """The same plan for images that all have this size, if it needs that."""
        if self.has_geometry or not self.changes_images:
            return self
        flip = (HorizontalFlip(self.flip),) if self.flip > 0 else ()
        known = (CenterCrop(size),)  # changes nothing, but a recipe must end with a size
        return replace(self, whole=size, flip=0.0, recipe=flip + self.recipe + known)

    def ops(self) -> Tuple[Op, ...]:
        return tuple(step.op() for step in self.recipe)

    @property
    def erasing_step(self):
        """The number that the erasing's random choices are drawn by: the place behind the recipe."""
        return 1 + sum(op.count for op in self.ops())


def is_native(step):
    """Whether a step is one of Penstock's own, which need no Python."""
    return isinstance(step, (Canvas, ExifTranspose, Grayscale, Normalize, RandomErasing) + _IMAGE)


def plan_of(transform):
    """The plan for a transform: None, one step, a list of them, or torchvision's. Without Python functions: _steps.py."""
    from .._torchvision import read
    steps, dtype, scaled = read(transform)
    parts = _Parts()
    for step in steps:
        parts.add(step)
    plan = Plan(upright=parts.upright, gray=parts.gray, normalize=parts.normalize, erasing=parts.erasing, dtype=dtype, scaled=scaled,
                **(_geometry(parts.images) if parts.canvas is None else _on_canvas(parts.images, parts.canvas)))
    _check(plan)
    return plan


class _Parts:
    """A transform's steps, sorted by who does them, in an order that can be."""

    def __init__(self):
        self.upright = self.gray = False
        self.images = []
        self.canvas = self.normalize = self.erasing = None

    def add(self, step):
        if isinstance(step, Python):
            raise InvalidArgument(f"the transform has the Python function {step.name}, and only penstock.torch.DataLoader runs "
                                  "those; apply it to the finished batch")
        if not is_native(step):
            raise InvalidArgument(f"Penstock does not know the transform {step!r}; it supports {_ORDER}. Apply others to the "
                                  "finished batch, which is already on your device")
        if not self._fits(step):
            raise InvalidArgument(f"{type(step).__name__} comes too late or twice in the transform; the order is {_ORDER}")
        if isinstance(step, ExifTranspose):
            self.upright = True
        elif isinstance(step, Grayscale):
            self.gray = True
        elif isinstance(step, Canvas):
            self.canvas = step
        elif isinstance(step, Normalize):
            self.normalize = step
            self.erasing = self.erasing and self.erasing.before(step)
        elif isinstance(step, RandomErasing):
            self.erasing = step
        else:
            self.images.append(step)

    def _fits(self, step):
        if self.erasing is not None:
            return isinstance(step, Normalize) and self.normalize is None
        if isinstance(step, ExifTranspose):
            return not (self.upright or self.gray or self.images or self.normalize)
        if isinstance(step, Grayscale):
            return not (self.gray or self.images or self.normalize)
        if isinstance(step, Normalize):
            return self.normalize is None
        if self.canvas is not None:
            return False
        return self.normalize is None or isinstance(step, _AFTER_NUMBERS + (RandomErasing,))


_ANY = (-1, -1)  # stands for a size


def _geometry(images):
    """The entries of a Plan for the steps that make images."""
    head, size = _fused(images)
    rest = list(images[len(head):])
    if head and not _keep(rest, size):
        head, rest = [], list(images)
    found = {}
    if len(head) == 1:
        found["random_crop"] = head[0]
    elif head:
        found["center_crop"] = tuple(head)
    if (head or not _resizes(rest)) and rest and isinstance(rest[0], HorizontalFlip):
        found["flip"] = float(rest.pop(0).p)
    if not head and rest:
        found["whole"] = _size_of(rest)  # None: that of the dataset's images, if they have one
    found["recipe"] = tuple(rest)
    return found


def _on_canvas(images, canvas):
    """The entries of a Plan for images of different sizes."""
    size = None
    for step in images:
        size = size_after(step, size)
    if size is not None and (size[0] > canvas.height or size[1] > canvas.width):
        raise InvalidArgument(f"Canvas: the images have {size[0]} x {size[1]} pixels, and the canvas {canvas.height} x {canvas.width}; "
                              "give a larger one, or leave it out, as all images have one size")
    return {"whole": canvas.size, "canvas": True, "recipe": tuple(images)}


def _fused(images):
    """The crop that the decoder does on its way, and its size."""
    if images and isinstance(images[0], RandomResizedCrop):
        return images[:1], sides_of(images[0])
    if len(images) > 1 and isinstance(images[0], Resize) and isinstance(images[1], CenterCrop):
        resize, crop = images[:2]
        if resize.shorter and resize.max_size is None and max(sides_of(crop)) <= resize.shorter:
            return images[:2], sides_of(crop)
    return [], None


def _keep(steps, size):
    return all(size_after(step, size) == size for step in steps)


def _resizes(steps):
    return any(size_after(step, None) is not None for step in steps)


def _size_of(steps):
    size = None
    for step in steps:
        size = size_after(step, size)
    if size is None and not _keep(steps, _ANY):
        raise InvalidArgument(f"the transform ends with images of different sizes, which cannot form a batch: the last step is "
                              f"{type(steps[-1]).__name__}; put a RandomResizedCrop, RandomCrop, CenterCrop or Resize((height, "
                              "width)) into it; or Canvas, for images of different sizes in a batch")
    return size


def _has(kind, steps):
    return any(isinstance(step, kind) or _has(kind, getattr(step, "transforms", ())) for step in steps)


def _check(plan):
    if plan.gray and plan.makes_three_channels:
        raise InvalidArgument("Grayscale with three channels comes after Grayscale with one, and the rows keep one channel; leave the first "
                              "one out")
    if plan.gray and plan.normalize is not None and len(plan.normalize.mean) != 1:
        raise InvalidArgument("Normalize has 3 numbers for mean and std, but gray rows have one channel; give 1 of each")
    if plan.erasing is not None:
        plan.erasing.values(1 if plan.gray else 3)
    if plan.canvas and plan.erasing is not None:
        raise InvalidArgument("RandomErasing comes behind Canvas, and would erase boxes of the canvas instead of the image; leave one of "
                              "them out")
    count = sum(op.count for op in plan.ops())
    if any(op.depth > MOST_LEVELS for op in plan.ops()):
        raise InvalidArgument(f"the transform has groups within groups, more than {MOST_LEVELS} levels deep")
    if count > MOST_STEPS:
        raise InvalidArgument(f"the transform has {count} steps, those within groups included; at most {MOST_STEPS} are possible")


def sides_of(crop):
    """(height, width) of a crop's result."""
    return check.pair(crop.size, type(crop).__name__)
