"""Tests identities of Python's own objects: pairs that must differ, pairs that must not, and what nobody can see through."""
import os
import subprocess
import sys
import unittest

import identities
from slots import support

import penstock
from penstock._pydata.identity import walk
from penstock._pydata.identity import identify

# Each line of a pair differs in what the samples are.
DIFFERENT = {
    "a class of the same name": ["class D:\n def __getitem__(self, i): return i + 1\ndataset = D()",
                                 "class D:\n def __getitem__(self, i): return i + 2\ndataset = D()"],
    "an attribute": ["class D: pass\ndataset = D(); dataset.a = 1", "class D: pass\ndataset = D(); dataset.a = 2",
                     "class D: pass\ndataset = D(); dataset.b = 1"],
    "a type of number": ["dataset = [1]", "dataset = [1.0]", "dataset = [True]", "dataset = ['1']", "dataset = [b'1']"],
    "a zero's sign": ["dataset = 0.0", "dataset = -0.0"],
    "a constant's type": ["dataset = lambda i: 1", "dataset = lambda i: 1.0", "dataset = lambda i: True"],
    "nesting": ["dataset = [[1], 2]", "dataset = [[1, 2]]", "dataset = [[], 1, 2]", "dataset = ([1], 2)"],
    "the order of a dict": ["dataset = {'a': 1, 'b': 2}", "dataset = {'b': 2, 'a': 1}"],
    "a global": ["N = 1\ndef f(i): return i * N\ndataset = f", "N = 2\ndef f(i): return i * N\ndataset = f"],
    "a global that is missing": ["def f(i): return i * N\ndataset = f", "N = 2\ndef f(i): return i * N\ndataset = f"],
    "a global of a function that it calls": [
        "N = 1\ndef g(): return N\ndef f(i): return g()\ndataset = f", "N = 2\ndef g(): return N\ndef f(i): return g()\ndataset = f"],
    "a global that an inner function reads": [
        "N = 1\ndef f(i): return [N for _ in range(3)]\ndataset = f", "N = 2\ndef f(i): return [N for _ in range(3)]\ndataset = f"],
    "a global that hides a builtin": ["def f(i): return max(i)\ndataset = f", "max = min\ndef f(i): return max(i)\ndataset = f"],
    "a module's mutable": ["T = {'a': [1]}\ndef f(i): return T\ndataset = f", "T = {'a': [2]}\ndef f(i): return T\ndataset = f"],
    "a closure's cell": ["def m(n):\n return lambda i: n\ndataset = m(1)", "def m(n):\n return lambda i: n\ndataset = m(2)"],
    "an empty cell": ["def m():\n def f(): return n\n return f\n n = 1\ndataset = m()",
                      "def m():\n n = 1\n def f(): return n\n return f\ndataset = m()"],
    "a default": ["def f(i, n=1): return n\ndataset = f", "def f(i, n=2): return n\ndataset = f"],
    "a keyword's default": ["def f(i, *, n=1): return n\ndataset = f", "def f(i, *, n=2): return n\ndataset = f"],
    "a default that is mutable": ["def f(i, n=[1]): return n\ndataset = f", "def f(i, n=[2]): return n\ndataset = f"],
    "a function's attribute": ["def f(i): return f.n\nf.n = 1\ndataset = f", "def f(i): return f.n\nf.n = 2\ndataset = f"],
    "lambdas of one line": ["a, b = lambda i: i + 1, lambda i: i + 2\ndataset = a",
                            "a, b = lambda i: i + 1, lambda i: i + 2\ndataset = b"],
    "lambdas that call others": ["dataset = lambda i: abs(i)", "dataset = lambda i: len(i)"],
    "a partial": ["import functools\ndef f(a, b): return a\ndataset = functools.partial(f, 1)",
                  "import functools\ndef f(a, b): return a\ndataset = functools.partial(f, 2)",
                  "import functools\ndef f(a, b): return a\ndataset = functools.partial(f, b=1)",
                  "import functools\ndef f(a, b): return b\ndataset = functools.partial(f, 1)"],
    "a method's object": ["class D:\n def __init__(s, n): s.n = n\n def f(s, i): return s.n\ndataset = D(1).f",
                          "class D:\n def __init__(s, n): s.n = n\n def f(s, i): return s.n\ndataset = D(2).f"],
    "a method put into the class": [
        "class D:\n def f(s): return 1\ndataset = D()", "class D:\n def f(s): return 1\nD.f = lambda s: 1 + 1\ndataset = D()"],
    "a method put into the object": [
        "class D:\n def f(s): return 1\ndataset = D()", "class D:\n def f(s): return 1\ndataset = D()\ndataset.f = lambda: 2"],
    "a method of a base": ["class B:\n def f(s): return 1\nclass D(B): pass\ndataset = D()",
                           "class B:\n def f(s): return 2\nclass D(B): pass\ndataset = D()"],
    "the order of bases": [f"class A:\n f = 1\nclass B:\n f = 2\nclass D({bases}): pass\ndataset = D()" for bases in ("A, B", "B, A")],
    "a metaclass": ["class M(type):\n def __call__(c): return type.__call__(c)\nclass D(metaclass=M): pass\ndataset = D",
                    "class M(type):\n def __call__(c): return 5\nclass D(metaclass=M): pass\ndataset = D"],
    "an attribute of the class": ["class D: n = 1\ndataset = D()", "class D: n = 2\ndataset = D()"],
    "a property": ["class D:\n n = property(lambda s: 1)\ndataset = D()", "class D:\n n = property(lambda s: 2)\ndataset = D()"],
    "a static method": ["class D:\n @staticmethod\n def n(): return 1\ndataset = D()",
                        "class D:\n @staticmethod\n def n(): return 2\ndataset = D()",
                        "class D:\n @classmethod\n def n(c): return 1\ndataset = D()"],
    "a cached property's function": [
        "import functools\nclass D:\n @functools.cached_property\n def n(s): return 1\ndataset = D()",
        "import functools\nclass D:\n @functools.cached_property\n def n(s): return 2\ndataset = D()"],
    "slots": ["class D: __slots__ = ('a', 'b')\ndataset = D(); dataset.a = 1", "class D: __slots__ = ('a', 'b')\ndataset = D(); dataset.a = 2",
              "class D: __slots__ = ('a', 'b')\ndataset = D(); dataset.b = 1", "class D: __slots__ = ('a', 'b')\ndataset = D()"],
    "a slot of a base": [f"class B: __slots__ = ('a',)\nclass D(B): __slots__ = ()\ndataset = D(); dataset.a = {n}" for n in (1, 2)],
    "a slot with a private name": [f"class D:\n __slots__ = ('__a',)\n def __init__(s): s.__a = {n}\ndataset = D()" for n in (1, 2)],
    "an enum": [f"import enum\nclass E(enum.Enum):\n A = 1\n B = 2\ndataset = E.{member}" for member in "AB"] +
               ["import enum\nclass E(enum.Enum):\n A = 3\n B = 2\ndataset = E.A"],
    "a flag": [f"import enum\nclass E(enum.Flag):\n A = 1\n B = 2\ndataset = {member}" for member in ("E.A", "E.A | E.B")],
    "a dataclass": [f"import dataclasses\n@dataclasses.dataclass\nclass D:\n a: int = {n}\ndataset = {made}"
                    for n, made in ((1, "D()"), (2, "D()"), (1, "D(3)"))],
    "a named tuple": [f"import collections\nT = collections.namedtuple('T', '{names}')\ndataset = T(1, 2)" for names in ("a b", "b a")],
    "a subclass of dict": [f"class D(dict):\n pass\ndataset = D(a={n})\ndataset.x = {m}" for n, m in ((1, 1), (2, 1), (1, 2))],
    "a subclass of list, int, str": [f"class D({base}): pass\ndataset = D({value})" for base, value in
                                     (("list", "[1]"), ("list", "[2]"), ("int", 1), ("int", 2), ("str", "'a'"), ("str", "'b'"))],
    "a default factory": [f"import collections\ndataset = collections.defaultdict({kind})" for kind in ("list", "int", "lambda: 3")],
    "an order and a length": [f"import collections\ndataset = collections.{made}" for made in
                              ("OrderedDict(a=1, b=2)", "OrderedDict(b=2, a=1)", "deque([1])", "deque([2])", "deque([1], 3)",
                               "Counter('aab')", "Counter('abb')")],
    "a set's elements": ["dataset = {'a', 'b'}", "dataset = {'a', 'c'}", "dataset = frozenset(['a', 'b'])"],
    "an enum's value that has no hash": [f"import enum\nclass E(enum.Enum):\n A = [{n}]\ndataset = E.A" for n in (1, 2)],
    "an enum's own attribute": [f"import enum\nclass E(enum.Enum):\n A = 1\nE.A.extra = {n}\ndataset = E.A" for n in (1, 2)],
    "an order within a subclass of OrderedDict": [
        f"import collections\nclass D(collections.OrderedDict): pass\ndataset = D(a=1, b=2)\n{move}" for move in
        ("", "dataset.move_to_end('a')")],
    "a number that hides": ["class D(int):\n __int__ = __index__ = lambda s: 0\ndataset = D(1)",
                            "class D(int):\n __int__ = __index__ = lambda s: 0\ndataset = D(2)"],
    "a logger of the program's own class": [
        f"import logging\nclass L(logging.Logger): pass\ndataset = L('a')\ndataset.n = {n}" for n in (1, 2)],
    "what a library's function does without arguments": [
        f"import textwrap\nold = textwrap.indent.__defaults__\ntextwrap.indent.__defaults__ = ({n},)\n"
        "def undo(): textwrap.indent.__defaults__ = old\ndef f(i): return textwrap.indent(i, '')\ndataset = f" for n in (1, 2)],
    "one of many": ["dataset = [(str(n), n) for n in range(10_000)]", "dataset = [(str(n), n + (n == 5000)) for n in range(10_000)]",
                    "dataset = [(str(n), n + 0.0) for n in range(10_000)]", "dataset = [[str(n), n] for n in range(10_000)]",
                    "dataset = {str(n): n for n in range(10_000)}", "dataset = {str(n): n for n in reversed(range(10_000))}",
                    "dataset = tuple((str(n), n) for n in range(10_000))", "dataset = list(range(10_000))",
                    "dataset = list(range(1, 10_001))", "dataset = [n > 5 for n in range(10_000)]", "dataset = [b'a'] * 10_000", "dataset = [...] * 10_000", "dataset = [NotImplemented] * 10_000"],
    "a large set": ["dataset = {str(n) for n in range(1000)}", "dataset = {str(n) for n in range(1, 1001)}",
                    "dataset = set(range(1000))", "dataset = {float(n) for n in range(1000)}", "dataset = frozenset(range(1000))"],
    "objects of which some say what is in them": [
        "class S:\n def __init__(s, n): s.n, s.f = n, open('/dev/null')\n def __getstate__(s): return {'n': s.n}\n"
        f"a = S({n})\ndataset = [[a], S(2), a, {{1, (3, 'x')}}, [a]]" for n in (1, 2)],
    "recursion": ["a = [1]; a.append(a); dataset = a", "a = [1]; a.append([1, a]); dataset = a"],
    "one object or two": ["a = [1]; dataset = [a, a]", "dataset = [[1], [1]]"],
    "a builtin": ["dataset = len", "dataset = abs", "dataset = [].append", "dataset = [1].append", "dataset = str.upper",
                  "dataset = str.lower", "dataset = 'a'.join", "dataset = 'b'.join"],
    "an operator": [f"import operator\ndataset = operator.{made}" for made in
                    ("itemgetter(1)", "itemgetter(2)", "attrgetter('a')", "attrgetter('b')", "methodcaller('a')", "add", "sub")],
    "dates, paths, patterns": [f"import datetime, pathlib, re, decimal, fractions\ndataset = {made}" for made in
                               ("datetime.date(2020, 1, 1)", "datetime.date(2020, 1, 2)", "pathlib.Path('a')", "pathlib.Path('b')",
                                "re.compile('a')", "re.compile('a', re.I)", "decimal.Decimal('1.0')", "decimal.Decimal('1.00')",
                                "fractions.Fraction(1, 3)", "fractions.Fraction(2, 3)")],
    "ranges and slices": ["dataset = range(5)", "dataset = range(6)", "dataset = slice(5)", "dataset = slice(6)",
                          "dataset = bytearray(b'a')", "dataset = memoryview(b'a')", "dataset = memoryview(b'b')"],
    "code of a file without a name": [
        f"exec(compile('def f(i): return {n}', '', 'exec'))\ndataset = f" for n in (1, 2)],
    "a generator's state": [f"import random\ndataset = random.Random({n})" for n in (1, 2)],
    "a decorated function": [
        f"import functools\ndef twice(f):\n @functools.wraps(f)\n def g(i): return f(i) * {n}\n return g\n@twice\ndef f(i): return {m}\n"
        "dataset = f" for n, m in ((2, 1), (3, 1), (2, 2))],
    "a cached function": [f"import functools\n@functools.lru_cache(None)\ndef f(i): return {n}\ndataset = f" for n in (1, 2)],
    "a function of a library that was replaced": [
        "import textwrap\ndef f(i): return textwrap.dedent(i)\ndataset = f",
        "import textwrap\nold = textwrap.dedent\ntextwrap.dedent = lambda t: t\ndef undo(): textwrap.dedent = old\n"
        "def f(i): return textwrap.dedent(i)\ndataset = f"],
    "a method of a library's class that was replaced": [
        "import textwrap\ndataset = textwrap.TextWrapper()",
        "import textwrap\nold = textwrap.TextWrapper.wrap\ntextwrap.TextWrapper.wrap = lambda s, t: [t]\n"
        "def undo(): textwrap.TextWrapper.wrap = old\ndataset = textwrap.TextWrapper()"],
    "a setting of a library": [
        f"import decimal\nmodule = decimal\ndef f(i): return decimal.MAX_PREC\nold = decimal.MAX_PREC\ndecimal.MAX_PREC = {n}\n"
        "def undo(): decimal.MAX_PREC = old\ndataset = f" for n in (7, 8)],
    "a variable of the environment": [
        f"import os\nos.environ['MY_DATA'] = '{n}'\ndef undo(): del os.environ['MY_DATA']\ndef f(i): return os.{how}\ndataset = f"
        for n in (1, 2) for how in ("environ['MY_DATA']", "getenv('MY_DATA')")],
    "a path of this file": ["dataset = lambda: __file__", "dataset = lambda: __file__ "],
}

