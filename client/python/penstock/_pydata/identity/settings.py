"""Settings of Python and of frameworks, and modes of this thread, that change what samples are. Workers inherit both."""
import sys
import warnings

from . import modes
from .quiet import is_quiet
from .walk import Opaque

_SMALLEST = 5e-324
# A module that is loaded later, by the first sample, must not make it another dataset: what is as usual is not said.
_DECIMAL = {"prec": 28, "rounding": "ROUND_HALF_EVEN", "Emin": -999999, "Emax": 999999, "capitals": 1, "clamp": 0,
            "traps": ["DivisionByZero", "InvalidOperation", "Overflow"]}
_NUMPY = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn", "edgeitems": 3, "threshold": 1000,
          "floatmode": "maxprec", "precision": 8, "linewidth": 75, "nanstr": "nan", "infstr": "inf", "sign": "-"}
_OF_TORCH = ("get_default_dtype", "get_default_device", "are_deterministic_algorithms_enabled",
             "is_deterministic_algorithms_warn_only_enabled", "get_float32_matmul_precision")
_OF_TORCHS_CORE = ("_is_torch_function_enabled", "_get_mkldnn_enabled", "_get_nnpack_enabled",
                   "_get_deterministic_fill_uninitialized_memory")
_PRECISIONS = [(backend, product) for backend in ("generic", "mkldnn") for product in ("all", "matmul", "conv", "rnn")]
_OF_PRINTING = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")


def walk(to):
    to.token("settings", repr(list(_python())))
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and hasattr(torch, "Tensor"):
        to.token("torch", repr(list(_torch(torch))))
    if numpy is not None and hasattr(numpy, "ndarray"):
        _walk_numpy(to, numpy)


def _python():
    yield "recursion", sys.getrecursionlimit()
    yield "digits", getattr(sys, "get_int_max_str_digits", int)()
    yield "denormal", sys.float_info.min / 2 > 0, _SMALLEST * 2.0**60 > 0  # as results, as operands
    if hasattr(sys.modules.get("decimal"), "getcontext"):
        yield from _decimal(sys.modules["decimal"].getcontext())
    if any(entry[0] == "error" for entry in warnings.filters):  # others change no sample
        yield "warnings", [(action, getattr(text, "pattern", text), kind.__qualname__, getattr(module, "pattern", module),
                            line) for action, text, kind, module, line in warnings.filters if not is_quiet(text)]


def _decimal(context):
    found = {name: getattr(context, name) for name in _DECIMAL}
    found["traps"] = sorted(signal.__name__ for signal, is_on in context.traps.items() if is_on)
    if found != _DECIMAL:
        yield "decimal", found


# torch.

def _torch(torch):
    for names, place in ((_OF_TORCH, torch), (_OF_TORCHS_CORE, torch._C)):
        for name in names:
            if hasattr(place, name):
                yield name, _said(getattr(place, name))
    yield "precision", [_said(torch._C._get_fp32_precision_getter, *each) for each in _PRECISIONS] \
        if hasattr(torch._C, "_get_fp32_precision_getter") else None
    yield "modes", str(modes.now())
    yield "overriding modes", _overriding(torch)
    options = getattr(sys.modules.get("torch._tensor_str"), "PRINT_OPTS", None)
    yield "printing", [str(getattr(options, name, None)) for name in _OF_PRINTING]


def _said(function, *arguments):
    try:
        return str(function(*arguments))
    except Exception as error:  # an older way of setting it was mixed with a newer
        return type(error).__name__


def _overriding(torch):
    """Those of torch.set_default_device and `with torch.device(…)`; any other does what nobody can see."""
    devices = []
    for kind in ("function", "dispatch"):
        count = getattr(torch._C, f"_len_torch_{kind}_stack", int)()
        for place in range(count):
            mode = getattr(torch._C, f"_get_{kind}_stack_at")(place)
            if type(mode).__module__ != "torch.utils._device" or not hasattr(mode, "device"):
                raise Opaque(f"the torch {kind} mode {type(mode).__qualname__} around it, which changes what torch does")
            devices.append(str(mode.device))
    return devices


# NumPy.

def _walk_numpy(to, numpy):
    from . import objects
    found = {**numpy.geterr(), **numpy.get_printoptions(), "call": numpy.geterrcall()}
    for name, value in sorted(found.items()):
        usual = _NUMPY.get(name)
        if value != usual if type(value) is type(usual) else value not in (None, False):
            to.token("numpy", name)
            objects.walk(to, value, f" has {name} of NumPy, which")
