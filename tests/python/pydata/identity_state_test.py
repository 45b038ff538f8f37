"""Tests identities of what programs keep beside values: stored results, registries, modes, memory, names, and the environment."""
import pathlib
import subprocess
import sys
import threading
import unittest
import warnings

import identities
from slots import support

from penstock._pydata.identity import identify
from penstock._pydata.identity.quiet import quiet

numpy = support.need("numpy")

LRU = "import functools\n@functools.lru_cache({size})\ndef f(i, k=0): return N\ndataset = f\n{fill}\nN = 0"
METHOD = "import functools\nclass D:\n @functools.lru_cache(None)\n def f(s, i): return s.n\ndataset = D()\ndataset.n = 1\n{fill}\ndataset.n = 0"
SINGLE = "import functools\n@functools.singledispatch\ndef f(i): return 0\n{register}\ndataset = f"
METHODS = "import functools\nclass D:\n @functools.singledispatchmethod\n def f(s, i): return 0\n @f.register(int)\n def _(s, i): return {n}\ndataset = D()"

STORED = {
    "results": [LRU.format(size=size, fill=fill) for size in ("None", "9") for fill in
                ("", "N = 1; f(1)", "N = 2; f(1)", "N = 1; f(2)", "N = 1; f(1); f(2)", "N = 1; f(1.5)", "N = 1; f(1, k=3)", "N = 1; f(1, k=4)",
                 "N = [1]; f(1)", "N = {'a': 1}; f(1)", "N = None; f(None)", "N = 1\nfor n in range(100): f(n)",
                 "N = 1\nfor n in range(100): f(n)\nf.cache_clear()\nN = 2\nfor n in range(100): f(n)")],
    "a method's results": [METHOD.format(fill=fill) for fill in ("", "dataset.f(1)", "dataset.f(2)")],
    "an attribute of a cached function": [f"import functools\n@functools.cache\ndef f(i): return f.k\nf.k = {n}\ndataset = f" for n in (1, 2)],
    "a registry": [SINGLE.format(register=text) for text in
                   ("", "f.register(int, lambda i: 1)", "f.register(int, lambda i: 2)", "f.register(str, lambda i: 1)",
                    "f.register(int, lambda i, k=1: k)", "f.k = 5")],
    "a registry of methods": [METHODS.format(n=n) for n in (1, 2)],
}
STORED_SAME = {
    "an order of calls": [LRU.format(size=size, fill=fill) for size in ("9",) for fill in ("N = 1; f(1); f(2); f('a', k=2)", "N = 1; f('a', k=2); f(2); f(1); f(1)")],
    "many calls": [LRU.format(size="None", fill=f"N = 1\nfor n in {order}: f(n), f(str(n))") for order in ("range(100)", "reversed(range(100))")],
    "results for texts": [LRU.format(size="None", fill="N = [1]\nfor n in {'a', 'b', 'c', 'd'}: f(n); f(n, k=n)")],
    "results that were forgotten": [LRU.format(size=2, fill=fill) for fill in ("N = 1; f(1); f(2); f(3)", "N = 1; f(0); f(2); f(3)")],
    "a registry that was used": [SINGLE.format(register="import collections.abc\nf.register(collections.abc.Sized, lambda i: 1)\n"
                                 "def use():\n f(1); f('')\n class C(collections.abc.Sized): pass\n f([])")],
    "methods that were used": [METHODS.format(n=1) + "\ndef use(): dataset.f(1); dataset.f('')"],
}

WRAPPED = {
    "a function that contextlib wraps": [f"import contextlib\n@contextlib.contextmanager\ndef f(i): yield {n}\ndataset = f" for n in (1, 2)],
    "an attribute of a wrapped function": [f"import contextlib\n@contextlib.contextmanager\ndef f(i): yield f.k\nf.k = {n}\ndataset = f" for n in (1, 2)],
    "a method that contextlib wraps": [
        f"import contextlib\nclass D:\n @contextlib.contextmanager\n def f(s): yield {n}\ndataset = D()" for n in (1, 2)],
}