# Nothing that makes samples differs.
SAME = {
    "comments, blank lines and places": ["def f(i): return i\ndataset = f", "# a comment\n\n\n\ndef f(i): return i\ndataset = f"],
    "other code of the file": ["def f(i): return i\ndataset = f", "def f(i): return i\ndef g(i): return 5\ndataset = f"],
    "a set's history": ["dataset = {'a', 'b', 'c'}", "dataset = set(); dataset.update('cba')"],
    "a constant that the compiler shares": ["dataset = [(1, 2), (1, 2)]", "a = (1, 2); dataset = [a, tuple([1, 2])]"],
    "a large set's history": ["dataset = {str(n) for n in range(1000)} | {1, 2.5, None}",
                              "dataset = {None, 2.5, 1} | {str(n) for n in reversed(range(1000))}"],
    "type variables": ["import typing\nT = typing.TypeVar('T')\nclass D(typing.Generic[T]):\n def f(s, i): return typing.cast(T, i)\ndataset = D()",
                       "import typing\nT = typing.TypeVar('T', bound=int)\nclass D(typing.Generic[T]):\n def f(s, i): return typing.cast(T, i)\n"
                       "dataset = D[int]()\ndel dataset.__orig_class__"],
    "many texts": ["dataset = [('x', n) for n in range(1000)]", "dataset = [(''.join(['x']), int(str(n))) for n in range(1000)]"],
    "texts of the same letters": ["dataset = ['ab', 'ab']", "dataset = ['ab', ''.join(['a', 'b'])]"],
    "what a loop left behind": ["class D: pass\ndataset = D(); dataset.a = [1]", "class D: pass\nfor _ in range(9): dataset = D()\ndataset.a = [1]"],
    "locks": ["import threading\nclass D: pass\ndataset = D(); dataset.l = threading.Lock(); dataset.r = threading.RLock()",
              "import threading\nclass D: pass\ndataset = D(); dataset.l = threading.Lock(); dataset.r = threading.RLock(); dataset.l.acquire()"],
    "loggers": ["import logging\nlog = logging.getLogger('x')\ndef f(i): log.info('x')\ndataset = f",
                "import logging, sys\nlog = logging.getLogger('x'); log.addHandler(logging.StreamHandler(sys.stderr))\n"
                "def undo(): log.handlers.clear()\ndef f(i): log.info('x')\ndataset = f"],
    "unrelated environment": ["dataset = [1]", "import os\nos.environ['UNRELATED'] = '5'\ndef undo(): del os.environ['UNRELATED']\ndataset = [1]"],
    "ranks": [f"import os\nos.environ['LOCAL_RANK'] = '{n}'\ndef undo(): del os.environ['LOCAL_RANK']\ndef f(i): return os.environ\ndataset = f" for n in (0, 1)],
    "the global generators": ["import random\nrandom.seed(1)\ndef f(i): return random.random()\ndataset = f",
                              "import random\nrandom.seed(2)\ndef f(i): return random.random()\ndataset = f"],
}

