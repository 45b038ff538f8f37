"""What a loader was asked for, checked: plain values, so that loaders can be pickled."""
import os
from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

from . import ranks, transforms
from .errors import InvalidArgument
from .fields import Field, fields_of
from .sampling import ShuffleWindow

DTYPES = ("uint8", "float32", "float16", "bfloat16")
LAYOUTS = ("NCHW", "NHWC")
REMAINDERS = ("drop", "pad", "partial")
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


def is_text(dataset):
    """Whether it says in words what to read: "tokens:/data/train.bin,length=1024"."""
    return isinstance(dataset, str) and dataset.partition(":")[0] in ("npy", "synthetic", "tokens")


def is_path(dataset):
    return isinstance(dataset, os.PathLike) or "/" in dataset or dataset in (".", "..")


def dataset_of(dataset):
    """A name as it is, a path made absolute."""
    if isinstance(dataset, (str, os.PathLike)):
        text = os.fspath(dataset)
        if isinstance(text, str) and text:
            return os.path.abspath(text) if is_path(dataset) and not is_text(dataset) else text
    hint = ""
    if isinstance(getattr(dataset, "root", None), (str, os.PathLike)):
        hint = f"; for this {type(dataset).__name__}: {os.fspath(dataset.root)!r}"
    raise InvalidArgument(f"the dataset is {type(dataset).__name__} {dataset!r:.80}; Penstock reads the files itself, "
                          f"so give a dataset's name or its path{hint}")


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
    """drop_last as in torch; otherwise `partial` for one rank, and `pad` for several, as
    DistributedSampler does it."""
    if last_batch is None:
        return "drop" if drop_last else "partial" if world_size == 1 else "pad"
    one_of(last_batch, REMAINDERS, "last_batch")
    if drop_last and last_batch != "drop":
        raise InvalidArgument(f"drop_last=True and last_batch={last_batch!r} contradict each other; give one of them")
    return last_batch


def make(dataset, *, batch_size=1, shuffle=False, drop_last=False, seed=0, transform: Any = None, dtype="float32",
         layout="NCHW", device="cpu", rank: Optional[int] = None, world_size: Optional[int] = None,
         last_batch: Optional[str] = None, prefetch_factor: Optional[int] = None,
         timeout: Union[int, float, None] = 0, reconnect=60.0, address="", name="", delivery="auto",
         fail_on_bad_sample=False, fields=None, range=None):
    """Every loader's common arguments as Settings; InvalidArgument names the one that cannot be."""
    place = ranks.find(rank, world_size)
    plan = transforms.plan_of(transform)
    if plan.normalize is not None and dtype == "uint8":
        raise InvalidArgument("Normalize gives numbers with fractions, dtype is 'uint8'; leave one of them out")
    return Settings(
        dataset=dataset_of(dataset), batch_size=positive(batch_size, "batch_size"), shuffle=shuffle_of(shuffle),
        seed=seed_of(seed), plan=plan, dtype=one_of(dtype, DTYPES, "dtype"),
        layout=one_of(layout, LAYOUTS, "layout"), device=device, rank=place,
        remainder=remainder_of(drop_last, last_batch, place.world_size),
        window=4 if prefetch_factor is None else positive(prefetch_factor, "prefetch_factor", MAX_WINDOW),
        timeout=seconds(timeout, "timeout"), reconnect=seconds(reconnect, "reconnect"),
        address=os.fspath(address or ""), name=str(name), delivery=one_of(delivery, DELIVERIES, "delivery"),
        fail_on_bad_sample=bool(fail_on_bad_sample), fields=fields_of(fields), range=range_of(range))
