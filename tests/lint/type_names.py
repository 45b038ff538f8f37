#!/usr/bin/env python3
"""Finds names that several C++ types of server/ and common/ share.

  type_names.py ROOT              checks the tree
  type_names.py --self-test       checks this program
  type_names.py --all FOLDER...   lists every shared name in these folders, nested types included

A reader who sees `Session` should know which type it is. So a type declared in a namespace must have a unique
name: no other namespace may declare it, and no class may have a nested type of that name. Nested types may share a
name (`Pool::Options`, `Gpu::Options`), because their class distinguishes them. The names in ALONE are an
exception, because many types once shared them. Types in anonymous namespaces are not checked.
"""
import collections
import pathlib
import re
import sys

# Names that at most one type may have, nested or not.
ALONE = {"Arena", "Field", "Place", "Progress", "Range", "Room", "Session", "Stall", "Verdict"}

# Maps a name to the reason why several types have it.
SHARED = {}

TYPE = re.compile(r"(?:^|[\s>;])(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:(?:\w+\([^()]*\)|\[\[[^\]]*\]\])\s*)*([\w:]+)\s*(?:final\s*)?"
                  r"(?::(?!:)[^()]*)?$", re.S)
NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*$")


def without_text(source):
    """Returns the source without comments, strings, characters and preprocessor lines."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.S)
    source = re.sub(r'R"(\w*)\(.*?\)\1"', '""', source, flags=re.S)
    source = re.sub(r'"(\\.|[^"\\\n])*"', '""', source)
    source = re.sub(r"(?<![0-9A-Fa-f])'(\\.|[^'\\\n])+'", "0", source)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", source, flags=re.M)


def types(source):
    """Yields (namespace, enclosing classes, name) of each type that the source defines outside functions and
    anonymous namespaces."""
    blocks, begin, text = [], 0, without_text(source)
    for match in re.finditer(r"[{};]", text):
        head, begin = text[begin:match.start()].strip(), match.end()
        if match.group() == "}" and blocks:
            blocks.pop()
        if match.group() != "{":
            continue
        if found := NAMESPACE.search(head):
            blocks.append(("namespace", found.group(1) or ""))
        elif found := TYPE.search(head):
            kinds = [kind for kind, _ in blocks]
            if "block" not in kinds and ("namespace", "") not in blocks:
                *outer, name = found.group(1).split("::")
                around = [each for kind, each in blocks if kind == "class"] + outer
                yield "::".join(each for kind, each in blocks if kind == "namespace"), around, name
            blocks.append(("class", found.group(1)))
        else:
            blocks.append(("block", ""))


def declared(root, folders):
    """Returns {name: {qualified name: [files]}}, and the qualified names declared in a namespace."""
    by_name, top = collections.defaultdict(lambda: collections.defaultdict(list)), set()
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu"):
                continue
            for namespace, around, name in types(path.read_text(encoding="utf-8")):
                full = "::".join([namespace, *around, name])
                by_name[name][full].append(str(path.relative_to(root)))
                if not around:
                    top.add(full)
    return by_name, top


def shared(root, folders=("server", "common")):
    """Yields a description of each problem."""
    by_name, top = declared(pathlib.Path(root), folders)
    for name, found in sorted(by_name.items()):
        if len(found) < 2 or name in SHARED or not (name in ALONE or top & found.keys()):
            continue
        where = ", ".join(f"{full} ({files[0]})" for full, files in sorted(found.items()))
        yield f"several types are called {name}: {where}; rename all but one"
    for name in sorted(SHARED):
        if len(by_name[name]) < 2:
            yield f"type_names.py allows several types called {name}, and there are none; remove it"


def self_test():
    source = """
      #define BLOCK struct InMacro {
      namespace penstock::a {  // struct InComment {
      namespace { struct Hidden {}; }
      template <typename T> class alignas(64) Box final : public Base<T> {
        enum class State : int { kA };
        struct Inner { int x = 0; };
        void Run() { struct Local {}; auto text = "struct InText {"; }
      };
      struct Box2::Impl { int y{0}; };
      class Forward;
      }
    """
    found = [("::".join([*around, name])) for _, around, name in types(source)]
    assert found == ["Box", "Box::State", "Box::Inner", "Box2::Impl"], found
    assert {namespace for namespace, _, _ in types(source)} == {"penstock::a"}

    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "server").mkdir()
        (root / "common").mkdir()

        def says(server, common):
            (root / "server/a.h").write_text(server)
            (root / "common/b.h").write_text(common)
            return list(shared(root))

        assert says("namespace a { struct X {}; }", "namespace b { struct Y {}; }") == []
        assert len(says("namespace a { struct X {}; }", "namespace b { struct X {}; }")) == 1
        assert len(says("namespace a { struct X {}; }", "namespace b { struct C { enum X {}; }; }")) == 1
        assert says("namespace a { struct A { struct X {}; }; }",
                    "namespace b { struct B { struct X {}; }; }") == []
        assert len(says("namespace a { struct A { struct Room {}; }; }",
                        "namespace b { struct B { struct Room {}; }; }")) == 1
        assert says("namespace a { struct X {}; }", "namespace b { namespace { struct X {}; } }") == []


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    if sys.argv[1] == "--all":
        by_name, _ = declared(pathlib.Path("."), sys.argv[2:])
        for name, found in sorted(by_name.items()):
            if len(found) > 1:
                print(f"{name} ×{len(found)}: " + ", ".join(sorted(found)))
        return None
    wrong = list(shared(sys.argv[1]))
    print("\n".join(wrong) or "each type has a name of its own")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