# Using it must change nothing.
USED = {
    "a hot function": ["def f(i):\n s = 0\n for n in range(i): s += n * N\n return s\nN = 3\ndataset = f\ndef use():\n for _ in range(5000): f(3)"],
    "an attribute that is read often": ["class D:\n a = 1\n def f(s): return s.a\ndataset = D()\ndef use():\n for _ in range(5000): dataset.f()"],
    "lru_cache that has stored already": [
        "import functools\n@functools.lru_cache(None)\ndef f(i): return i\ndataset = f\nf(1); f(2)\ndef use(): f(2); f(1)"],
    "lru_cache of a method": ["import functools\nclass D:\n @functools.lru_cache(9)\n def f(s, i): return i\ndataset = D()\n"
                              "for n in range(20): dataset.f(n)\ndef use(): dataset.f(15); dataset.f(12)"],
    "cached_property": ["import functools\nclass D:\n @functools.cached_property\n def n(s): return [1]\ndataset = D()\ndef use(): dataset.n"],
    "a path's own caches": ["import pathlib\ndataset = pathlib.Path('/a/b.c')\ndef use(): str(dataset), hash(dataset), dataset.parts, dataset.suffix"],
    "a pattern": ["import re\ndataset = re.compile('a+')\ndef use(): dataset.match('aaa')"],
    "an abstract class's cache": ["import abc\nclass D(abc.ABC): pass\ndataset = D()\ndef use(): isinstance(5, D), isinstance(dataset, D)"],
    "singledispatch": ["import functools\n@functools.singledispatch\ndef f(i): return 0\n@f.register(int)\ndef _(i): return 1\ndataset = f\n"
                       "def use(): f(1), f('')"],
    "pickling": ["import pickle\nclass D:\n __slots__ = ('a',)\ndataset = D()\ndataset.a = 1\ndef use(): pickle.dumps(dataset, 4)"],
    "an enum's lookups": ["import enum\nclass E(enum.Enum):\n A = 1\ndataset = E\ndef use(): E(1), E['A'], list(E), hash(E.A)"],
    "a dataclass": ["import dataclasses\n@dataclasses.dataclass\nclass D:\n a: int = 1\n b: list = dataclasses.field(default_factory=list)\n"
                    "dataset = D()\ndef use(): repr(dataset), dataset == D(), dataclasses.asdict(dataset)"],
    "rng": ["from penstock._pydata import seeding\nfrom penstock._pydata.seeding import rng\nclass D:\n"
            " def __getitem__(s, i): return seeding.rng().random(), rng()\n"
            "dataset = D()\ndef use(): dataset[0]"],
    "weak caches": ["import weakref\nclass D: pass\ndataset = D()\ndataset.c = weakref.WeakValueDictionary()\ndef use(): dataset.c['a'] = D"],
}

