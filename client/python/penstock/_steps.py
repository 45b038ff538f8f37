"""A transform with Python functions, taken apart: native steps, functions, and what the finish does."""
from dataclasses import dataclass
from typing import Tuple

from . import transforms
from ._say import say_once
from ._torchvision import is_known, parts_of, root_of
from .errors import InvalidArgument


@dataclass(frozen=True)
class Steps:
    """`decode` makes bytes of the encoded image, `functions` change them, `finish` sets their type and normalises. Without
    functions, `decode` and `finish` are one plan."""

    decode: transforms.Plan
    functions: Tuple[transforms.Python, ...]
    finish: transforms.Plan
    is_final: bool = False  # the last function returns the tensor that torchvision's steps make, and nothing follows


def steps_of(transform):
    """The steps of a transform: as transforms.plan_of, with Python functions behind the native steps that make images."""
    steps = _python_from_the_first_unknown(list(_flat(transform, _checked)))
    places = [place for place, step in enumerate(steps) if _is_python(step)]
    if not places:
        plan = transforms.plan_of(steps)
        return Steps(plan, (), plan)
    first, last = places[0], places[-1]
    functions = tuple(_function(step) for step in steps[first:last + 1])
    decode, finish = transforms.plan_of(steps[:first]), _plan_behind(functions[-1], steps[last + 1:])
    _check_decode(decode, functions[0])
    _check_finish(finish, functions[-1])
    return Steps(decode, functions, finish, isinstance(functions[-1].fn, _Rest) and functions[-1].fn.makes_tensors)


def _plan_behind(function, steps):
    try:
        return transforms.plan_of(steps)
    except InvalidArgument as error:
        raise InvalidArgument(f"the steps behind {function.name}: {error}. Behind Python functions only Normalize, RandomErasing and steps "
                              "that set the type are possible") from None


def has_functions(transform):
    """Whether a transform needs Python functions, which only Python workers can run."""
    return transform is not None and any(_is_python(step) or not _is_ours(step) for step in _flat(transform, lambda step: step))


def _flat(transform, checked):
    if transform is None:
        return
    parts = parts_of(transform)
    if parts is None:
        yield checked(transform)
    else:
        for part in parts:
            yield from _flat(part, checked)


def _checked(step):
    if isinstance(step, type):
        raise InvalidArgument(f"the transform has the class {step.__name__}; give an object of it: {step.__name__}(…)")
    return step


def _is_ours(step):
    return root_of(step) != "torchvision" or is_known(step)


_TO_TENSORS = {"ToTensor", "PILToTensor", "ToImage", "ToImageTensor"}


class _Rest:
    """Steps of torchvision's, one after the other, on a Pillow image."""

    def __init__(self, steps):
        self._steps = steps
        self.makes_tensors = any(type(step).__name__ in _TO_TENSORS for step in steps)
        self.__qualname__ = f"torchvision's {type(steps[0]).__name__}"

    def __call__(self, image):
        for step in self._steps:
            image = step(image)
        return image


def _python_from_the_first_unknown(steps):
    """Steps of torchvision's that Penstock does not have, and all of torchvision's behind them, run in Python."""
    first = next((place for place, step in enumerate(steps) if not _is_ours(step)), None)
    if first is None:
        return steps
    last = first
    while last < len(steps) and root_of(steps[last]) == "torchvision":
        last += 1
    rest = _Rest(steps[first:last])
    if rest.makes_tensors and last < len(steps):
        raise InvalidArgument(f"{rest.__qualname__} is none of Penstock's steps, so all of torchvision's behind it run in Python and make "
                              f"a tensor, but {steps[last]!r} follows; put that before them, or into the Compose")
    say_once(f"Penstock does not have {rest.__qualname__}, so this step and {last - first - 1} behind it run in Python")
    return steps[:first] + [transforms.Python(rest, input="pil")] + steps[last:]


def _is_python(step):
    return isinstance(step, transforms.Python) or (callable(step) and root_of(step) != "torchvision" and
                                                    not transforms.is_native(step))


def _function(step):
    """A step between the first and the last function."""
    if not _is_python(step):
        raise InvalidArgument(f"{type(step).__name__} stands between Python functions; put Penstock's steps that make images "
                              "before all functions, and Normalize behind them")
    return step if isinstance(step, transforms.Python) else transforms.Python(step)


def _check_decode(plan, function):
    if plan.normalize is not None:
        raise InvalidArgument(f"Normalize comes before {function.name}, which gets bytes from 0 to 255; put Normalize behind "
                              "it, or normalise in the function")
    if plan.erasing is not None:
        raise InvalidArgument(f"RandomErasing comes before {function.name}, which gets bytes; put it last")
    if plan.dtype is not None:
        raise InvalidArgument(f"a step that makes a {plan.dtype} tensor comes before {function.name}, which gets bytes; put "
                              "it behind the function. penstock.Python(fn, input='tensor') gives it a uint8 tensor")


def _check_finish(plan, function):
    for there, what in ((plan.has_geometry, "a crop"), (plan.gray, "Grayscale"), (plan.upright, "ExifTranspose"),
                        (plan.flip, "HorizontalFlip"), (plan.recipe, "a step that changes images")):
        if there:
            raise InvalidArgument(f"{what} comes behind {function.name}, but Penstock decodes and crops in one step, before "
                                  "Python functions; put it before them. Behind them only Normalize and steps that set the "
                                  "type are possible")
