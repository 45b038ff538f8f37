"""Where a loader's JPEG files are decoded: by the daemon's workers, or by the JPEG engines of this process's GPU as well."""
import glob
import importlib.util
import numbers
import os
from dataclasses import dataclass
from typing import Optional

from ..errors import InvalidArgument


@dataclass(frozen=True)
class Decoding:
    """`share`: of the samples that the engines can take; None: to be chosen while training."""

    where: str = "cpu"  # "cpu", "gpu", or "auto"
    share: Optional[float] = 0.0


def decoding_of(decode, gpu_share, device, ranks):
    if decode not in ("cpu", "gpu", "auto"):
        raise InvalidArgument(f"decode is {decode!r}; known are 'cpu', 'gpu', 'auto'")
    if decode == "cpu":
        if gpu_share is not None:
            raise InvalidArgument(f"gpu_share is {gpu_share!r}, but decode is 'cpu'; give decode='gpu', or leave gpu_share out")
        return Decoding()
    share = None if gpu_share is None else _checked(gpu_share)
    if device == "cpu":
        if decode == "gpu":
            raise InvalidArgument("decode is 'gpu', but device is 'cpu'; give device='cuda'")
        return Decoding("auto", 0.0)
    if decode == "gpu":
        return Decoding("gpu", 1.0 if share is None else share)
    decoding = Decoding("auto", share)
    check_ranks(decoding, ranks)
    return decoding


def check_ranks(decoding, ranks):
    """InvalidArgument if each of the `ranks` would choose a share of its own."""
    if decoding.share is None and ranks > 1:
        raise InvalidArgument(f"decode is 'auto', and there are {ranks} ranks, each of which would choose a share of its own; give "
                              "gpu_share, such as one that a single rank with decode='auto' has chosen, or leave decode out")


def _checked(share):
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0 < share <= 1:
        raise InvalidArgument(f"gpu_share is {share!r:.40} ({type(share).__name__}); give a share of the samples, above 0 and up to 1, "
                              "or leave decode out")
    return float(share)


def obstacle(settings):
    """Why the engines cannot make these rows; None if they can."""
    plan = settings.plan
    if settings.views:
        return "there are several views of each image"
    if plan.random_crop is None and plan.center_crop is None:
        return "the transform has no RandomResizedCrop, or Resize and CenterCrop"
    if plan.recipe:
        return f"the transform has {type(plan.recipe[0]).__name__}"
    if plan.gray:
        return "the transform has Grayscale"
    if settings.delivery in ("device", "host"):
        return f"delivery is {settings.delivery!r}"
    return None


def nvjpeg_path():
    """The library of an installed wheel of nvJPEG; empty if there is none: the client then asks the system's loader."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return ""
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [path for folder in folders for within in ("cu*/lib", "nvjpeg/lib")
             for path in glob.glob(os.path.join(folder, within, "libnvjpeg.so.*"))]
    return max(found, key=_version_of, default="")


def _version_of(path):
    numbers = path.rpartition(".so.")[2].split(".")
    return [int(number) if number.isdigit() else 0 for number in numbers]