OPAQUE = {
    "an open file": ("dataset = [1, open('/dev/null')]", r"dataset\[1\] has an open file .*key="),
    "a generator": ("class D: pass\ndataset = D()\ndataset.g = (i for i in [1])", r"dataset\.g has a generator"),
    "a socket": ("import socket\ndataset = {'s': socket.socket()}", r"dataset\['s'\] has an object of socket\.socket"),
    "a connection": ("import sqlite3\ndataset = [sqlite3.connect(':memory:')]", "sqlite3.Connection"),
    "a mapping": ("import mmap\ndataset = [mmap.mmap(-1, 10)]", "mmap.mmap"),
    "threading.local": ("import threading\ndataset = threading.local()", "threading.local"),
    "a shared number": ("import multiprocessing\ndataset = [multiprocessing.Value('i')]", "dataset"),
    "a global that is a file": ("F = open('/dev/null')\ndef f(i): return F.read()\ndataset = f", "reads F, which has an open file"),
    "a cell that is a file": ("def m(f):\n return lambda i: f.read()\ndataset = m(open('/dev/null'))", "reads f, which has an open file"),
    "a subclass of something in C": ("import sqlite3\nclass D(sqlite3.Connection): pass\ndataset = D(':memory:')", "data.D"),
    "an attribute that raises": ("class D:\n @property\n def __class__(s): raise ValueError('no')\ndataset = D()", "cannot be compared .*no"),
    "a long chain": ("dataset = []\nfor _ in range(10000): dataset = [dataset]", "nested"),
    "an import that comes late": ("import sys, os\nsys.path.insert(0, os.path.dirname(__file__))\nopen(os.path.join(os.path.dirname("
                                  "__file__), 'later_on.py'), 'w').write('N = 1')\ndef undo(): sys.path.pop(0)\n"
                                  "def f(i):\n import later_on\n return later_on.N\ndataset = f", "imports later_on only when it runs"),
}

