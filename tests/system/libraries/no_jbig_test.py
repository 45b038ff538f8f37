"""Tests libtiff and the decoder with our libjbig: no_jbig_test.py LIBJBIG DECODE_ROWS. Skipped without Pillow."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import carried

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "system"), str(TESTS / "support/files")]
import pillow_exact_test as exact  # noqa: E402

DECODE_ROWS = sys.argv.pop()
LIBJBIG = pathlib.Path(sys.argv.pop())
SIZE = 64, 48
LIBTIFF = "libtiff.so.6"
JBIG = 34661

# Writes or reads one strip with libtiff: PROGRAM write|read PATH. Prints libtiff's return value and the bytes.
PROGRAM = f"""
import ctypes, sys
tiff, (width, height) = ctypes.CDLL("{LIBTIFF}"), {SIZE}
tiff.TIFFOpen.restype = ctypes.c_void_p
for name in ("TIFFWriteEncodedStrip", "TIFFReadEncodedStrip"):
    getattr(tiff, name).restype = ctypes.c_ssize_t
    getattr(tiff, name).argtypes = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_ssize_t
tiff.TIFFSetField.argtypes = ctypes.c_void_p, ctypes.c_uint32
tiff.TIFFClose.argtypes = ctypes.c_void_p,
what, path = sys.argv[1:]
file = tiff.TIFFOpen(path.encode(), what[:1].encode())
bits = bytes((x * y + 37 * y) % 256 for y in range(height) for x in range(width // 8))
if what == "write":
    for tag, value in ((256, width), (257, height), (258, 1), (259, {JBIG}), (262, 1), (277, 1), (278, height)):
        assert tiff.TIFFSetField(file, tag, ctypes.c_uint32(value)) == 1, tag
    done = tiff.TIFFWriteEncodedStrip(file, 0, bits, len(bits))
else:
    room = ctypes.create_string_buffer(len(bits))
    done = tiff.TIFFReadEncodedStrip(file, 0, room, len(bits))
    print("equal" if room.raw == bits else "different")
tiff.TIFFClose(file)
print("returned", done)
"""


def by_libtiff(what, path, libraries=None):
    """Returns the program's output and libtiff's complaints on standard error. The program must not crash."""
    environment = {**os.environ, **({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})}
    done = subprocess.run([sys.executable, "-c", PROGRAM, what, path], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def loaded(name, program):
    """Returns the path from which the loader takes a library when a program runs with our libjbig."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True,
                            env={**os.environ, "LD_LIBRARY_PATH": str(LIBJBIG.parent)}).stdout
    return pathlib.Path(re.search(rf"{re.escape(name)} => (\S+)", listed).group(1)).resolve()


class NoJbigTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.jbig = os.path.join(cls.scratch, "jbig.tiff")
        by_libtiff("write", cls.jbig)
        cls.libtiff = loaded(LIBTIFF, DECODE_ROWS)

    def setUp(self):
        os.environ.pop("LD_LIBRARY_PATH", None)

    def with_ours(self):
        """Makes every later process of this test use our libjbig."""
        os.environ["LD_LIBRARY_PATH"] = str(LIBJBIG.parent)
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        self.assertEqual(loaded("libjbig.so.0", DECODE_ROWS), LIBJBIG.resolve())

    def test_it_has_the_functions_that_libtiff_calls_and_no_others(self):
        listed = subprocess.run(["nm", "-D", "--undefined-only", self.libtiff], check=True, capture_output=True,
                                text=True).stdout
        wanted = set(re.findall(r"\bjbg\w+", listed))
        self.assertTrue(wanted)
        self.assertEqual(carried.defined(LIBJBIG), wanted)
        self.assertEqual(carried.error_text(LIBJBIG), carried.OURS)

    def test_a_sound_jbig_file_is_an_error_to_libtiff(self):
        self.assertIn("equal\nreturned 384", by_libtiff("read", self.jbig))

        said = by_libtiff("read", self.jbig, LIBJBIG.parent)

        self.assertIn("different\nreturned -1", said)
        self.assertIn(carried.OURS, said)

    def test_what_it_writes_is_empty_and_no_reader_takes_it(self):
        empty = os.path.join(self.scratch, "empty.tiff")
        by_libtiff("write", empty, LIBJBIG.parent)

        self.assertIn("different\nreturned -1", by_libtiff("read", empty))

    def test_the_decoder_refuses_jbig(self):
        for ours in (False, True):
            if ours:
                self.with_ours()
            case = exact.Case("jbig", exact.RANDOM_RESIZED_CROP, (31, 23))
            (fault, *_), = exact.decoded(DECODE_ROWS, case, [self.jbig])
            self.assertIn(fault, exact.REFUSALS)
            self.assertIsNone(case.image(self.jbig))

    def test_all_other_kinds_are_as_pillow_shows_them(self):
        import image_files
        import tiff_files
        paths = image_files.write(tiff_files.tiffs(), self.scratch)
        self.with_ours()

        case = exact.Case("TIFFs with our libjbig", exact.RANDOM_RESIZED_CROP, (31, 23), seed=11)
        self.assertTrue(exact.report(DECODE_ROWS, case, paths))


if __name__ == "__main__":
    if exact.Image is None:
        exact.skip("no Pillow for /usr/bin/python3; install python3-pil")
    unittest.main()