VARIABLE = "import ctypes, getpass, os, shutil, subprocess\nos.environ['MY_DATA'] = '{n}'\ndef undo(): del os.environ['MY_DATA']\n{code}\ndataset = f"
READERS = {
    "expandvars": "def f(i): return os.path.expandvars(i)", "expandvars by name": "from os.path import expandvars\ndef f(i): return expandvars(i)",
    "system": "def f(i): os.system(i)", "popen": "def f(i): return os.popen(i)", "execvp": "def f(i): os.execvp(i, [i])",
    "spawn": "def f(i): os.spawnlp(os.P_WAIT, i)", "posix_spawn": "def f(i): os.posix_spawn(i, [i], {{}})",
    "subprocess": "import subprocess\ndef f(i): return subprocess.run(i)", "subprocess, late": "def f(i):\n import subprocess\n return subprocess.run(i)",
    "a name of subprocess": "from subprocess import check_output\ndef f(i): return check_output(i)",
    "a class of subprocess": "from subprocess import Popen\ndef f(i): return Popen(i)",
    "ctypes": "import ctypes\ndef f(i): return ctypes.CDLL(None).getenv(i)", "ctypes, late": "def f(i):\n from ctypes import CDLL\n return CDLL(None)",
    "os, late": "def f(i):\n import os\n return os.environ[i]", "os.path, late": "def f(i):\n import os.path as p\n return p.expandvars(i)",
    "os as a variable": "def f(i):\n m = os\n return m.environ[i]", "os by getattr": "def f(i): return getattr(os, 'environ')[i]",
    "bytes": "def f(i): return os.environb[i]", "which": "import shutil\ndef f(i): return shutil.which(i)",
    "a method": "class D:\n def g(s): return os.popen('a')\nf = D()", "a partial": "import functools, subprocess\nf = functools.partial(subprocess.run, env=None)",
}
NO_READERS = {
    "expanduser, paths and files": "def f(i): return os.path.join(os.path.expanduser(i), os.sep), os.listdir(i), os.stat(i)",
    "another's system": "import platform\ndef f(i): return platform.machine(), i.system()",
}

SETS = {
    "an order of numbers": [f"dataset = set()\nfor n in {order}: dataset.add(n)" for order in ((0, 8), (8, 0))],
    "an order of floats": [f"dataset = set()\nfor n in {order}: dataset.add(n)" for order in ((0.0, 8.0), (8.0, 0.0))],
    "an order of tuples": [f"dataset = set()\nfor n in {order}: dataset.add((n, True))" for order in ("range(100)", "reversed(range(100))")],
    "an order of many": [f"dataset = set()\nfor n in {order}: dataset.add(n * 1024)" for order in ("range(100)", "reversed(range(100))")],
    "an order of frozen sets": [f"dataset = set()\nfor n in {order}: dataset.add(frozenset([n, n + 1]))" for order in ("range(100)", "reversed(range(100))")],
    "an order of fractions": [f"import fractions\ndataset = set()\nfor n in {order}: dataset.add(fractions.Fraction(n))" for order in ((0, 8), (8, 0))],
    "an order within a subclass": [f"class S(set): pass\ndataset = S()\nfor n in {order}: dataset.add(n)" for order in ((0, 8), (8, 0))],
}
SETS_SAME = {
    "one order": ["dataset = {3, 1, 2}", "dataset = {1, 2} | {3}"],
    "texts": [f"dataset = set()\nfor n in {order}: dataset.add(n)" for order in ("('a', 'b', 1)", "(1, 'b', 'a')")],
    "tuples of texts": [f"dataset = set()\nfor n in {order}: dataset.add((n, 'a'))" for order in ("range(100)", "reversed(range(100))")],
    "constants of code": ["def f(i): return i in {16, 8, 0}\ndataset = f", "def f(i): return i in {0, 8, 16}\ndataset = f"],
}