# An object that cannot be seen through, and says itself what is in it.
STATED = """
class D:
    def __init__(self, n): self.n, self.f = n, open('/dev/null')
    def __getstate__(self): return {'n': self.n}
dataset = D(%d)
"""


SCRIPT = """
import argparse, collections, functools, logging, os, random, sys
from penstock._pydata.identity import identify
log = logging.getLogger(__name__)
Sample = collections.namedtuple("Sample", "number text")
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int)
args = parser.parse_args()

class Rows:
    def __init__(self, root):
        self.root, self.names = root, sorted(os.listdir(root))
        self.kinds = {name.split(".")[-1] for name in self.names}
    @functools.lru_cache(maxsize=None)
    def load(self, index):
        with open(os.path.join(self.root, self.names[index])) as file:
            return file.read()
    def __len__(self):
        return len(self.names)
    def __getitem__(self, index):
        log.info("sample %d", index)
        return Sample(index + random.random(), self.load(index)[:args.size])

def collate(rows, pad=0):
    print(len(rows), file=sys.stderr)
    return [row.number for row in rows] + [pad] * args.size

if __name__ == "__main__":
    rows = Rows(os.path.dirname(os.path.abspath(__file__)))
    collate([rows[0]])
    for _ in range(3):
        found = identify(dataset=rows, collate_fn=functools.partial(collate, pad=1), worker_init_fn=lambda worker: None)
        collate([rows[0]])
        print(found.digest or sys.exit(found.reason))
"""


