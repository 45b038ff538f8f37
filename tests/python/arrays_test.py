"""Tests penstock.Loader in host memory, and how penstock.Array follows its protocols, as far as that needs no GPU."""
import ctypes
import gc
import time
import types
import unittest
import weakref

import support

np = support.need("numpy")

import penstock  # noqa: E402
from penstock import _penstock as native  # noqa: E402

CROP = [penstock.RandomResizedCrop(32), penstock.HorizontalFlip()]


def ids(batches):
    return [int(sample) for batch in batches for sample in batch.sample_ids]


class HostLoaderTest(support.FeedTest):
    def loader(self, *arguments, **keywords):
        keywords.setdefault("transform", CROP)
        keywords.setdefault("timeout", 20)
        loader = penstock.Loader(self.photographs, *arguments, **keywords)
        self.addCleanup(loader.close)
        return loader

    # Refusals

    def test_a_type_or_layout_that_is_none_is_refused(self):
        for wrong in ({"dtype": "float64"}, {"layout": "CHW"}, {"batch_size": 0}, {"prefetch_factor": 0}):
            with self.subTest(wrong), self.assertRaises(penstock.InvalidArgument):
                self.loader(**wrong)

    def test_a_window_in_which_a_loop_could_not_go_on_is_refused(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "2 or more"):
            self.loader(prefetch_factor=1)

        self.assertEqual(len(list(self.loader(50, prefetch_factor=1, dtype="float32"))), 2)

    def test_without_numpy_it_says_what_to_install(self):
        said = support.script("import sys; sys.modules['numpy'] = None; import penstock\n"
                              "try: penstock.Loader('any')\n"
                              "except penstock.FailedPrecondition as error: print(error)")

        self.assertIn("pip install numpy", said)

    def test_bfloat16_without_its_types_says_what_to_install(self):
        said = support.script("import sys; sys.modules['ml_dtypes'] = None; import penstock\n"
                              "try: penstock.Loader('any', dtype='bfloat16')\n"
                              "except penstock.FailedPrecondition as error: print(error)")

        self.assertIn("pip install ml_dtypes", said)

    def test_a_gpu_that_is_not_there_is_refused_in_words_and_auto_takes_host_memory(self):
        if self.has_gpu():
            self.skipTest("there is a GPU")

        with self.assertRaisesRegex(penstock.Error, "device 'cuda'|GPU|CUDA"):
            next(iter(self.loader(device="cuda")))
        self.assertIsInstance(next(iter(self.loader(device="auto")))["image"], np.ndarray)

    def test_a_consumer_that_keeps_all_of_its_window_is_told_so_and_goes_on_when_it_lets_go_of_one(self):
        batches = iter(self.loader(10, prefetch_factor=4, timeout=0))
        kept = [next(batches)["image"] for _ in range(4)]
        began = time.monotonic()

        with self.assertRaisesRegex(penstock.ResourceExhausted, "holds 4 batches.*window"):
            next(batches)

        self.assertLess(time.monotonic() - began, 5)
        kept.pop(1)
        self.assertEqual(next(batches).position.step, 4)

    # Views

    def test_stored_rows_are_views_that_cannot_be_written(self):
        image = next(iter(self.loader(10)))["image"]

        self.assertEqual((image.dtype, image.shape), (np.uint8, (10, 32, 32, 3)))
        self.assertFalse(image.flags.owndata)
        with self.assertRaises(ValueError):
            image[0] = 0

    def test_a_view_of_a_view_keeps_its_bytes_while_batches_go_on(self):
        loader = self.loader(10, shuffle=True, prefetch_factor=2)
        row = next(iter(loader))["image"][3, ::2]
        before = row.copy()

        for _ in range(3):
            for _ in loader:
                pass

        np.testing.assert_array_equal(row, before)

    def test_views_outlive_their_loader(self):
        loader = self.loader(10)
        image = next(iter(loader))["image"]
        before = image.copy()

        loader.close()
        del loader
        gc.collect()

        np.testing.assert_array_equal(image, before)

    def test_labels_and_ids_are_the_consumers_own(self):
        loader = self.loader(10, prefetch_factor=2)

        batches = [(batch["label"], batch.sample_ids) for batch in loader]

        self.assertEqual([int(sample) for _, samples in batches for sample in samples], list(range(100)))
        for label, samples in batches:
            self.assertEqual((label.dtype, samples.dtype), (np.int64, np.uint64))
            np.testing.assert_array_equal(label, samples // 10)
            label[0] = -1

    def test_the_last_batch_is_short(self):
        loader = self.loader(32)

        shapes = [batch["image"].shape[0] for batch in loader]

        self.assertEqual(shapes, [32, 32, 32, 4])
        self.assertEqual(len(loader), 4)

    # Finished arrays

    def test_types_and_layouts_are_computed_from_the_stored_rows(self):
        stored = next(iter(self.loader(10)))["image"].copy()
        scaled = stored.astype(np.float32) / np.float32(255)
        for dtype, expected in (("uint8", stored), ("float32", scaled), ("float16", scaled.astype(np.float16))):
            for layout in ("NHWC", "NCHW"):
                with self.subTest(dtype=dtype, layout=layout):
                    image = next(iter(self.loader(10, dtype=dtype, layout=layout)))["image"]

                    want = expected if layout == "NHWC" else expected.transpose(0, 3, 1, 2)
                    self.assertEqual(image.dtype, expected.dtype)
                    np.testing.assert_array_equal(image, want)

    def test_bfloat16_is_that_of_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        exact = next(iter(self.loader(10, dtype="float32")))["image"]

        image = next(iter(self.loader(10, dtype="bfloat16")))["image"]

        self.assertEqual(image.dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(image, exact.astype(ml_dtypes.bfloat16))

    def test_finished_arrays_may_be_kept_and_written(self):
        loader = self.loader(10, dtype="float32", prefetch_factor=2)

        kept = [batch["image"] for batch in loader]

        self.assertEqual(len(kept), 10)
        kept[0][:] = 0
        self.assertTrue(kept[1].any())

    def test_the_state_resumes_in_the_middle_of_an_epoch(self):
        loader = self.loader(10, shuffle=True, seed=7)
        whole = [(batch.sample_ids, batch["image"].copy()) for batch in loader]
        loader.set_epoch(0)
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        state = loader.state_dict()

        resumed = self.loader(10, shuffle=True, seed=7)
        resumed.load_state_dict(state)
        rest = [(batch.sample_ids, batch["image"].copy()) for batch in resumed]

        self.assertEqual(len(rest), 6)
        for (samples, image), (wanted, expected) in zip(rest, whole[4:]):
            np.testing.assert_array_equal(samples, wanted)
            np.testing.assert_array_equal(image, expected)

    @staticmethod
    def has_gpu():
        try:
            native.DevicePool.open(0)
            return True
        except penstock.Error:
            return False


class Versioned(ctypes.Structure):
    """The head of DLManagedTensorVersioned in dlpack.h."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64)]


def flags_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    head = Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
    return head.major, head.flags


def is_unversioned(capsule):
    return '"dltensor"' in repr(capsule)


class Memory:
    """Stands in for memory on a GPU, and records the requests."""

    def __init__(self):
        self.pool = types.SimpleNamespace(device=3, wait=lambda: self.waits.append("host"))
        self.streams, self.copies, self.waits = [], [], []

    def hand_to(self, stream):
        self.streams.append(stream)

    def copy_for(self, data, nbytes, stream):
        self.copies.append((data, nbytes, stream))
        return Memory(), 0x9000


class ArrayTest(unittest.TestCase):
    def setUp(self):
        self.memory = Memory()

    def array(self, dtype="uint8", read_only=False):
        return penstock.Array(self.memory, 0x4000, (2, 4, 3), dtype, read_only)

    def test_streams_that_are_none_are_refused(self):
        for stream in (0, -2, "1", 1.0):
            with self.subTest(stream), self.assertRaisesRegex(BufferError, "cudaStream_t"):
                self.array().__dlpack__(stream=stream)
        self.assertEqual(self.memory.streams, [])

    def test_another_device_is_refused(self):
        with self.assertRaisesRegex(BufferError, "cuda:3"):
            self.array().__dlpack__(dl_device=(1, 0))

    def test_numpy_is_refused_in_words(self):
        with self.assertRaisesRegex(TypeError, "cuda:3"):
            np.asarray(self.array())

    def test_read_only_memory_is_not_given_uncopied_where_that_cannot_be_said(self):
        with self.assertRaisesRegex(BufferError, "max_version"):
            self.array(read_only=True).__dlpack__(copy=False)

    def test_the_stream_that_it_is_handed_to_is_the_consumers(self):
        for stream, handed in ((None, 1), (1, 1), (2, 2), (0x7F00, 0x7F00), (-1, 1)):
            with self.subTest(stream):
                self.memory.streams.clear()

                self.array().__dlpack__(stream=stream)

                self.assertEqual(self.memory.streams, [handed])

    def test_a_consumer_of_version_one_gets_the_memory_itself_and_is_told_that_it_is_read_only(self):
        for read_only in (True, False):
            capsule = self.array(read_only=read_only).__dlpack__(max_version=(1, 0), copy=False)

            self.assertEqual(flags_of(capsule), (1, 1 if read_only else 0))
        self.assertEqual(self.memory.copies, [])

    def test_an_older_consumer_gets_a_copy_of_what_is_read_only_and_the_rest_itself(self):
        self.assertTrue(is_unversioned(self.array().__dlpack__(stream=5)))
        self.assertEqual(self.memory.copies, [])

        self.assertTrue(is_unversioned(self.array(read_only=True).__dlpack__(stream=5)))

        self.assertEqual(self.memory.copies, [(0x4000, 24, 5)])

    def test_a_copy_is_made_where_it_is_asked_for_and_may_be_written(self):
        capsule = self.array(read_only=True).__dlpack__(stream=5, max_version=(1, 1), copy=True)

        self.assertEqual(self.memory.copies, [(0x4000, 24, 5)])
        self.assertEqual(flags_of(capsule), (1, 0))

    def test_a_capsule_keeps_the_memory(self):
        capsule = self.array().__dlpack__(max_version=(1, 0))
        memory = weakref.ref(self.memory)

        del self.memory
        gc.collect()
        self.assertIsNotNone(memory())
        del capsule
        gc.collect()

        self.assertIsNone(memory())

    def test_what_is_lent_keeps_what_the_owner_gave_and_not_the_memory(self):
        kept = Memory()
        array = self.array()

        capsule = array.lend_to(kept, None, (1, 0))
        alive = weakref.ref(kept)
        del kept

        self.assertEqual((self.memory.waits, self.memory.streams), (["host"], []))
        self.assertIsNotNone(alive())
        del capsule
        gc.collect()
        self.assertIsNone(alive())

    def test_the_cuda_array_interface_names_the_stream_on_which_it_is_ready(self):
        interface = self.array("float32", read_only=True).__cuda_array_interface__

        self.assertEqual(interface, {"shape": (2, 4, 3), "typestr": "<f4", "data": (0x4000, True), "strides": None,
                                     "stream": 1, "version": 3})
        self.assertEqual(self.memory.streams, [1])

    def test_a_type_that_the_cuda_array_interface_lacks_is_left_to_dlpack(self):
        array = self.array("bfloat16")

        self.assertFalse(hasattr(array, "__cuda_array_interface__"))
        self.assertTrue(is_unversioned(array.__dlpack__()))

    def test_other_streams_can_be_named_as_numbers_or_as_the_frameworks_objects(self):
        for stream in (0, 7, types.SimpleNamespace(ptr=8), types.SimpleNamespace(cuda_stream=9)):
            self.array().record_stream(stream)

        self.assertEqual(self.memory.streams, [1, 7, 8, 9])

    def test_its_attributes(self):
        array = self.array("float16")

        self.assertEqual((array.shape, array.dtype, array.device, array.ndim, array.size, array.nbytes, len(array)),
                         ((2, 4, 3), "float16", "cuda:3", 3, 24, 48, 2))
        self.assertEqual(array.__dlpack_device__(), (2, 3))
        self.assertIn("float16[2, 4, 3]", repr(array))


if __name__ == "__main__":
    support.main()
