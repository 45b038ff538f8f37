"""Shared by the tests of identity: loads modules in fresh interpreters and compares the identities of their datasets.

A case is the source of a module that defines `dataset`, and maybe `use()`, which is called between two looks. All cases are
loaded under one module name, so that nothing but their content tells them apart. Two interpreters with different hash
seeds look at all of them, in opposite orders; whatever they disagree about is unstable.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import slots  # noqa: F401  puts tests/python into the path

LOOK = """
import importlib.util, json, sys
from penstock._pydata.identity import identify
found = {}
for name, path in json.load(sys.stdin):
    spec = importlib.util.spec_from_file_location("data", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["data"] = module
    spec.loader.exec_module(module)
    looks = [identify(dataset=module.dataset)]
    if hasattr(module, "use"):
        module.use()
        looks.append(identify(dataset=module.dataset))
    if hasattr(module, "undo"):
        module.undo()
    found[name] = looks
json.dump(found, sys.stdout)
"""


def look(paths, cwd, **environment):
    """{name: [[digest, reason], ...]} from a fresh interpreter."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOOK], input=json.dumps(paths), capture_output=True, text=True,
                          cwd=cwd, env={**os.environ, **environment}, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Cases:
    """Adds tests to a class: `same` and `different` are {name: [source, ...]}, `opaque` is {name: (source, words)}."""

    def check(self, same=None, different=None, opaque=None, setup=""):
        folder = pathlib.Path(self.enterFolder())
        paths = []
        for kind, cases in (("same", same), ("different", different), ("opaque", opaque)):
            for name, sources in (cases or {}).items():
                for place, source in enumerate(sources[:1] if kind == "opaque" else sources):
                    where = folder / f"{kind}-{len(paths)}"
                    where.mkdir()
                    (where / "data.py").write_text(textwrap.dedent(setup) + textwrap.dedent(source))
                    paths.append((f"{kind}/{name}/{place}", str(where / "data.py")))
        one, two = look(paths, folder), look(paths[::-1], folder)
        for name, looks in one.items():
            with self.subTest(name=name, what="stable"):
                self.assertEqual([each[0] for each in looks], [each[0] for each in two[name]], f"{name}: {looks} {two[name]}")
                self.assertEqual(len({each[0] for each in looks}), 1, f"{name} changed by use: {looks}")
        digest = {name: looks[0] for name, looks in one.items()}
        for name, sources in (same or {}).items():
            with self.subTest(name=name, what="same"):
                found = [digest[f"same/{name}/{place}"] for place in range(len(sources))]
                self.assertIsNotNone(found[0][0], found)
                self.assertEqual(len({each[0] for each in found}), 1, found)
        for name, sources in (different or {}).items():
            with self.subTest(name=name, what="different"):
                found = [digest[f"different/{name}/{place}"] for place in range(len(sources))]
                self.assertNotIn(None, [each[0] for each in found], found)
                self.assertEqual(len({each[0] for each in found}), len(sources), found)
        for name, (_, words) in (opaque or {}).items():
            with self.subTest(name=name, what="opaque"):
                found, reason = digest[f"opaque/{name}/0"]
                self.assertIsNone(found)
                self.assertRegex(reason, words)

    def enterFolder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name
