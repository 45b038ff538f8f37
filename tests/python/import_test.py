"""Tests that `import penstock` adds little to a process, and nothing that conflicts with other packages."""
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import unittest

import support

support.need("numpy")

# Matches symbols of gRPC, Protobuf or Abseil. Mangled names begin with the length of the namespace.
FOREIGN = re.compile(r"(4grpc|9grpc_core|4absl|6google8protobuf|^grpc_|^gpr_|^absl_|^upb_)")

FRAMEWORKS = ("torch", "jax", "cupy", "numpy", "tensorflow", "grpc")

FEED = """
import sys
folder, order = sys.argv[1], sys.argv[2].split(",")
def take(name):
    if name == "penstock":
        import penstock
        with penstock.Loader(folder, 10, transform=[penstock.RandomResizedCrop(32)], timeout=60) as loader:
            print(name, next(iter(loader))["image"].shape[0])
    elif name == "torch":
        import torch
        print(name, int(torch.arange(4).sum()))
        import penstock.torch, penstock
        with penstock.torch.DataLoader(folder, 10, transform=[penstock.RandomResizedCrop(32)], timeout=60) as loader:
            print("torch loader", next(iter(loader))["image"].shape[0])
    else:
        import grpc
        channel = grpc.insecure_channel("unix:/nowhere")
        try:
            grpc.channel_ready_future(channel).result(timeout=0.2)
        except grpc.FutureTimeoutError:
            print(name, "answered")
for name in order:
    take(name)
"""


def package():
    import penstock
    return pathlib.Path(penstock.__file__).parent


def libraries():
    """Returns the extension, the decoder's, and the client library that the loader finds for the first."""
    extension, decoder = (next(package().glob(f"{name}*.so")) for name in ("_penstock", "_decode"))
    listed = subprocess.run(["ldd", str(extension)], check=True, capture_output=True, text=True).stdout
    return [extension, decoder, pathlib.Path(re.search(r"libpenstock\.so\.1 => (\S+)", listed).group(1))]


def exported(library):
    """Returns the names of the symbols that a library exports."""
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    return [line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if line]


class SymbolsTest(unittest.TestCase):
    def test_no_library_of_ours_shows_what_belongs_to_grpc_protobuf_or_abseil(self):
        for library in libraries():
            with self.subTest(library.name):
                self.assertEqual([name for name in exported(library) if FOREIGN.search(name)], [])

    def test_the_extensions_show_their_initialisers_and_the_library_its_public_classes(self):
        extension, decoder, library = libraries()

        self.assertEqual(exported(extension), ["PyInit__penstock"])
        self.assertEqual(exported(decoder), ["PyInit__decode"])
        names = exported(library)
        self.assertTrue(any("Session" in name for name in names))
        self.assertEqual([name for name in names if "N8penstock6client" in name], [])

    def test_what_it_loads_stays_out_of_the_processs_names(self):
        said = support.script("import ctypes, penstock._penstock\n"
                              "everyone = ctypes.CDLL(None)\n"
                              "for name in ('grpc_init', 'CodeName', '_ZN8penstock8CodeNameENS_4CodeE'):\n"
                              "    print(name, hasattr(everyone, name))")

        self.assertEqual(re.findall(r"True", said), [], said)


class NeighboursTest(support.FeedTest):
    def test_it_feeds_whoever_was_imported_before_and_after(self):
        neighbours = [name for name in ("torch", "grpc") if self.has(name)]
        if not neighbours:
            self.skipTest("neither torch nor grpcio is installed")
        for neighbour in neighbours:
            for order in (["penstock", neighbour], [neighbour, "penstock"], ["penstock", neighbour, "penstock"]):
                with self.subTest(order):
                    said = support.script(FEED, self.photographs, ",".join(order), env=self.alone())

                    self.assertEqual(said.count("penstock 10"), order.count("penstock"), said)
                    self.assertIn("torch loader 10" if neighbour == "torch" else "grpc answered", said)

    def alone(self):
        """Returns an environment in which the script starts its own private daemon. The test's daemon would exit
        while a slow neighbour is imported."""
        environment = {name: value for name, value in os.environ.items() if name != "PENSTOCK_ADDRESS"}
        return {**environment, "XDG_RUNTIME_DIR": self.folder, "PENSTOCK_DAEMON": support.program("penstockd")}

    @staticmethod
    def has(module):
        return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


class CostTest(unittest.TestCase):
    def test_it_imports_no_framework(self):
        said = support.script("import sys; before = set(sys.modules); import penstock\n"
                              "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))")

        self.assertEqual(set(said.split()) & set(FRAMEWORKS), set())

    def test_importing_takes_less_than_50_milliseconds(self):
        def seconds(text):
            """Returns CPU time, so that other load does not count."""
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", text], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

        seconds("import penstock")  # warms the file cache, and compiles the bytecode
        pairs = [(seconds("pass"), seconds("import penstock")) for _ in range(11)]
        cost = statistics.median(imported - empty for empty, imported in pairs)

        print(f"import penstock: {1000 * cost:.1f} ms more than an empty interpreter's "
              f"{1000 * statistics.median(empty for empty, _ in pairs):.1f} ms")
        self.assertLess(cost, 0.050)


if __name__ == "__main__":
    support.main()