MODES = {
    "the recursion limit": ["import sys\nold = sys.getrecursionlimit()\nsys.setrecursionlimit({n})\ndef undo(): sys.setrecursionlimit(old)\ndataset = 1", 2000, 3000],
    "digits of texts": ["import sys\nold = getattr(sys, 'get_int_max_str_digits', int)()\nsys.set_int_max_str_digits({n})\n"
                        "def undo(): sys.set_int_max_str_digits(old)\ndataset = 1", 0, 1000],
    "decimal's precision": ["import decimal\nold = decimal.getcontext()\ndecimal.setcontext(decimal.Context(prec={n}))\n"
                            "def undo(): decimal.setcontext(old)\ndataset = 1", 5, 9],
    "decimal's traps": ["import decimal\nold = decimal.getcontext().copy()\ndecimal.getcontext().traps[decimal.Inexact] = {n}\n"
                        "def undo(): decimal.setcontext(old)\ndataset = 1", True, False],
    "warnings that raise": ["import warnings\nold = warnings.filters[:]\nwarnings.simplefilter('{n}')\ndef undo(): warnings.filters[:] = old\ndataset = 1",
                            "error", "ignore"],
    "errors of NumPy": ["import numpy\nold = numpy.seterr(divide='{n}')\ndef undo(): numpy.seterr(**old)\ndataset = 1", "ignore", "raise", "warn"],
    "printing of NumPy": ["import numpy\nold = numpy.get_printoptions()\nnumpy.set_printoptions({n})\n"
                          "def undo(): numpy.set_printoptions(**{{k: v for k, v in old.items() if k != 'override_repr'}})\ndataset = 1",
                          "", "precision=3", "formatter={{'float': lambda x: 'a'}}", "formatter={{'float': lambda x: 'b'}}", "legacy='1.13'"],
}
MODES_SAME = {
    "modules that are loaded later": ["dataset = 1\ndef use():\n import decimal, numpy\n decimal.getcontext()"],
    "decimal in use": ["import decimal\ndataset = 1\ndef use(): decimal.Decimal(1) / 3"],
    "warnings that are shown": [f"import warnings\nold = warnings.filters[:]\nwarnings.simplefilter('{n}')\n"
                                "def undo(): warnings.filters[:] = old\ndataset = 1" for n in ("default", "ignore")],
}

MODE = "import torch\nmode = {mode}\nmode.__enter__()\ndef undo(): mode.__exit__(None, None, None)\ndataset = 1"
TORCH_MODES = {
    "modes": ["dataset = 1\nimport torch"] + [MODE.format(mode=f"torch.{mode}") for mode in (
        "no_grad()", "inference_mode()", "autocast('cpu', dtype=torch.bfloat16)", "autocast('cpu', dtype=torch.bfloat16, cache_enabled=False)",
        "_C.DisableTorchFunction()")],
    "denormal numbers": [f"import torch\ntorch.set_flush_denormal({n})\ndef undo(): torch.set_flush_denormal(False)\ndataset = 1" for n in (True, False)],
    "deterministic algorithms": [
        f"import torch\ntorch.use_deterministic_algorithms({n})\ndef undo(): torch.use_deterministic_algorithms(False)\ndataset = 1"
        for n in ("True", "False", "True, warn_only=True")],
    "printing": [f"import torch\ntorch.set_printoptions({n})\ndef undo(): torch.set_printoptions(profile='default', sci_mode=None)\ndataset = 1"
                 for n in ("precision=3", "precision=4", "sci_mode=True", "edgeitems=9")],
    "a function that torch wraps": [f"import torch\n@torch.no_grad()\ndef f(i): return {n}\ndataset = f" for n in (1, 2)],
}
TORCH_MODES_SAME = {
    "a function that torch wraps, in use": ["import torch\n@torch.no_grad()\ndef f(i): return i\n@torch.inference_mode()\ndef g(i): return f(i)\n"
                                            "dataset = [f, g]\ndef use():\n with torch.no_grad(): f(1), g(1)"],
    "modes that were left": ["dataset = 1\nimport torch\ndef use():\n with torch.no_grad(), torch.autocast('cpu', dtype=torch.bfloat16), torch.inference_mode(): pass"],
}
PRECISION = {
    "precision of products": [f"import torch\ntorch.set_float32_matmul_precision('{n}')\ndef undo(): torch.set_float32_matmul_precision('highest')\n"
                              "dataset = 1" for n in ("highest", "high")],
}
OVERRIDE = ("import torch\nfrom torch.overrides import TorchFunctionMode\nfrom torch.utils._python_dispatch import TorchDispatchMode\n"
            "class M(Torch{kind}Mode):\n def __torch_{name}__(s, f, t, a=(), k=None): return f(*a, **(k or {{}}))\n"
            "mode = M()\nmode.__enter__()\ndef undo(): mode.__exit__(None, None, None)\ndataset = [1]")

