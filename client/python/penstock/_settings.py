"""A loader's arguments after checking: plain values, so that loaders can be pickled."""
import os
from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple, Union

from . import ranks, transforms
from ._gpu_decoding.asked import Decoding, decoding_of, obstacle
from ._gpu_decoding.connections import MOST, VARIABLE, shortage
from ._say import say_once
from ._where import where_of
from ._tensors import IMAGE
from .errors import InvalidArgument
from .fields import Field, fields_of
from .sampling import ShuffleWindow

DTYPES = ("uint8", "float32", "float16", "bfloat16")
LAYOUTS = ("NCHW", "NHWC")
REMAINDERS = ("drop", "pad_ranks", "pad_batch", "partial")
DELIVERIES = ("auto", "device", "pinned", "host")
MAX_WINDOW = 256
MOST_VIEWS = 16  # of a sample
MAX_BATCH_SIZE = 65_536  # the daemon's limit


@dataclass(frozen=True)
class Settings:
    dataset: str
    batch_size: int
    shuffle: Union[bool, ShuffleWindow]
    seed: int
    plan: transforms.Plan
    dtype: str
    layout: str
    device: str
    rank: ranks.Rank
    remainder: str
    window: int
    timeout: float  # seconds; 0: no limit
    reconnect: float  # seconds
    connect_timeout: float  # seconds; 0: a daemon must be there
    address: str
    name: str
    delivery: str
    fail_on_bad_sample: bool
    fields: Tuple[Field, ...] = ()
    range: Optional[Tuple[int, int]] = None  # (first sample, count); None: all
    beside: str = ""  # as in _where.Where
    of_images: Tuple[str, ...] = ()  # given arguments that apply to images
    mixes: Tuple[Any, ...] = ()  # (MixUp or CutMix, weight), of which each batch gets one
    image_name: str = IMAGE
    views: Tuple[Tuple[str, transforms.Plan], ...] = ()  # further images of each sample: (name, plan)
    decoding: Decoding = Decoding()

    @property
    def has_effects(self):
        """Whether the finish erases or mixes."""
        return bool(self.mixes) or self.plan.erasing is not None

    @property
    def unscaled(self):
        """Whether floats keep the range of the bytes, 0 to 255: the loader then converts a batch of bytes."""
        return not self.plan.scaled and self.dtype != "uint8"


def positive(value, what, most=None):
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or (most and value > most):
        bound = f" and at most {most}" if most else ""
        raise InvalidArgument(f"{what} is {value!r}; give an integer of at least 1{bound}")
    return value


def one_of(value, known, what):
    if value not in known:
        raise InvalidArgument(f"{what} is {value!r}; known are {', '.join(map(repr, known))}")
    return value


def seconds(value, what):
    if value is None:
        return 0.0
    if not isinstance(value, (int, float)) or not value >= 0:
        raise InvalidArgument(f"{what} is {value!r}; give seconds, 0 for no limit")
    return float(value)


def seed_of(value):
    number = value.__index__() if hasattr(value, "__index__") else -1
    if isinstance(value, bool) or not 0 <= number < 2**64:
        raise InvalidArgument(f"the seed is {value!r}; give an integer from 0 to 2**64 - 1")
    return number


def shuffle_of(value):
    return value if isinstance(value, ShuffleWindow) else bool(value)


def range_of(value):
    """(first, count) of (first, end): the samples from `first` to `end` - 1."""
    if value is None:
        return None
    if isinstance(value, range) and value.step == 1:
        value = (value.start, value.stop)
    whole = isinstance(value, (tuple, list)) and len(value) == 2 and all(
        isinstance(end, int) and not isinstance(end, bool) for end in value)
    if not whole or not 0 <= value[0] < value[1] < 2**62:
        raise InvalidArgument(f"range is {value!r}; give the first sample and the one after the last, like (0, 50000)")
    return value[0], value[1] - value[0]


