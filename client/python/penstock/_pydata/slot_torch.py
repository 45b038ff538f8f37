"""Tensors in a slot. torch is imported by whoever made them; a reader imports it when there is one."""
import functools
import warnings

from ..errors import InvalidArgument
from .layout import dense
from .slot_format import CODES, MAX_DIMENSIONS, NAMES, TENSOR, SlotDamaged


def reduce(plan, tensor):
    """How the skeleton refers to `tensor`. NotImplemented: torch pickles it itself. That is how sparse tensors come by
    their parts, each of which is a tensor again, and quantised ones as bytes."""
    import torch
    kind, plain = type(tensor), tensor
    if kind is not torch.Tensor:
        if kind is not torch.nn.Parameter and not _is_simple(kind):
            return NotImplemented
        with _no_torch_function():
            plain = tensor.as_subclass(torch.Tensor)
    code = _codes().get(plain.dtype)
    if code is None or plain.layout is not torch.strided or plain.is_nested or plain.is_meta or getattr(plain, "has_names", bool)() \
            or plain.dim() > MAX_DIMENSIONS:
        return NotImplemented
    if plain.device.type != "cpu":
        raise InvalidArgument(f"a tensor of the batch is on {plain.device}; workers have no GPU: return it on the CPU, and "
                              "give device= to the loader")
    if plain.requires_grad and not tensor.is_leaf:
        raise InvalidArgument("a tensor of the batch requires a gradient and is not a leaf; a graph cannot be sent to "
                              "another process: return tensor.detach()")
    shape = tuple(plain.shape)
    strides = tuple(plain.stride())
    if not plain.is_contiguous():
        strides = dense(shape, strides)[0]
    number = plan.add(plain, TENSOR, code, plain.element_size(), shape, strides)
    grad = bool(tensor.requires_grad)
    if kind is torch.Tensor:
        return (tensor_at, (number, True)) if grad else (tensor_at, (number,))
    if kind is torch.nn.Parameter:
        return parameter_at, (number, grad)
    return subclass_at, (number, kind, grad), dict(tensor.__dict__), None, None, set_state


def _is_simple(kind):
    """Whether tensors of this subclass are their elements and their __dict__."""
    import torch
    usual = torch.Tensor
    return all(getattr(kind, name, None) is getattr(usual, name, None) for name in
               ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__torch_dispatch__"))


def _no_torch_function():
    import torch
    return getattr(torch._C, "DisableTorchFunctionSubclass", torch._C.DisableTorchFunction)()


def copy(memory, entry, tensor):
    import torch
    source = tensor.detach()
    if 0 in entry.strides:
        for dimension, (side, stride) in enumerate(zip(entry.shape, entry.strides)):
            if stride == 0 and side > 1:
                source = source.narrow(dimension, 0, 1)
    stored = torch.frombuffer(memory, dtype=source.dtype, count=entry.nbytes // entry.item_bytes, offset=entry.offset)
    stored.as_strided(source.shape, entry.strides).copy_(source)


def tensor_at(memory, entry, grad=False):
    """The tensor of `entry` as a view of `memory`."""
    import torch
    dtype = _dtypes().get(entry.dtype)
    if dtype is None:
        raise SlotDamaged(f"the slot has a tensor of {NAMES.get(entry.dtype, entry.dtype)}, which this torch "
                          f"({torch.__version__}) does not have; trainer and worker must use one version")
    if entry.item_bytes != _item_bytes(dtype):
        raise SlotDamaged(f"the slot has a tensor of {NAMES[entry.dtype]} with {entry.item_bytes} bytes an element; the "
                          "slot is damaged")
    if entry.nbytes == 0:
        tensor = torch.empty_strided(entry.shape, entry.strides, dtype=dtype, device="cpu")
    else:
        if memory.readonly:
            _say_nothing_of_read_only_memory()
        count = entry.nbytes // entry.item_bytes
        tensor = torch.frombuffer(memory, dtype=dtype, count=count, offset=entry.offset)
        tensor = tensor.as_strided(entry.shape, entry.strides)
    return tensor.requires_grad_() if grad else tensor


def parameter_at(memory, entry, grad):
    import torch
    return torch.nn.Parameter(tensor_at(memory, entry), grad)


def subclass_at(memory, entry, kind, grad):
    with _no_torch_function():
        tensor = tensor_at(memory, entry).as_subclass(kind)
        return tensor.requires_grad_() if grad else tensor


def set_state(tensor, state):
    """A subclass's own attributes, such as the format of torchvision's boxes."""
    tensor.__dict__.update(state)


@functools.lru_cache(None)
def _dtypes():
    """This torch's types by their codes."""
    import torch
    return {code: getattr(torch, name) for name, code in CODES.items() if hasattr(torch, name)}


@functools.lru_cache(None)
def _codes():
    return {dtype: code for code, dtype in _dtypes().items()}


@functools.lru_cache(None)
def _item_bytes(dtype):
    import torch
    return torch.empty((), dtype=dtype).element_size()


@functools.lru_cache(None)
def _say_nothing_of_read_only_memory():
    """torch warns once in a process about tensors over read-only memory; `read` documents them."""
    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.frombuffer(bytes(8), dtype=torch.uint8)


REBUILD = {"tensor_at": tensor_at, "parameter_at": parameter_at, "subclass_at": subclass_at}
