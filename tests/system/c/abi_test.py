"""abi_test.py SOURCE LIBRARY: checks what programs in C were compiled against: abi.c, and the exported names."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY = map(pathlib.Path, sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = SOURCE / "client/include"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def compiled(*command):
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class AbiTest(unittest.TestCase):
    def test_sizes_offsets_numbers_and_signatures_stay(self):
        self.assertTrue(COMPILERS)
        for compiler in COMPILERS:
            with self.subTest(compiler), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "abi"
                self.assertEqual(compiled(compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE,
                                          HERE / "abi.c", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-o", program),
                                 (0, ""))
                self.assertEqual(compiled(program), (0, ""))

    def test_every_member_of_every_struct_is_pinned(self):
        text = re.sub(r"//.*", "", (INCLUDE / "penstock/c_types.h").read_text())
        pinned = (HERE / "abi.c").read_text()
        structs = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S)

        self.assertGreater(len(structs), 12)
        for name, body in structs:
            self.assertIn(f"SIZE({name}, ", pinned)
            for member in re.findall(r"(?:\(\*)?(\w+)\)?(?:\[\w+\]|\(void\* \w+\))?(?=[;,])", body):
                self.assertIn(f"AT({name}, {member}, ", pinned)

    def test_the_header_is_also_for_old_cpp(self):
        code, said = compiled("g++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I",
                              INCLUDE, "-x", "c++", "-include", "penstock/c.h", "/dev/null")

        self.assertEqual((code, said), (0, ""))

    def test_the_library_exports_these_names_under_their_version(self):
        said = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
        c_names = sorted(" ".join(found) for found in re.findall(r" [TDBR] (penstock_\w+)@@(\w+)$", said, re.M))
        cpp_versions = set(re.findall(r" [TVWDBR] _Z\w+@@?(\w+)$", said, re.M))

        self.assertEqual(c_names, (HERE / "exported.txt").read_text().splitlines())
        self.assertEqual(cpp_versions, {"PENSTOCK_1"})
        self.assertFalse(re.findall(r" [TDBRVW] \w+$", said, re.M), "names without a version")

    def test_the_header_declares_what_is_exported(self):
        declared = re.findall(r"PENSTOCK_EXPORT [\w* ]+?(penstock_\w+)\(", (INCLUDE / "penstock/c.h").read_text())
        exported = [line.split()[0] for line in (HERE / "exported.txt").read_text().splitlines()]

        self.assertEqual(sorted(declared), exported)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