class IdentityTest(identities.Cases, unittest.TestCase):
    def test_what_makes_other_samples_is_different(self):
        self.check(different=DIFFERENT)

    def test_what_makes_the_same_samples_is_the_same(self):
        self.check(same=SAME)

    def test_use_changes_nothing(self):
        self.check(same=USED)

    def test_what_cannot_be_seen_through_is_said(self):
        self.check(opaque=OPAQUE)

    def test_an_object_of_the_program_may_say_what_is_in_it(self):
        self.check(different={"stated": [STATED % 1, STATED % 2]})

    def test_a_key_stands_for_everything(self):
        one, two = identify(key="mine", dataset=open(os.devnull)), identify(key="mine", dataset=2)

        self.assertEqual(one, two)
        self.assertNotEqual(one, identify(key="yours", dataset=2))
        self.assertNotEqual(one.digest, identify(dataset="mine").digest)
        for key in ("", 5, "x" * 2000):
            with self.assertRaisesRegex(penstock.InvalidArgument, "key is"):
                identify(key=key)

    def test_the_parts_names_count(self):
        self.assertNotEqual(identify(dataset=1, transform=None), identify(dataset=None, transform=1))
        self.assertNotEqual(identify(dataset=1), identify(dataset=1, transform=None))

    def test_limits_are_said(self):
        for name, value, words in (("MAX_OBJECTS", 10, "more than 10 objects"), ("MAX_BYTES", 500, "more than 500 bytes")):
            self.addCleanup(setattr, walk, name, getattr(walk, name))
            setattr(walk, name, value)
            made = [[n] for n in range(20)] if name == "MAX_OBJECTS" else "x" * 1000
            with self.subTest(name=name):
                self.assertRegex(identify(dataset=made).reason, words)
            setattr(walk, name, 2**40)


