"""Memory of host batches: used again, but never while anybody refers to it."""
import gc
import pathlib
import sys
import threading
import unittest
import weakref

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import support  # noqa: E402

numpy = support.need("numpy")

from penstock._buffers import Buffers  # noqa: E402

SHAPE = (64, 3, 100, 100)


class BuffersTest(unittest.TestCase):
    def setUp(self):
        self.buffers = Buffers(numpy)

    def made(self, value, dtype="float32"):
        array = self.buffers.empty(SHAPE, dtype)
        array.fill(value)
        return array

    def test_an_array_is_as_numpys(self):
        for shape in ((1 << 20,), SHAPE, 1 << 19, (0, 5), (3,)):
            for dtype in ("float32", "uint8", numpy.dtype("float16")):
                array, numpys = self.buffers.empty(shape, dtype), numpy.empty(shape, dtype)
                self.assertEqual((array.shape, array.dtype, array.strides), (numpys.shape, numpys.dtype, numpys.strides))
                self.assertTrue(array.flags.c_contiguous and array.flags.writeable and array.flags.aligned)

    def test_memory_that_nobody_refers_to_is_used_again(self):
        addresses = set()
        batch = None
        for value in range(20):
            batch = self.made(value)
            addresses.add(batch.ctypes.data)
        self.assertLessEqual(len(addresses), 2)

    def test_what_is_kept_stays_as_it_is(self):
        kept = [self.made(value) for value in range(10)]
        self.assertEqual(len({array.ctypes.data for array in kept}), 10)
        for value, array in enumerate(kept):
            self.assertTrue((array == value).all())

    def test_whatever_refers_to_it_keeps_it(self):
        keepers = {
            "a row": lambda array: array[3],
            "a part": lambda array: array[:10, 1],
            "another form": lambda array: array.reshape(-1).view("uint8"),
            "its turn": lambda array: array.T,
            "memory": memoryview,
            "memory of memory": lambda array: memoryview(array)[1:],
            "an interface": lambda array: numpy.asarray(array.__array_interface__ and array),
            "DLPack": numpy.from_dlpack,
            "a list": lambda array: [array],
            "a pointer": lambda array: array.ctypes.data_as(__import__("ctypes").c_void_p),
        }
        try:
            import torch
            keepers["torch"] = torch.from_numpy
            keepers["a part of torch's"] = lambda array: torch.from_numpy(array)[2:4].permute(0, 2, 3, 1)
        except ImportError:
            pass
        for name, keep in keepers.items():
            with self.subTest(keeper=name):
                array = self.made(1)
                address, kept = array.ctypes.data, keep(array)
                del array
                later = [self.made(value) for value in range(2, 6)]
                self.assertNotIn(address, [each.ctypes.data for each in later])
                del kept, later

    def test_a_thread_that_keeps_one_keeps_it(self):
        array, go = self.made(1), threading.Event()
        seen = []

        def hold(mine):
            go.wait(10)
            seen.append(float(mine.max()))

        thread = threading.Thread(target=hold, args=(array,))
        thread.start()
        del array
        for value in range(2, 8):
            self.made(value)
        go.set()
        thread.join()
        self.assertEqual(seen, [1.0])

    def test_little_is_kept_and_gone_with_the_loader(self):
        arrays = [self.made(0) for _ in range(6)]
        held = [weakref.ref(array.base) for array in arrays]
        del arrays
        self.assertEqual(sum(reference() is not None for reference in held), 2)
        self.buffers = None
        gc.collect()
        self.assertEqual(sum(reference() is not None for reference in held), 0)


if __name__ == "__main__":
    unittest.main()