def remainder_of(drop_last, last_batch, world_size):
    """drop_last means what it means in torch. Otherwise `partial` for one rank, and `pad_ranks` for several, as
    DistributedSampler does."""
    if last_batch is None:
        return "drop" if drop_last else "partial" if world_size == 1 else "pad_ranks"
    if last_batch == "pad":
        raise InvalidArgument("last_batch is 'pad', which is ambiguous: 'pad_batch' fills up every rank's last batch; "
                              "'pad_ranks', the default with several ranks, gives them equally many rows, as torch does")
    one_of(last_batch, REMAINDERS, "last_batch")
    if drop_last and last_batch != "drop":
        raise InvalidArgument(f"drop_last=True and last_batch={last_batch!r} contradict each other; give one of them")
    return last_batch


def dtype_of(plan, dtype, usual):
    """`dtype` as given, or None. A type that the transform sets takes precedence over `usual`."""
    if dtype is None:
        dtype = plan.dtype or ("float32" if plan.normalize is not None else usual)
    one_of(dtype, DTYPES, "dtype")
    if plan.normalize is not None and dtype == "uint8":
        raise InvalidArgument("Normalize gives fractions, but dtype is 'uint8'; leave one of them out")
    if plan.dtype == "uint8" and dtype != "uint8":
        raise InvalidArgument(f"the transform gives bytes from 0 to 255, but dtype is {dtype!r}; convert them in the transform "
                              "with ToDtype or ConvertImageDtype, or leave dtype out")
    if plan.dtype not in (None, "uint8", "float32", dtype) or (plan.dtype == "float32" and dtype == "uint8"):
        raise InvalidArgument(f"the transform gives {plan.dtype}, but dtype is {dtype!r}; leave one of them out")
    return dtype


def make(dataset, *, usual=("float32", "NCHW"), batch_size=1, shuffle=False, drop_last=False, seed=0,
         transform: Any = None, dtype: Optional[str] = None, layout: Optional[str] = None, device="cpu",
         rank: Union[int, ranks.Rank, None] = None, world_size: Optional[int] = None,
         last_batch: Optional[str] = None, prefetch_factor: Optional[int] = None,
         timeout: Union[int, float, None] = 0, reconnect=60.0, connect_timeout=0, address="", name="", delivery="auto",
         fail_on_bad_sample=False, fields=None, range=None, mix=None, views=None, decode="cpu", gpu_share=None):
    """Checks every loader's common arguments and returns them as Settings. InvalidArgument names the invalid one.
    `usual`: the loader's default dtype and layout."""
    place = ranks.find(rank, world_size)
    (image_name, plan), *views = _views_of(transform, views)
    where, mixes = where_of(dataset), transforms.mixes_of(mix)
    of_images = tuple(what for what, given in (
        ("Normalize", plan.normalize is not None), ("a step to a tensor", plan.dtype is not None), ("dtype", dtype is not None), ("layout", layout is not None),
        ("RandomErasing", plan.erasing is not None), ("mix", bool(mixes))) if given)
    if layout is None:
        layout = usual[1] if plan.dtype is None else "NCHW"  # as from torchvision's steps to a tensor
    settings = Settings(
        dataset=where.dataset, batch_size=positive(batch_size, "batch_size", MAX_BATCH_SIZE), shuffle=shuffle_of(shuffle),
        seed=seed_of(seed), plan=plan, dtype=dtype_of(plan, dtype, usual[0]),
        layout=one_of(layout, LAYOUTS, "layout"), device=device, rank=place,
        remainder=remainder_of(drop_last, last_batch, place.world_size),
        window=_window_of(prefetch_factor, decode),
        timeout=seconds(timeout, "timeout"), reconnect=seconds(reconnect, "reconnect"),
        connect_timeout=seconds(connect_timeout, "connect_timeout"),
        address=os.fspath(address or ""), name=str(name), delivery=one_of(delivery, DELIVERIES, "delivery"),
        fail_on_bad_sample=bool(fail_on_bad_sample), fields=fields_of(fields), range=range_of(range),
        beside=where.beside, of_images=of_images, mixes=mixes,
        image_name=image_name, views=tuple(views), decoding=decoding_of(decode, gpu_share, device, place.world_size))
    _check_effects(settings)
    return _decodable(settings)


