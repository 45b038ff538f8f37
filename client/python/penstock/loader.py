"""Batches without a framework: NumPy arrays in host memory, penstock.Array on a GPU.

    for batch in penstock.Loader("imagenet-train", 256, shuffle=True):
        image, label = batch["image"], batch["label"]      # uint8 [256, 224, 224, 3], int64 [256]

The daemon stores uint8 NHWC. With that dtype and layout `image` is a read-only view: nothing is copied, and the batch's
place in the pool stays occupied until the last view of it is gone. A consumer that keeps all batches of its prefetch
window (`prefetch_factor`) gets no further one, so copy what you want to keep. Every other dtype or layout is finished
into memory of its own, which you may keep.
"""
from . import _sampling, _settings, _take
from ._base import LoaderBase
from ._batch import Batch
from .errors import FailedPrecondition, InvalidArgument

__all__ = ["Batch", "Loader"]


class Loader(LoaderBase):
    """An iterable of batches: `batch["image"]`, `batch["label"]`, `batch.sample_ids`, `batch.position`.

    The arguments have the names of torch's DataLoader if they mean the same. Images come as they are stored, uint8 NHWC,
    unless `dtype`, `layout` or the transform's own steps change that. `device`: "cpu"; "cuda", the current one; "cuda:N";
    "auto". Read arrays on a GPU with `cupy.from_dlpack` and similar functions (penstock.array).
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, *, drop_last=False, timeout=0, prefetch_factor=None,
                 transform=None, dtype=None, layout=None, device="cpu", seed=0, rank=None, world_size=None,
                 last_batch=None, delivery="auto", address="", name="", reconnect=60.0, connect_timeout=0, fail_on_bad_sample=False,
                 fields=None, sampler=None, range=None, mix=None, views=None,
                 decode="cpu", gpu_share=None):
        _take.numpy()
        sampling = None
        if sampler is not None:
            if shuffle:
                raise InvalidArgument("sampler and shuffle exclude each other; the sampler determines the order")
            sampling, rank, world_size = _sampling.of(sampler, batch_size, rank, world_size)
        super().__init__(_settings.make(
            dataset, usual=("uint8", "NHWC"), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed, transform=transform,
            dtype=dtype, layout=layout, device=device, rank=rank, world_size=world_size, last_batch=last_batch,
            prefetch_factor=prefetch_factor, timeout=timeout, reconnect=reconnect, connect_timeout=connect_timeout, address=address, name=name,
            delivery=delivery, fail_on_bad_sample=fail_on_bad_sample, fields=fields, range=range, mix=mix, views=views,
            decode=decode, gpu_share=_settings.given_share(decode, gpu_share, device)), sampling)
        if device == "cpu":
            _take.host_type(self._settings.dtype)
        if _take.is_stored(self._settings) and self._settings.window < 2:
            raise InvalidArgument("prefetch_factor is 1, but a batch that is not copied occupies its place while the loop "
                                  "asks for the next one; give 2 or more")

    def _taker(self, session):
        if session.device >= 0:
            if self._settings.views:
                raise FailedPrecondition("several views on a GPU are tensors of torch alone so far; use penstock.torch, or device='cpu'")
            return _take.device_arrays(session, self._settings, self._effects)
        if _take.is_stored(self._settings):
            return _take.host_views(session, self._settings)
        return _take.host_arrays(session, self._settings, self._effects, self._keying)
