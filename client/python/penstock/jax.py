"""JAX: batches as jax.Arrays, of one device or by a sharding.

    loader = penstock.jax.Loader("imagenet-train", 256, shuffle=True, dtype="bfloat16",
                                 sharding=NamedSharding(mesh, PartitionSpec("data")))

On a GPU `image` is the memory in which Penstock finished the batch: nothing is copied, JAX's own
stream waits for it, and it is used again when JAX has read it. Under a sharding over several
processes each of them loads its rank's rows, and `batch_size` is those of one process.
"""
import weakref

import jax
import jax.dlpack
import numpy as np

from . import _settings, _take
from ._base import LoaderBase
from ._batch import Batch
from .errors import InvalidArgument

__all__ = ["Batch", "Loader"]


class Loader(LoaderBase):
    """An iterable of batches: `batch["image"]`, `batch["label"]` as jax.Arrays; `batch.sample_ids` (of
    this process, on the host), `batch.position`.

    Arguments as penstock.Loader's. `sharding`: how a batch of all processes lies on their devices; or
    `device`, a jax.Device; without both, JAX's first device of this process. Ranks are JAX's processes
    where there are several. Labels are int32, or int64 where JAX has 64-bit types on.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, *, sharding=None, device=None, drop_last=False, timeout=0,
                 prefetch_factor=None, transform=None, dtype="float32", layout="NHWC", seed=0, rank=None,
                 world_size=None, last_batch=None, delivery="auto", address="", name="", reconnect=60.0,
                 fail_on_bad_sample=False):
        self._device = _device(sharding, device)
        self._sharding = sharding
        if rank is None and world_size is None and jax.process_count() > 1:
            rank, world_size = jax.process_index(), jax.process_count()
        super().__init__(_settings.make(
            dataset, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed, transform=transform,
            dtype=np.dtype(dtype).name, layout=layout, device=_name_of(self._device), rank=rank,
            world_size=world_size, last_batch=last_batch, prefetch_factor=prefetch_factor, timeout=timeout,
            reconnect=reconnect, address=address, name=name, delivery=delivery,
            fail_on_bad_sample=fail_on_bad_sample))

    def _taker(self, session):
        on_gpu = session.device >= 0
        take = (_take.device_arrays_of_their_own if on_gpu else _take.host_arrays)(session, self._settings)
        lend = _Lender(self._device).lend if on_gpu else None

        def take_placed():
            taken = take()
            if taken is None:
                return None
            batch, last = taken
            image = batch["image"] if lend is None else lend(batch["image"])
            batch["image"] = self._placed(image)
            batch["label"] = self._placed(_label(batch["label"]))
            return batch, last

        return take_placed

    def _placed(self, local):
        """An array of this process's rows, where it shall be; nothing is copied that is there already."""
        if self._sharding is None:
            return jax.device_put(local, self._device)
        return jax.make_array_from_process_local_data(self._sharding, local)

    def __getstate__(self):
        raise TypeError("a penstock.jax.Loader names devices of this process; make another one where it is wanted, and "
                        "give it this one's state_dict()")


class _Lender:
    """Lends pool memory to JAX. XLA lets go of foreign memory as soon as what reads it is in its stream, and
    tells neither that stream nor when it got there. So the memory is kept here until a computation that
    was put behind has its result: then JAX has read it."""

    def __init__(self, device):
        self._device = device
        self._lent = []  # [memory, what JAX keeps of it (weakly), what came behind]
        self._behind = jax.jit(lambda value: value + 1)
        self._value = jax.device_put(np.int32(0), device)

    def lend(self, array):
        """The array as JAX's; the pool's next ones may not be written before JAX has read this one."""
        self._look()
        owner = _Owner(array)
        image = jax.dlpack.from_dlpack(owner, device=self._device)
        self._lent.append([array, weakref.ref(owner.kept), None])
        return image

    def _look(self):
        """Puts one computation behind all that JAX let go of since, and gives back what it has read."""
        let_go = [entry for entry in self._lent if entry[1]() is None and entry[2] is None]
        if let_go:
            behind = self._behind(self._value)
            for entry in let_go:
                entry[2] = behind
        self._lent = [entry for entry in self._lent if entry[2] is None or not entry[2].is_ready()]


class _Kept:
    """What JAX's memory keeps: dead when JAX let go of it."""

    __slots__ = ("__weakref__",)


class _Owner:
    """A penstock.Array whose capsule keeps `kept`, and that waits on the host for a JAX that names no stream."""

    def __init__(self, array):
        self._array = array
        self.kept = _Kept()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, **_):
        return self._array.lend_to(self.kept, stream, max_version)


def _device(sharding, device):
    if sharding is not None and device is not None:
        raise InvalidArgument("sharding and device are both given; a sharding names its devices")
    if device is not None:
        return device
    if sharding is None:
        return jax.local_devices()[0]
    local = sorted(sharding.addressable_devices, key=lambda each: each.id)
    if not local:
        raise InvalidArgument(f"the sharding {sharding} has no device of this process; give one that does")
    return local[0]


def _name_of(device):
    if device.platform == "cpu":
        return "cpu"
    if device.platform in ("gpu", "cuda"):
        return f"cuda:{device.local_hardware_id}"
    raise InvalidArgument(f"Penstock delivers to host memory and to NVIDIA's GPUs, not to {device.platform!r}; load with "
                          "penstock.Loader and jax.device_put")


def _label(labels):
    return labels if jax.config.jax_enable_x64 else labels.astype("int32")