class SurroundingsTest(identities.Cases, unittest.TestCase):
    def digest(self, cwd="/", **environment):
        folder = self.enterFolder()
        path = os.path.join(folder, "data.py")
        with open(path, "w") as file:
            file.write("dataset = [1]")
        return identities.look([("x", path)], cwd, **environment)["x"][0][0]

    def test_what_surrounds_the_code_counts(self):
        usual = self.digest()
        self.assertEqual(self.digest(), usual)
        self.assertEqual(self.digest(OMP_NUM_THREADS="3", RANK="1", UNRELATED="x"), usual)
        changed = [self.digest(cwd="/tmp"), self.digest(PYTHONHASHSEED="5"), self.digest(TZ="Asia/Tokyo"), self.digest(LC_ALL="C.UTF-8"),
                   self.digest(PYTHONOPTIMIZE="1"), self.digest(PYTHONPATH=os.environ.get("PYTHONPATH", "") + ":/nowhere"),
                   self.digest(HOME="/nowhere")]
        self.assertEqual(len({usual, *changed}), 8)

    def test_a_module_of_the_program_is_its_file_and_what_is_read_of_it(self):
        def digest(text, tail="", code="return helper.g(i), helper.N"):
            folder = self.enterFolder()
            with open(os.path.join(folder, "helper.py"), "w") as file:
                file.write(text)
            path = os.path.join(folder, "data.py")
            with open(path, "w") as file:
                file.write(f"import sys\nsys.path.insert(0, {folder!r})\nimport helper\nsys.path.pop(0)\n{tail}\n"
                           f"def f(i):\n {code}\ndataset = f")
            return identities.look([("x", path)], "/")["x"][0][0]

        usual = digest("N = 1\ndef g(i): return i")
        self.assertEqual(digest("N = 1\ndef g(i): return i"), usual)
        self.assertEqual(len({usual, digest("N = 2\ndef g(i): return i"), digest("N = 1\ndef g(i): return -i"),
                              digest("N = 1\ndef g(i): return i", "helper.N = 2"),
                              digest("N = 1\ndef g(i): return i", "helper.g = abs")}), 5)
        for code in ("m = helper\n return m.N", "return getattr(helper, 'N')", "import helper as h\n return h.N",
                     "from helper import N\n return N", "return vars(helper)['N']"):
            with self.subTest(code=code):
                self.assertNotEqual(digest("N = 1", "", code), digest("N = 1", "helper.N = 2", code))

    def test_an_installed_package_of_the_programs_own(self):
        folder = self.enterFolder()
        package = os.path.join(folder, "site-packages", "mine")
        os.makedirs(package)
        for name, text in (("__init__", ""), ("config", "SIZE = 1\nTABLE = {'a': 1}\n"),
                           ("data", "from . import config\nclass D:\n def __getitem__(s, i): return config.SIZE, config.TABLE\n")):
            with open(os.path.join(package, name + ".py"), "w") as file:
                file.write(text)

        def digest(line=""):
            path = os.path.join(folder, "data.py")
            with open(path, "w") as file:
                file.write(f"import sys\nsys.path.append({os.path.dirname(package)!r})\nimport mine.data, mine.config\n{line}\n"
                           "dataset = mine.data.D()")
            return identities.look([("x", path)], "/")["x"][0][0]

        usual = digest()
        self.assertEqual(digest("mine.config.SIZE = 1"), usual)
        found = [digest(f"mine.config.{line}") for line in ("SIZE = 2", "TABLE['a'] = 2")]
        self.assertEqual(len({None, usual, *found}), 4)
        with open(os.path.join(package, "data.py"), "a") as file:
            file.write("# edited\n")
        self.assertNotEqual(digest(), usual)

    def test_a_script(self):
        """As people write them: everything in __main__, with a parser's arguments and a logger."""
        path = os.path.join(self.enterFolder(), "train.py")
        with open(path, "w") as file:
            file.write(SCRIPT)

        def digests(*arguments, **environment):
            done = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, cwd="/",
                                  env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.split()

        usual = digests("--size", "8", RANK="0")
        self.assertEqual(digests("--size", "8", RANK="1"), usual)
        self.assertEqual((len(usual), len(set(usual))), (3, 1))
        self.assertNotEqual(digests("--size", "9", RANK="0"), usual)


if __name__ == "__main__":
    support.main()