MEMORY = {
    "arrays of one memory": ["import numpy\n" + text for text in (
        "a = numpy.arange(9); dataset = a, a[:]", "a = numpy.arange(9); dataset = a, a.copy()", "a = numpy.arange(9); dataset = a, a")],
    "parts of one array": ["import numpy\n" + text for text in (
        "a = numpy.zeros(9); dataset = a[:5], a[4:]", "a = numpy.zeros(9); dataset = a[:5].copy(), a[4:]", "a = numpy.zeros(10); dataset = a[:5], a[5:]",
        "a = numpy.zeros(9); dataset = a[4:], a[:5]", "a = numpy.zeros(9); dataset = a[:5], a[4::-1], a[4:]")],
    "which of them": ["import numpy\na, b = numpy.zeros(9), numpy.zeros(9)\ndataset = " + text for text in
                      ("[a, b, a[:], b[:]]", "[a, b, b[:], a[:]]", "[a, b, a[:], a[:]]")],
    "in a set": ["import numpy\nclass D: pass\nd = D(); a = numpy.zeros(9); d.a = a; d.b = " + text + "\ndataset = {d}" for text in ("a[:]", "a.copy()")],
    "with the array outside": ["import numpy\nclass D: pass\nd = D(); a = numpy.zeros(9); d.b = " + text + "\ndataset = [a, {d}]" for text in ("a[:]", "a.copy()")],
    "read-only": [f"import numpy\ndataset = numpy.zeros(9)\ndataset.setflags(write={n})" for n in (True, False)],
    "strides": [f"import numpy\ndataset = numpy.zeros((4, 4, 4))[{n}]" for n in ("::2, ::2, ::2", ":2, :2, :2", ":2, ::2, ::2")],
}
MEMORY_SAME = {
    "a part and a copy of it": [f"import numpy\ndataset = numpy.arange({n})[:5]" for n in (5, 10)] + ["import numpy\ndataset = numpy.arange(5).copy()"],
    "other memory, other times": ["import numpy\ndataset = [numpy.zeros(9), numpy.ones(5)]", "import numpy\nb = numpy.ones(5)\nx = [numpy.zeros(9) for _ in range(9)]\n"
                                  "dataset = [numpy.zeros(9), b]"],
    "constants": ["import numpy\ndataset = [numpy.frombuffer(b'abcd', 'u1'), numpy.frombuffer(b'abcd', 'u1')]",
                  "import numpy\ndataset = [numpy.frombuffer(b'abcd', 'u1'), numpy.frombuffer(bytes([97, 98, 99, 100]), 'u1')]"],
}
TENSORS = {
    "tensors of one memory": ["import torch\n" + text for text in (
        "a = torch.arange(9); dataset = a, a[:]", "a = torch.arange(9); dataset = a, a.clone()", "a = torch.arange(9); dataset = a, a")],
    "parts of one tensor": ["import torch\na = torch.zeros(10); dataset = " + text for text in ("(a[:5], a[5:])", "(a[:5], a[5:].clone())", "(a[:5], a[4:9])")],
    "an array's memory": ["import torch, numpy\na = numpy.zeros(9); dataset = a, torch.from_numpy(a[2:])" + text for text in ("", ".clone()")],
    "a storage": ["import torch\na = torch.zeros(9); dataset = a, a" + text + ".storage()" for text in ("", ".clone()", "[:]")][:2],
}
TENSORS_SAME = {
    "a part and a copy of it": ["import torch\ndataset = torch.zeros(9)[:5]", "import torch\ndataset = torch.zeros(5)", "import torch\ndataset = torch.zeros(9)[:5].clone()"],
    "memory that moves": ["import torch\na = torch.zeros(9)\ndataset = [a, a[:]]\ndef use(): a.share_memory_()"],
}

