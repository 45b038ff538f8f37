"""PyTorch: a loader with the arguments of torch.utils.data.DataLoader, whose batches are tensors.

    loader = penstock.torch.DataLoader("imagenet-train", batch_size=256, shuffle=True, device="cuda",
                                       transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])

torch allocates the tensors on the current stream, and they are yours: keep them, use them on any stream.
"""
import types
from typing import Any

import torch

from . import _feed, _listed, _sampling, _settings, _targets, _tensors, _views, ranks
from . import _penstock as native
from ._base import LoaderBase
from ._batch import Batch
from ._say import say_once
from ._pydata.dispatch import class_for as _class_for
from ._torch_attributes import Attributes, BatchSampler, Sampler, explain
from ._torch_batch import SAMPLE_ID, VALID, TensorBatch, add_row_info
from .errors import FailedPrecondition, InvalidArgument

__all__ = ["Batch", "DataLoader"]

_TYPES = {
    "uint8": torch.uint8,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}

class DataLoader(Attributes, LoaderBase):
    """An iterable of batches: `images, labels = batch`, or `batch["image"]`, `batch["label"]`; and
    `batch.sample_ids`, `batch.position`, `batch.valid_rows`.

    `dataset`: a name, a path, or any dataset that torch's DataLoader takes, whose batches then have the structure that torch
    gives them (client/python/README.md, "Any Python dataset"). What follows is about names and paths.

    The arguments are torch's, with its meaning and defaults, except that `transform` is given here. Images are float32 NCHW in [0, 1], as from ToTensor, unless the transform's own steps, or `dtype` and
    `layout`, change that; `dtype="uint8"` leaves them unscaled. `prefetch_factor` is the number of batches kept ready.
    `in_order` is always true. `fields`: further fields of each sample, by name (penstock.fields); tokens are int64.
    `mix`: penstock.MixUp or CutMix, or a list of them of which each batch takes one; labels are then rows of floats.
    `views={"image_1": steps, "image_2": steps}`: several images of each sample, of one read and decode, instead of transform.
    `memory_format=torch.channels_last`: the images' memory has the channels innermost, as that format; their shape stays NCHW.
    `targets="list"`: batches are (list of images, list of dicts), as torchvision's detection models take them.
    `decode="gpu"`: the GPU's JPEG engines decode, as far as they can; `gpu_share`: a share of those samples; `decode="auto"`
    chooses it.
    `row_info`: adds "sample_id" and "valid" of each row to the batch as tensors.
    """

    _listing = _target_names = None  # of batches as lists

    __class_getitem__: Any = classmethod(types.GenericAlias)  # for annotations: DataLoader[Batch]

    def __new__(cls, dataset=None, *arguments, **keywords):
        return super().__new__(_class_for(cls, dataset, arguments, keywords))

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True, transform=None, dtype=None, layout=None, device="cpu",
                 seed=None, rank=None, world_size=None, last_batch=None, delivery="auto", address="", name="",
                 reconnect=60.0, connect_timeout=0, fail_on_bad_sample=False, fields=None, range=None, row_info=False, key=None, native="auto",
                 on_error=None, max_batch_bytes=None, memory_format=None, mix=None, views=None, targets=None, decode="cpu",
                 gpu_share=None):
        _refuse_python_only(key=key, native=None if native == "auto" else native, on_error=on_error, max_batch_bytes=max_batch_bytes)
        _refuse(worker_init_fn=worker_init_fn, multiprocessing_context=multiprocessing_context)
        explain(num_workers=num_workers, pin_memory=pin_memory, pin_memory_device=pin_memory_device,
                persistent_workers=persistent_workers)
        if batch_size is None and batch_sampler is None:
            raise InvalidArgument("batch_size is None, which in torch means single samples; Penstock gives only "
                                  "batches: use batch_size=1, and batch['image'][0]")
        sampling, rank, world_size = _sampling_of(sampler, batch_sampler, batch_size, shuffle, drop_last, rank, world_size)
        super().__init__(_settings.make(
            dataset, batch_size=1 if batch_size is None else batch_size, shuffle=shuffle or False, drop_last=drop_last,
            seed=_seed(seed, generator), transform=transform,
            dtype=None if dtype is None else str(dtype).removeprefix("torch."), layout=layout,
            device=str(torch.device(device)) if device != "auto" else device, rank=rank, world_size=world_size,
            last_batch=last_batch, prefetch_factor=prefetch_factor, timeout=timeout, reconnect=reconnect, connect_timeout=connect_timeout,
            address=address, name=name, delivery=delivery, fail_on_bad_sample=fail_on_bad_sample, fields=fields,
            range=range, mix=mix, views=views, decode=decode, gpu_share=gpu_share), sampling)
        self.collate_fn = collate_fn
        self._given_sampler, self._given_batch_sampler = sampler, batch_sampler
        self._row_info = bool(row_info)
        self._target_names = _listed.names_of(targets)
        if self._target_names is not None and (row_info or self._settings.views):
            raise InvalidArgument("targets lists the images of a batch, each with its targets; leave row_info and views out: "
                                  "batch.sample_ids and batch.valid_rows are there, too")
        self._channels_last = _is_channels_last(memory_format, self._settings.layout)

    @property
    def sampler(self):
        """The program's own sampler; else an object for programs that call `loader.sampler.set_epoch(epoch)`."""
        return Sampler(self) if self._given_sampler is None else self._given_sampler

    @property
    def batch_sampler(self):
        return BatchSampler(self) if self._given_batch_sampler is None else self._given_batch_sampler

    def _give(self, batch):
        batch = batch if self._listing is None else self._listing(batch)
        return batch if self._collate is None else self._collate(batch)

    def _sample(self, sample_id):
        self._collate, self._row_info, self._target_names = None, False, None
        return super()._sample(sample_id)

    def _synchronize(self):
        torch.cuda.synchronize(self._session.device)  # a loop may train on several streams

    def _open_device(self):
        device = self._settings.device
        if device != "cuda":
            return device
        if not torch.cuda.is_available():
            raise FailedPrecondition("device is 'cuda', but torch sees no GPU; give device='cpu', or 'auto' to use one "
                                     "if there is one")
        current = torch.cuda.current_device()
        local = ranks.local_rank()
        if local is not None and local != current and torch.cuda.device_count() > 1:
            say_once(f"this process has local rank {local}, but torch's current device is {current}, where its "
                     f"batches will go; call torch.cuda.set_device({local}) first, or give device='cuda:{local}'")
        return f"cuda:{current}"

    def _taker(self, session):
        settings = self._settings
        rows, height, width, channels = session.shape
        sides = (channels, height, width) if settings.layout == "NCHW" else (height, width, channels)
        finish = _feed.finish_of(settings)
        channels_last = self._channels_last
        if channels_last:  # an NCHW tensor whose memory is NHWC
            sides, finish.layout = (height, width, channels), native.Layout.NHWC
        dtype, shape = torch.uint8 if settings.unscaled else _TYPES[settings.dtype], (rows, *sides)
        on_gpu = session.device >= 0
        device = torch.device("cuda", session.device) if on_gpu else torch.device("cpu")
        timeout = settings.timeout or None
        has_image, labeled = _tensors.has_image(session), session.labeled
        image_bytes = rows * height * width * channels * torch.empty((), dtype=dtype).element_size()
        others = _tensors.of(session, settings, _tokens_type if self._stored.kind == "tokens" else _known_type)
        empty, take_into, effects = torch.empty, session.take_into, self._effects
        classes = 0 if effects is None else effects.classes  # of soft labels
        image_name, views = settings.image_name, _views.of(session, settings, self._keying, finish.layout)
        float_bytes, row_info = _floats_of_bytes(settings) if settings.unscaled and has_image else None, self._row_info
        kinds = _targets.kinds(settings.fields, self._stored._targets)
        self._listing = None if self._target_names is None else _listed.listing_of(self._target_names, settings, others, kinds, labeled)
        if row_info and {SAMPLE_ID, VALID} & {tensor.name for tensor in others}:
            raise InvalidArgument(f"row_info=True adds tensors {SAMPLE_ID!r} and {VALID!r}, but the dataset has a "
                                  "field of that name; leave one of them out")

        def take():
            values = {}
            if has_image:
                values[image_name] = empty(shape, dtype=dtype, device=device)
            for view in views:
                values[view.name] = empty((rows, *view.sides), dtype=dtype, device=device)
            if labeled:
                values["label"] = (empty((rows, classes), dtype=torch.float32, device=device) if classes else
                                   empty(rows, dtype=torch.int64, device=device))
            destinations = [_destination(tensor, values, rows, device) for tensor in others]
            stream = torch.cuda.current_stream(device).cuda_stream if on_gpu else 0
            labels = values["label"].data_ptr() if labeled else 0
            taken = take_into(finish, values[image_name].data_ptr() if has_image else 0, image_bytes, 0 if classes else labels,
                              stream, timeout, destinations, effects, labels if classes else 0, 4 * rows * classes,
                              [view.destination(*_memory(values[view.name])) for view in views])
            if taken is None:
                return None
            step, sample_ids = taken
            if step[3] < rows:
                values = {name: value[:step[3]] for name, value in values.items()}
            if channels_last and has_image:
                for name in (image_name, *(view.name for view in views)):
                    values[name] = values[name].permute(0, 3, 1, 2)
            if float_bytes is not None:
                values[image_name] = float_bytes(values[image_name])
            batch = TensorBatch(values)
            batch._step, batch._sample_ids = step, sample_ids
            if row_info:
                add_row_info(batch)
            return batch, step[5]

        return take


