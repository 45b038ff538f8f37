"""JAX: batches as jax.Arrays, on one device or with a sharding.

    loader = penstock.jax.Loader("imagenet-train", 256, shuffle=True, dtype="bfloat16",
                                 sharding=NamedSharding(mesh, PartitionSpec("data")))

On a GPU, `image` is the memory in which Penstock finished the batch: nothing is copied, JAX's own stream waits for it,
and the memory is reused once JAX has read it. With a sharding over several processes, each of them loads its rank's
rows, and `batch_size` is the number of rows in one process.
"""
import jax
import jax.dlpack
import numpy as np

from . import _sampling, _settings, _take
from ._base import LoaderBase
from ._batch import Batch
from .errors import InvalidArgument

__all__ = ["Batch", "Loader"]


class Loader(LoaderBase):
    """An iterable of batches: `batch["image"]`, `batch["label"]` as jax.Arrays; `batch.sample_ids` (of this process, on the
    host), `batch.position`.

    The arguments are those of penstock.Loader. `sharding` places a batch of all processes on their devices; or give
    `device`, a jax.Device; the default is this process's first JAX device. With several JAX processes, ranks are their
    numbers. Labels are int32, or int64 if JAX's 64-bit types are enabled.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, *, sharding=None, device=None, drop_last=False, timeout=0,
                 prefetch_factor=None, transform=None, dtype=None, layout=None, seed=0, rank=None,
                 world_size=None, last_batch=None, delivery="auto", address="", name="", reconnect=60.0, connect_timeout=0,
                 fail_on_bad_sample=False, fields=None, sampler=None, range=None, decode="cpu", gpu_share=None):
        self._device = _device(sharding, device)
        self._sharding = sharding
        if rank is None and world_size is None and jax.process_count() > 1:
            rank, world_size = jax.process_index(), jax.process_count()
        sampling = None
        if sampler is not None:
            if shuffle:
                raise InvalidArgument("sampler and shuffle exclude each other; the sampler determines the order")
            sampling, rank, world_size = _sampling.of(sampler, batch_size, rank, world_size)
        super().__init__(_settings.make(
            dataset, usual=("float32", "NHWC"), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed,
            transform=transform, dtype=None if dtype is None else np.dtype(dtype).name, layout=layout, device=_name_of(self._device), rank=rank,
            world_size=world_size, last_batch=last_batch, prefetch_factor=prefetch_factor, timeout=timeout,
            reconnect=reconnect, connect_timeout=connect_timeout, address=address, name=name, delivery=delivery,
            fail_on_bad_sample=fail_on_bad_sample, fields=fields, range=range, decode=decode,
            gpu_share=_settings.given_share(decode, gpu_share, _name_of(self._device))), sampling)

    def _single_samples(self):
        return _no_single_samples

    def _taker(self, session):
        on_gpu = session.device >= 0
        take = (_take.device_arrays_of_their_own if on_gpu else _take.host_arrays)(session, self._settings, self._effects)
        lend = _Owner(self._device).lend if on_gpu else None

        def take_placed():
            taken = take()
            if taken is None:
                return None
            batch, last = taken
            for name, value in batch.items():
                if name == "label":
                    value = _label(value)
                elif lend is not None:
                    value = lend(value)
                batch[name] = self._placed(value)
            return batch, last

        return take_placed

    def _placed(self, local):
        """An array of this process's rows on its device or sharding; copies nothing that is already there."""
        if self._sharding is None:
            return jax.device_put(local, self._device)
        return jax.make_array_from_process_local_data(self._sharding, local)

    def __getstate__(self):
        raise TypeError("a penstock.jax.Loader is tied to devices of this process; make another one in the other process, and "
                        "load this one's state_dict() there")


def _no_single_samples(_):
    raise TypeError("a penstock.jax.Loader has no single samples; use loader.dataset[i] of a penstock.Loader")


class _Owner:
    """Hands pool memory to JAX. XLA drops a foreign buffer as soon as its readers are enqueued, and names neither their
    stream nor the time when they finish. So a dropped buffer is kept until a computation that was enqueued after it has
    a result: JAX has then read the buffer."""

    def __init__(self, device):
        self._device = device
        self._let_go = []  # dropped by JAX, on any thread
        self._behind = []  # (a computation's result, what JAX had dropped before)
        self._compute = jax.jit(lambda value: value + 1)
        self._value = jax.device_put(np.int32(0), device)

    def lend(self, array):
        """The array as a JAX array."""
        self._look()
        return jax.dlpack.from_dlpack(_Lent(array, _Kept(array, self._let_go)), device=self._device)

    def _look(self):
        let_go = []
        while self._let_go:
            let_go.append(self._let_go.pop())
        if let_go:
            self._behind.append((self._compute(self._value), let_go))
        self._behind = [entry for entry in self._behind if not entry[0].is_ready()]


class _Kept:
    """JAX keeps this while it uses an array's memory. If the loader, and with it the pool, is gone, CUDA frees the memory
    after all work."""

    __slots__ = ("_array", "_let_go")

    def __init__(self, array, let_go):
        self._array = array
        self._let_go = let_go

    def __del__(self):
        self._let_go.append(self._array)


class _Lent:
    """A penstock.Array whose capsules keep `kept`. If JAX names no stream, the host waits for the array."""

    def __init__(self, array, kept):
        self._array = array
        self._kept = kept

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, **_):
        return self._array.lend_to(self._kept, stream, max_version)


def _device(sharding, device):
    if sharding is not None and device is not None:
        raise InvalidArgument("sharding and device are both given; a sharding already names its devices")
    if device is not None:
        return device
    if sharding is None:
        return jax.local_devices()[0]
    local = sorted(sharding.addressable_devices, key=lambda each: each.id)
    if not local:
        raise InvalidArgument(f"the sharding {sharding} has no device of this process; give one that has")
    return local[0]


def _name_of(device):
    if device.platform == "cpu":
        return "cpu"
    if device.platform in ("gpu", "cuda"):
        return f"cuda:{device.local_hardware_id}"
    raise InvalidArgument(f"Penstock delivers to host memory and to NVIDIA GPUs, not to {device.platform!r}; "
                          "use penstock.Loader and jax.device_put")


def _label(labels):
    return labels if jax.config.jax_enable_x64 else labels.astype("int32")
