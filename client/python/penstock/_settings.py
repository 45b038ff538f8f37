"""What a loader was asked for, checked: plain values, so that loaders can be pickled."""
import os
from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

from . import ranks, transforms
from ._where import where_of
from .errors import InvalidArgument
from .fields import Field, fields_of
from .sampling import ShuffleWindow

DTYPES = ("uint8", "float32", "float16", "bfloat16")
LAYOUTS = ("NCHW", "NHWC")
REMAINDERS = ("drop", "pad_ranks", "pad_batch", "partial")
DELIVERIES = ("auto", "device", "pinned", "host")
MAX_WINDOW = 256


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
    timeout: float  # seconds; 0: for ever
    reconnect: float  # seconds
    address: str
    name: str
    delivery: str
    fail_on_bad_sample: bool
    fields: Tuple[Field, ...] = ()
    range: Optional[Tuple[int, int]] = None  # first sample, how many; None: all
    beside: str = ""  # _where.Where's
    of_images: Tuple[str, ...] = ()  # arguments that were given and are about images

    @property
    def unscaled(self):
        """Whether floats shall be those of the bytes, 0 to 255: the loader makes them of a batch of bytes."""
        return not self.plan.scaled and self.dtype != "uint8"


def positive(value, what, most=None):
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or (most and value > most):
        bound = f" and at most {most}" if most else ""
        raise InvalidArgument(f"{what} is {value!r}; give a whole number of at least 1{bound}")
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
    if not isinstance(value, int) or not 0 <= value < 2**64:
        raise InvalidArgument(f"the seed is {value!r}; give a whole number from 0 to 2**64 - 1")
    return value


def shuffle_of(value):
    return value if isinstance(value, ShuffleWindow) else bool(value)


def range_of(value):
    """(first, count) of (first, end), the samples from `first` to the one before `end`."""
    if value is None:
        return None
    if isinstance(value, range) and value.step == 1:
        value = (value.start, value.stop)
    whole = isinstance(value, (tuple, list)) and len(value) == 2 and all(
        isinstance(end, int) and not isinstance(end, bool) for end in value)
    if not whole or not 0 <= value[0] < value[1] < 2**62:
        raise InvalidArgument(f"range is {value!r}; give the first sample and the one behind the last, like (0, 50000)")
    return value[0], value[1] - value[0]


def remainder_of(drop_last, last_batch, world_size):
    """drop_last as in torch; otherwise `partial` for one rank, and `pad_ranks` for several, as
    DistributedSampler does it."""
    if last_batch is None:
        return "drop" if drop_last else "partial" if world_size == 1 else "pad_ranks"
    if last_batch == "pad":
        raise InvalidArgument("last_batch is 'pad', which now has two names: 'pad_batch' fills up every rank's last batch, "
                              "'pad_ranks', the default of several ranks, gives them equally many rows, as torch does")
    one_of(last_batch, REMAINDERS, "last_batch")
    if drop_last and last_batch != "drop":
        raise InvalidArgument(f"drop_last=True and last_batch={last_batch!r} contradict each other; give one of them")
    return last_batch


def dtype_of(plan, dtype, usual):
    """`dtype` as asked for, None where it was not; what a transform says comes before `usual`."""
    if dtype is None:
        dtype = plan.dtype or ("float32" if plan.normalize is not None else usual)
    one_of(dtype, DTYPES, "dtype")
    if plan.normalize is not None and dtype == "uint8":
        raise InvalidArgument("Normalize gives numbers with fractions, dtype is 'uint8'; leave one of them out")
    if plan.dtype == "uint8" and dtype != "uint8":
        raise InvalidArgument(f"the transform gives bytes from 0 to 255, dtype is {dtype!r}; say in the transform what "
                              "shall become of them, by ToDtype or ConvertImageDtype, or leave dtype out")
    if plan.dtype not in (None, "uint8", "float32", dtype) or (plan.dtype == "float32" and dtype == "uint8"):
        raise InvalidArgument(f"the transform gives {plan.dtype}, dtype is {dtype!r}; give one of them")
    return dtype


def make(dataset, *, usual=("float32", "NCHW"), batch_size=1, shuffle=False, drop_last=False, seed=0,
         transform: Any = None, dtype: Optional[str] = None, layout: Optional[str] = None, device="cpu",
         rank: Union[int, ranks.Rank, None] = None, world_size: Optional[int] = None,
         last_batch: Optional[str] = None, prefetch_factor: Optional[int] = None,
         timeout: Union[int, float, None] = 0, reconnect=60.0, address="", name="", delivery="auto",
         fail_on_bad_sample=False, fields=None, range=None):
    """Every loader's common arguments as Settings; InvalidArgument names the one that cannot be. `usual`: its
    dtype and layout where nobody says another."""
    place = ranks.find(rank, world_size)
    plan = transforms.plan_of(transform)
    where = where_of(dataset)
    of_images = tuple(what for what, given in (
        ("Normalize", plan.normalize is not None), ("a step to a tensor", plan.dtype is not None), ("dtype", dtype is not None), ("layout", layout is not None)) if given)
    if layout is None:
        layout = usual[1] if plan.dtype is None else "NCHW"  # as torchvision's steps to a tensor give it
    return Settings(
        dataset=where.dataset, batch_size=positive(batch_size, "batch_size"), shuffle=shuffle_of(shuffle),
        seed=seed_of(seed), plan=plan, dtype=dtype_of(plan, dtype, usual[0]),
        layout=one_of(layout, LAYOUTS, "layout"), device=device, rank=place,
        remainder=remainder_of(drop_last, last_batch, place.world_size),
        window=4 if prefetch_factor is None else positive(prefetch_factor, "prefetch_factor", MAX_WINDOW),
        timeout=seconds(timeout, "timeout"), reconnect=seconds(reconnect, "reconnect"),
        address=os.fspath(address or ""), name=str(name), delivery=one_of(delivery, DELIVERIES, "delivery"),
        fail_on_bad_sample=bool(fail_on_bad_sample), fields=fields_of(fields), range=range_of(range),
        beside=where.beside, of_images=of_images)