def _memory(tensor):
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def _floats_of_bytes(settings):
    """Converts bytes to floats from 0 to 255, as ToDtype without scale does, then applies Normalize if it is wanted."""
    normalize, sides = settings.plan.normalize, (-1, 1, 1) if settings.layout == "NCHW" else (-1,)

    def convert(image):
        if normalize is None:
            return image.to(_TYPES[settings.dtype])
        mean, std = (torch.tensor(values, device=image.device).view(sides) for values in (normalize.mean, normalize.std))
        return image.to(torch.float32).sub_(mean).div_(std).to(_TYPES[settings.dtype])

    return convert


def _destination(tensor, values, rows, device):
    """Adds memory for one of a batch's tensors to `values`, and returns its description for the extension."""
    value = torch.empty((rows, *tensor.shape), dtype=getattr(torch, tensor.dtype), device=device)
    values[tensor.name] = value
    lengths = 0
    if tensor.variable:
        values[_tensors.lengths_name(tensor.name)] = there = torch.empty(rows, dtype=torch.int32, device=device)
        lengths = there.data_ptr()
    return tensor.place, tensor.dtype, value.data_ptr(), value.numel() * value.element_size(), lengths


def _known_type(stored):
    """The stored type; or, if torch lacks it or cannot compute with it, a type that holds its numbers."""
    if stored in ("uint16", "uint32"):
        return "int32" if stored == "uint16" else "int64"
    if not hasattr(torch, stored):
        raise InvalidArgument(f"torch has no {stored}; use penstock.Loader, which returns NumPy arrays, for this field")
    return stored


