"""Walks functions, classes and modules: what they do, not where they lie in memory.

Code of the program is walked: instructions, constants, names, and the values of the globals that it reads, as they are
now. Code of libraries is named, with its library's version and its file's state; only what the program has replaced in it,
or closed over, is walked.
"""
import builtins
import dis
import functools
import importlib.util
import os
import sys
import threading
import types

from . import caches, environment, naming
from .libraries import file_digest, file_state, is_library_file, is_library_module, is_settled, version
from .walk import Opaque

_NOT_MEMBERS = {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl",
                "__slotnames__", "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__",
                "__conditional_annotations__", "__firstlineno__", "__static_attributes__", "__orig_bases__",
                "__parameters__", "__type_params__", "__subclasshook__",
                # What pydantic makes of a class's fields and methods, with addresses in it.
                "__pydantic_core_schema__", "__pydantic_validator__", "__pydantic_serializer__"}
_LOADS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_LOADS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


def _walk(to, value, name=""):
    from . import objects
    objects.walk(to, value, name)


def walk_unordered(to, kind, values):
    from . import objects
    objects.walk_unordered(to, kind, values)


# Code and functions.

def walk_code(to, code):
    """Its instructions and constants, without its place in a file: moving a function changes nothing."""
    to.token("code", code.co_code)
    to.token("table", getattr(code, "co_exceptiontable", b""))
    to.token("names", repr((code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
                            code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)))
    to.token("constants", len(code.co_consts))
    for constant in code.co_consts:
        if type(constant) is frozenset:  # whose order is another one when the module comes from its .pyc
            walk_unordered(to, "frozenset", constant)
        else:
            _walk(to, constant, "a constant")


def walk_function(to, function):
    module = function.__module__ or ""
    to.token("function", f"{module}:{function.__qualname__}:{function.__name__}")
    if is_library_file(function.__code__.co_filename):
        _walk_library_function(to, function, module)
        return
    _walk(to, function.__code__)
    _walk_closure(to, function)
    _walk(to, dict(function.__dict__), ".__dict__")
    naming.walk_function(to, function)
    _walk_globals(to, function.__code__, function.__globals__)


def _walk_library_function(to, function, module):
    met(to, module)
    if module.startswith("torch.distributed"):
        _walk_rank(to)
    environment.walk_function(to, function, module)
    if caches.walk_dispatcher(to, function):
        return
    if is_library_module(module) and function is found(module, function.__qualname__):
        try:
            to.attempt(lambda: _walk(to, (function.__defaults__, function.__kwdefaults__), ".__defaults__"))
        except Opaque:
            pass  # its library's business
        return
    if "_torchdynamo_orig_callable" in function.__dict__:
        raise Opaque("a function of torch.compile, which is made of how it was used")
    _walk(to, function.__code__)  # made by a call, such as a decorator's, or put in another one's place
    _walk_closure(to, function)
    _walk(to, dict(function.__dict__), ".__dict__")


def _walk_closure(to, function):
    _walk(to, function.__defaults__, ".__defaults__")
    _walk(to, function.__kwdefaults__, ".__kwdefaults__")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        _walk(to, cell, f" reads {name}, which")