NAMES = {
    "a function's name": ["def f(i): return f.__name__\ndataset = f", "def f(i): return f.__name__\nf.__name__ = 'g'\ndataset = f"],
    "a lambda's name": ["dataset = lambda i: i", "dataset = lambda i: i\ndataset.__name__ = 'g'", "dataset = lambda i: i\ndataset.__qualname__ = 'g'"],
    "a function's docstring": [f"def f(i): return f.__doc__\nf.__doc__ = {n}\ndataset = f" for n in ("'a'", "'b'", "None", "['a']")],
    "a function's annotations": [f"def f(i{text}): return f.__annotations__\ndataset = f" for text in
                                 ("", ": int", ": str", ": 'int'", ": 5", ": list[int]", ": list[str]", ": (lambda i: i)")],
    "typing": [f"import typing\ndef f(i: typing.{text}): return f.__annotations__\ndataset = f" for text in
               ("Any", "List[int]", "List[str]", "Optional[int]", "Union[int, str]", "Callable[[int], str]", "Callable[[str], str]", "Literal[1]", "Literal['1']",
                "List['int']", "Annotated[int, 1]", "Annotated[int, 2]", "TypeVar('T')", "TypeVar('U')")],
    "annotations that were put there": [f"def f(i): return f.__annotations__\nf.__annotations__ = {{'i': {n}}}\ndataset = f" for n in ("int", "str")],
    "a class's names": ["class D: pass\ndataset = D()", "class D: pass\nD.__name__ = 'E'\ndataset = D()", "class D: pass\nD.__qualname__ = 'E'\ndataset = D()"],
    "a class's docstring": [f"class D:\n {n!r}\ndataset = D()" for n in ("a", "b")],
    "a class's annotations": [f"class D:\n a: {n} = 1\ndataset = D()" for n in ("int", "str", "'int'")],
}
NAMES_SAME = {
    "what an annotation's class reads": [f"N = {n}\nclass C:\n def f(s): return N\ndef f(i: C, c: 'C' = None): return i\ndataset = f" for n in (1, 2)],
    "an annotation that cannot be seen through": ["F = open('/dev/null')\nclass C:\n def f(s): return F\ndef f(i: C): return i\ndataset = f",
                                                  "F = None\nclass C:\n def f(s): return F\ndef f(i: C): return i\ndataset = f"],
    "annotations that were looked up": [
        "import typing\nclass D:\n a: 'int' = 1\n def f(s, i: 'int', j: typing.List['D'] = None) -> 'D': return i\ndataset = D()\n"
        "def use(): typing.get_type_hints(D.f), typing.get_type_hints(D), D.f.__annotations__, D.__annotations__"],
    "functions and classes that are made by functions": [
        "def make(n):\n class D:\n  'a'\n  x: int = n\n  def f(s, i: n.__class__): return lambda j: i + j\n return D, lambda i: D().f(i), type('E', (D,), {'y': n})\n"
        "dataset = make(5)\ndef use(): dataset[0](), dataset[1](1), repr(dataset)"],
    "a dataclass's own docstring": [
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n a: object = object()\n b: frozenset = frozenset(['a', 'b', 'c', 'd'])\n"
        " c: object = lambda i: i\ndataset = D()"],
    "a docstring with an address": ["def f(i): return i\nf.__doc__ = f'of {object()!r}'\ndataset = f"],
}

# An object that warns when anything is asked of it.
LOUD = """
import warnings
class Loud:
    def __getattribute__(self, name):
        warnings.warn(f"{name} is deprecated", FutureWarning, stacklevel=2)
        return object.__getattribute__(self, name)
    def __reduce__(self):
        warnings.warn("do not pickle", DeprecationWarning)
        return Loud, ()
old = Loud()
def g(): return 5
"""