def given_share(decode, gpu_share, device):
    """For loaders that cannot tell when a step has ended on the GPU, and so cannot choose."""
    if decode == "auto" and gpu_share is None and device != "cpu":
        raise InvalidArgument("decode is 'auto' without gpu_share, which penstock.torch.DataLoader alone can choose; give gpu_share")
    return gpu_share


def _decodable(settings):
    """The settings, if engines can make their rows; for decode="auto", else those without engines."""
    if settings.decoding.share == 0:
        return settings
    why = obstacle(settings)
    if why is None:
        _say_shortage()
        return settings
    if settings.decoding.where == "gpu":
        raise InvalidArgument(f"decode is 'gpu', but {why}; the GPU makes one image of each sample, by RandomResizedCrop or by Resize "
                              "and CenterCrop, with or without HorizontalFlip, and delivers it by itself: leave decode out")
    say_once(f"decode='auto': the workers decode everything, because {why}")
    return replace(settings, decoding=Decoding("auto", 0.0))


def _say_shortage():
    why = shortage()
    if why is not None:
        say_once(f"decoding on the GPU may wait for the training loop's work, because {why}; start the program with {VARIABLE}={MOST}")


def _views_of(transform, views):
    """[(name, plan)] of each sample's images, of which there is at least one."""
    if views is None:
        return [(IMAGE, transforms.plan_of(transform))]
    if transform is not None:
        raise InvalidArgument("transform and views exclude each other; give each view its whole transform")
    if not isinstance(views, dict) or not 0 < len(views) <= MOST_VIEWS:
        raise InvalidArgument(f"views is {views!r:.80}; give 1 to {MOST_VIEWS} of them, as {{name: transform}}, or MultiCrop")
    found = [(str(name), _plan_of_view(name, steps)) for name, steps in views.items()]
    for name, plan in found:
        if not name:
            raise InvalidArgument("a view's name is empty; batches have its images by that name")
        if not plan.has_geometry:
            raise InvalidArgument(f"the view {name!r} leaves images of different sizes; give it a RandomResizedCrop")
        if not plan.scaled:
            raise InvalidArgument(f"the view {name!r} has floats from 0 to 255, which views do not support; use ToDtype(scale=True)")
    return found


def _plan_of_view(name, steps):
    try:
        return transforms.plan_of(steps)
    except InvalidArgument as error:
        raise InvalidArgument(f"the view {name!r}: {error}") from None


def _window_of(prefetch_factor, decode):
    """A GPU that decodes has two batches at once in hand, besides those that are ready."""
    if prefetch_factor is not None:
        return positive(prefetch_factor, "prefetch_factor", MAX_WINDOW)
    return 4 if decode == "cpu" else 8


def _check_effects(settings):
    if settings.views and settings.mixes:
        raise InvalidArgument("mix and views exclude each other; mix the batch yourself")
    for name, plan in settings.views:
        if (plan.gray, plan.upright, plan.dtype) != (settings.plan.gray, settings.plan.upright, settings.plan.dtype):
            raise InvalidArgument(f"the view {name!r} and {settings.image_name!r} differ in Grayscale, ExifTranspose or the type that "
                                  "a step sets; give both the same")
        if plan.normalize is not None and settings.dtype == "uint8":
            raise InvalidArgument(f"the view {name!r} has Normalize, but dtype is 'uint8'; leave one of them out")
    if settings.has_effects and settings.unscaled:
        raise InvalidArgument("RandomErasing and mix compute with numbers from 0 to 1, or with normalised ones, but ToDtype without "
                              "scale=True leaves them from 0 to 255; use scale=True")
    if settings.mixes and settings.dtype == "uint8":
        raise InvalidArgument("mix gives fractions, but dtype is 'uint8'; give dtype='float32'")
