"""What functions and classes say of themselves to code that asks at run time: names, docstrings, annotations."""
import re
import types
import typing

_SIMPLE = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes)
_ADDRESS = re.compile("0x[0-9a-fA-F]+")
_MODULES = ("typing", "types", "typing_extensions", "collections.abc", "_collections_abc")
_DEEPEST = 20


def walk_function(to, function):
    _walk_doc(to, function.__doc__)
    annotate = getattr(function, "__annotate__", None)
    _walk_annotations(to, annotate, {} if annotate is not None else function.__annotations__)


def walk_class(to, kind):
    to.token("name", kind.__name__)
    members = vars(kind)
    doc = members.get("__doc__")
    if not ("__dataclass_fields__" in members and isinstance(doc, str) and doc.startswith(f"{kind.__name__}(")):
        _walk_doc(to, doc)  # a dataclass writes one from what its fields are, which may be sets
    annotations = members.get("__annotations__") or members.get("__annotations_cache__")
    _walk_annotations(to, members.get("__annotate_func__"), annotations)


def _walk_doc(to, doc):
    if isinstance(doc, str):
        to.token("doc", _ADDRESS.sub("0x", doc) if "0x" in doc else doc)
    elif doc is not None:
        from . import objects
        objects.walk(to, doc, ".__doc__")


def _walk_annotations(to, annotate, annotations):
    """Classes in them are named, not walked: what a class does that is only spoken of makes no sample. Annotations that
    Python has yet to compute are what computes them."""
    if isinstance(annotate, types.FunctionType):
        from . import code
        code.walk_code(to, annotate.__code__)
    elif type(annotations) is dict and annotations:
        to.token("annotations", repr([(str(name), _said(value)) for name, value in annotations.items()]))


def _said(value, depth=0):
    kind = type(value)
    if kind in _SIMPLE:
        return repr(value)
    if kind is typing.ForwardRef:
        return repr(value.__forward_arg__)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and kind.__module__ != "types":
        return f"{value.__module__}:{value.__qualname__}"
    if depth < _DEEPEST and kind in (list, tuple):
        return [_said(each, depth + 1) for each in value]
    if depth < _DEEPEST and kind.__module__ in _MODULES:
        if getattr(value, "__args__", None) is None:
            return repr(value)  # such as Any, or a type variable
        parts = (getattr(value, name, None) for name in ("__origin__", "__args__", "__metadata__"))
        return [kind.__qualname__, *(_said(each, depth + 1) for each in parts)]
    return f"an object of {kind.__module__}:{kind.__qualname__}"