def _walk_globals(to, code, names):
    """What the code reads of its module's globals, of the modules that it reaches through them, and of what it imports."""
    for path in _paths(code):
        root = path[0]
        if len(path) == 1:
            _walk_names(to, names.get(root), code)
        if root in names:
            _walk_path(to, names[root], path)
        elif hasattr(builtins, root):
            _walk_path(to, getattr(builtins, root), path)
        else:
            to.token("no such global", root)
    for name, level, members in _imports(code):
        _walk_import(to, name, level, members, names, code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _walk_globals(to, constant, names)


@functools.lru_cache(10_000)
def _instructions(code):
    return list(dis.get_instructions(code))


def _paths(code):
    """(global, attribute, attribute, ...) for each global that the code reads, in a stable order."""
    paths, path = set(), ()
    for instruction in _instructions(code):
        if instruction.opname in _LOADS_GLOBAL:
            path = (instruction.argval,)
        elif instruction.opname in _LOADS_ATTRIBUTE and path:
            path += (instruction.argval,)
        elif instruction.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            path = ()
        if path:
            paths.add(path)
    return sorted(paths)


def _walk_path(to, value, path):
    """Follows attributes as long as they lead through modules; adds what is at the end."""
    for place, name in enumerate(path):
        if place == len(path) - 1 or not isinstance(value, types.ModuleType):
            to.token("reads", ".".join(path[:place + 1]))
            _walk(to, value, f" reads {'.'.join(path[:place + 1])}, which")
            return
        met(to, value.__name__)
        following = path[place + 1]
        if isinstance(vars(value).get(following), threading.local) and is_library_module(value.__name__):
            to.token("a library's own", following)
            return
        if following not in vars(value):
            to.token("module", value.__name__)
            walk_module(to, value)
            return
        value = vars(value)[following]


def _walk_names(to, module, code):
    """A module of the program that the code holds: what the code can reach in it, by any name that it has. Of a
    library's module, only whether that is the environment."""
    if not issubclass(type(module), types.ModuleType):
        return
    used = {constant for constant in code.co_consts if type(constant) is str}.union(code.co_names)
    if is_library_module(module.__name__):
        environment.walk_module(to, module.__name__, used)
        return
    for name in sorted(used & vars(module).keys()):
        to.token("reads", f"{module.__name__}.{name}")
        _walk(to, vars(module)[name], f" reads {module.__name__}.{name}, which")


def _imports(code):
    found, level = [], 0
    instructions = _instructions(code)
    for place, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            members = []
            for later in instructions[place + 1:]:
                if later.opname == "IMPORT_FROM":
                    members.append(later.argval)
                elif later.opname == "IMPORT_NAME":
                    break
            before = [each.argval for each in instructions[max(0, place - 4):place] if each.opname in
                      ("LOAD_CONST", "LOAD_SMALL_INT") and isinstance(each.argval, int)]
            level = before[-1] if before else 0
            found.append((instruction.argval, level, tuple(members)))
    return found


def _walk_import(to, name, level, members, names, code):
    full = name
    if level:
        package = names.get("__package__") or names.get("__name__", "")
        full = ".".join(part for part in (*package.split(".")[:len(package.split(".")) - level + 1], name) if part)
    to.token("imports", full)
    module = sys.modules.get(full)
    if module is None:
        spec = _spec(full)
        if spec is not None and not is_library_file(spec.origin):
            raise Opaque(f"code that imports {full} only when it runs; import it at the top of its module")
        to.token("import", file_state(spec.origin) if spec is not None else "missing")
        environment.walk_module(to, full, set())
        return
    walk_module(to, module)
    _walk_names(to, module, code)
    for member in members:
        if member in vars(module):
            _walk(to, vars(module)[member], f" imports {full}.{member}, which")
            _walk_names(to, vars(module)[member], code)


def _spec(name):
    """Where the module, or the first package above it that is not loaded, would come from. Nothing is loaded for that."""
    parts = name.split(".")
    names = [".".join(parts[:count + 1]) for count in range(len(parts))]
    try:
        return importlib.util.find_spec(next((each for each in names if each not in sys.modules), name))
    except (ImportError, ValueError, AttributeError):
        return None


# Classes.

def is_library_class(kind):
    return is_library_module(kind.__module__)


def walk_class(to, kind):
    to.token("class", f"{kind.__module__}:{kind.__qualname__}")
    if is_library_class(kind):
        met(to, kind.__module__)
        if kind is not found(kind.__module__, kind.__qualname__) and kind.__flags__ & 1 << 9:
            _walk_members(to, kind)  # made by a call: a namedtuple, say
        else:
            _walk_replaced(to, kind)
        return
    if type(kind) is not type:
        _walk(to, type(kind), ".__class__")
    for base in kind.__bases__:
        _walk(to, base, ".__bases__")
    naming.walk_class(to, kind)
    _walk_members(to, kind)


def _walk_members(to, kind):
    for name, member in sorted(vars(kind).items()):
        if name not in _NOT_MEMBERS:
            to.token("member", name)
            _walk(to, member, f".{name}")


def walk_descriptor(to, value):
    to.token("descriptor", f"{value.__objclass__.__module__}:{value.__objclass__.__qualname__}:{value.__name__}"
             if hasattr(value, "__objclass__") else value.__qualname__)


def walk_builtin(to, value):
    """A function of C, or one of C's methods with its object."""
    environment.walk_function(to, value, getattr(value, "__module__", None))
    to.token("builtin", f"{getattr(value, '__module__', '')}:{value.__qualname__}")
    owner = getattr(value, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = sys.modules.get(getattr(value, "__module__", None) or "builtins")
        if module is None:
            raise Opaque(f"a function of C, {value.__qualname__}, of no module")
        walk_module(to, module)
        if (getattr(value, "__module__", None) or "").startswith("torch._C._distributed"):
            _walk_rank(to)
    else:
        _walk(to, owner, ".__self__")


def found(module, qualname):
    """What the module has under this name; None if there is nothing."""
    value = sys.modules.get(module)
    for name in qualname.split("."):
        value = getattr(value, "__dict__", {}).get(name)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
    return value


# Modules.

def walk_module(to, module):
    """A library's by its version, the program's own by its file. What code reads of it is walked by its readers."""
    name, file = module.__name__, getattr(module, "__file__", None)
    to.token("module", name)
    if is_library_module(name):
        met(to, name)
    elif file and os.path.exists(file):
        to.token("file", file_digest(file))


def met(to, name):
    """Adds a library's version, and what the program has replaced in this module."""
    if name in to.libraries or not is_library_module(name):
        return
    to.packages.add(name.partition(".")[0])
    environment.walk_module(to, name, set())
    to.note_library(name, functools.partial(_walk_library, to, name))


def _walk_library(to, name):
    to.token("library", version(name))
    module = sys.modules.get(name)
    for key, value in sorted(vars(module).items() if module is not None else (), key=lambda item: str(item[0])):
        if type(value) is types.FunctionType:  # isinstance would ask an object for its __class__, and some warn then
            if not is_library_file(value.__code__.co_filename, generated=True):
                to.token("replaced", str(key))
                _walk(to, value, f"{name}.{key}")
        elif issubclass(type(value), type) and value.__module__ == name:
            _walk_replaced(to, value)
    if module is not None and not is_settled(name):
        _walk_variables(to, module)


def _walk_variables(to, module):
    """The simple variables of an installed module, and of the modules of its package that it imports: a program may have
    set them."""
    from . import objects
    package = module.__name__.partition(".")[0]
    for key, value in sorted(vars(module).items()):
        if issubclass(type(value), types.ModuleType) and value.__name__.partition(".")[0] == package:
            met(to, value.__name__)
        elif not key.startswith("__") and objects.is_simple(value):
            to.token("variable", f"{module.__name__}.{key}")
            _walk(to, value)


def _walk_replaced(to, kind):
    """The functions that the program has put into a library's class."""
    for key, member in sorted(vars(kind).items(), key=lambda item: str(item[0])):
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, types.FunctionType) and not is_library_file(function.__code__.co_filename, generated=True):
            to.token("replaced", f"{kind.__module__}:{kind.__qualname__}.{key}")
            _walk(to, function, f"{kind.__qualname__}.{key}")


# What differs between processes.

def _walk_rank(to):
    """Met by code that uses torch.distributed: its samples may be those of one rank."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        to.token("rank", repr((distributed.get_rank(), distributed.get_world_size())))