class StateTest(identities.Cases, unittest.TestCase):
    def has(self, *modules):
        for module in modules:
            try:
                __import__(module)
            except ImportError as error:
                self.skipTest(f"no {module} ({error})")

    def test_what_functools_stored(self):
        self.check(different=STORED, same=STORED_SAME, opaque={"a file that is stored": (
            LRU.format(size="None", fill="N = open('/dev/null'); f(1)"), "has stored what has an open file")})

    def test_functions_that_a_library_wraps(self):
        self.check(different=WRAPPED)

    def test_the_environment_counts_if_code_may_read_it(self):
        self.check(different={name: [VARIABLE.format(n=n, code=code.replace("{{", "{").replace("}}", "}")) for n in (1, 2)] for name, code in READERS.items()},
                   same={name: [VARIABLE.format(n=n, code=code) for n in (1, 2)] for name, code in NO_READERS.items()})

    def test_the_order_of_sets_of_numbers(self):
        self.check(different=SETS, same=SETS_SAME)

    def test_modes(self):
        if not hasattr(sys, "set_int_max_str_digits"):
            MODES.pop("digits of texts", None)
        self.check(different={name: [text.format(n=str(n).replace("{{", "{").replace("}}", "}")) for n in values]
                              for name, (text, *values) in MODES.items()}, same=MODES_SAME)

    def test_modes_of_torch(self):
        self.has("torch")
        import torch
        devices = [MODE.format(mode=f"torch.device('{device}')") for device in ("cpu", "meta")] if hasattr(torch.device, "__enter__") else []
        self.check(different={**TORCH_MODES, "default devices": devices} if devices else TORCH_MODES, same=TORCH_MODES_SAME, opaque={f"a {kind} mode": (OVERRIDE.format(kind=kind, name=kind.lower()), f"torch {kind.lower()} mode M")
                                                  for kind in ("Function", "Dispatch")})

    def test_functions_of_torchs_compiler_are_not_looked_at(self):
        self.has("torch")
        if not hasattr(sys.modules["torch"], "compile"):
            self.skipTest("this torch has no compiler")
        self.check(opaque={"compile": ("import torch\n@torch.compile\ndef f(i): return i\ndataset = [f]", r"dataset\[0\] has a function of torch.compile")})

    def test_the_precision_of_products(self):
        self.has("torch")  # apart from the others: it cannot be put back
        self.check(different=PRECISION)

    def test_views_of_one_memory(self):
        self.check(different=MEMORY, same=MEMORY_SAME)

    def test_tensors_of_one_memory(self):
        self.has("torch")
        self.check(different=TENSORS, same=TENSORS_SAME)

    def test_names_docstrings_and_annotations(self):
        self.check(different=NAMES, same=NAMES_SAME)

    def test_what_is_looked_at_warns_nobody(self):
        folder = pathlib.Path(self.enterFolder())
        (folder / "site-packages").mkdir()
        (folder / "site-packages" / "loud_library.py").write_text(LOUD)
        sys.path.append(str(folder / "site-packages"))
        self.addCleanup(sys.path.remove, sys.path[-1])
        import loud_library
        names = {"__name__": "data"}
        exec(LOUD, names)
        for name, dataset in (("a library's module", lambda i: loud_library.g()), ("a library's object", [object.__new__(loud_library.Loud)]),
                              ("the program's object", [names["old"]]), ("torch's modules", _of_distributed)):
            with self.subTest(name=name), warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                found = identify(dataset=dataset)
                self.assertIsNotNone(found.digest, found.reason)
                self.assertEqual([str(each.message) for each in shown], [])

    def test_only_this_thread_is_quiet_and_only_meanwhile(self):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            before = list(warnings.filters)
            with quiet():
                warnings.warn("here", stacklevel=1)
                other = threading.Thread(target=warnings.warn, args=("there",))
                other.start()
                other.join()
            self.assertEqual([str(each.message) for each in shown], ["there"])
            self.assertEqual(warnings.filters, before)
            with quiet():
                later = warnings.catch_warnings()
                later.__enter__()
            warnings.warn("after", stacklevel=1)
            later.__exit__(None, None, None)
            self.assertEqual(warnings.filters, before)
        self.assertEqual([str(each.message) for each in shown], ["there", "after"])

    def test_it_shows_no_warning_a_second_time(self):
        program = """
import warnings
from penstock._pydata.identity import identify
def f(): warnings.warn("once", UserWarning)
f(); identify(dataset=[1]); f()"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr.count("once"), 1, done.stderr)


def _of_distributed(i):
    import torch.distributed
    return torch.distributed.is_available()


if __name__ == "__main__":
    support.main()