def _tokens_type(_):
    return "int64"  # as cross_entropy needs


def _sampling_of(sampler, batch_sampler, batch_size, shuffle, drop_last, rank, world_size):
    """(what draws the order, rank, world size). A sampler of the program's own has already taken the rank into account."""
    if sampler is None and batch_sampler is None:
        return None, rank, world_size
    if sampler is not None and shuffle:
        raise InvalidArgument("sampler and shuffle exclude each other; the sampler determines the order")
    if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
        raise InvalidArgument("batch_sampler excludes batch_size, shuffle, sampler and drop_last; it determines them "
                              "all")
    if batch_sampler is None:
        return _sampling.of(sampler, batch_size, rank, world_size)
    return _sampling.of_batches(batch_sampler, rank, world_size)


def _is_channels_last(memory_format, layout):
    if memory_format in (None, torch.contiguous_format):
        return False
    if memory_format is not torch.channels_last:
        raise InvalidArgument(f"memory_format is {memory_format}; expected torch.channels_last or torch.contiguous_format")
    if layout != "NCHW":
        raise InvalidArgument(f"memory_format is torch.channels_last, but layout is {layout!r}; leave layout out: the tensors have "
                              "the shape of NCHW, and the memory of NHWC")
    return True


def _seed(seed, generator):
    if generator is not None:
        if seed is not None:
            raise InvalidArgument("seed and generator are both given; give one of them")
        return int(torch.empty((), dtype=torch.int64).random_(generator=generator))
    return 0 if seed is None else seed


def _refuse_python_only(**arguments):
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgument(f"{name} is for datasets of Python objects, and this is a name or a path; leave it "
                                  "out")


def _refuse(**arguments):
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgument(f"{name} is given, but Penstock starts no worker processes here: its daemon "
                                  "decodes. Leave it out; augmentations are seeded by `seed`")

