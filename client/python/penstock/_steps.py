"""A transform with Python functions, taken apart: native steps, functions, and what the finish does."""
from dataclasses import dataclass
from typing import Tuple

from . import transforms
from ._torchvision import is_known, parts_of, root_of
from .errors import InvalidArgument


@dataclass(frozen=True)
class Steps:
    """`decode` makes bytes of the encoded image, `functions` change them, `finish` sets their type and normalises. Without
    functions, `decode` and `finish` are one plan."""

    decode: transforms.Plan
    functions: Tuple[transforms.Python, ...]
    finish: transforms.Plan


def steps_of(transform):
    """The steps of a transform: as transforms.plan_of, with Python functions behind the native steps that make images."""
    steps = list(_flat(transform, _checked))
    places = [place for place, step in enumerate(steps) if _is_python(step)]
    if not places:
        plan = transforms.plan_of(transform)
        return Steps(plan, (), plan)
    first, last = places[0], places[-1]
    functions = tuple(_function(step) for step in steps[first:last + 1])
    decode, finish = transforms.plan_of(steps[:first]), transforms.plan_of(steps[last + 1:])
    _check_decode(decode, functions[0])
    _check_finish(finish, functions[-1])
    return Steps(decode, functions, finish)


def has_functions(transform):
    """Whether a transform needs Python functions, which only Python workers can run."""
    return transform is not None and any(_is_python(step) for step in _flat(transform, lambda step: step))


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
    if root_of(step) == "torchvision" and not is_known(step):
        name = type(step).__name__
        raise InvalidArgument(f"Penstock does not have torchvision's {name}; to run it in Python, on a Pillow image, write "
                              f"penstock.Python({name}(…), input='pil')")
    return step


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
    if plan.dtype is not None:
        raise InvalidArgument(f"a step that makes a {plan.dtype} tensor comes before {function.name}, which gets bytes; put "
                              "it behind the function. penstock.Python(fn, input='tensor') gives it a uint8 tensor")


def _check_finish(plan, function):
    for there, what in ((plan.has_geometry, "a crop"), (plan.gray, "Grayscale"), (plan.upright, "ExifTranspose"),
                        (plan.flip, "HorizontalFlip")):
        if there:
            raise InvalidArgument(f"{what} comes behind {function.name}, but Penstock decodes and crops in one step, before "
                                  "Python functions; put it before them. Behind them only Normalize and steps that set the "
                                  "type are possible")
