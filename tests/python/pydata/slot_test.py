"""Tests that structures come out of a slot as they went in: Python's types, NumPy's arrays, foreign objects."""
import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import gc
import mmap
import os
import pickle
import tempfile
import threading
import types
import unittest
import weakref

import slots
from slots import features, support, through_slot

numpy = support.need("numpy")

import penstock  # noqa: E402
from penstock._pydata import layout, slot, slot_format  # noqa: E402

Pair = collections.namedtuple("Pair", "image label")


@dataclasses.dataclass
class Sample:
    image: object
    name: str = "?"


class Colour(enum.Enum):
    RED = 1


class Struct(dict):
    """A dict that iterates over its values, as penstock.Batch does."""

    def __iter__(self):
        return iter(self.values())


class Mapping(collections.abc.Mapping):
    def __init__(self, **items):
        self.inner = items

    def __getitem__(self, key):
        return self.inner[key]

    def __iter__(self):
        return iter(self.inner)

    def __len__(self):
        return len(self.inner)


class Foreign:
    """Hands its memory to pickle 5 as a buffer."""

    def __init__(self, memory):
        self.memory = memory

    def __reduce_ex__(self, protocol):
        return Foreign, (pickle.PickleBuffer(self.memory),)


class StructureTest(unittest.TestCase):
    def check(self, value):
        self.assertEqual(features(through_slot(value)), features(value))

    def test_pythons_own_types(self):
        for value in (None, True, 0, -1, 2**70, 1.5, float("inf"), 2 + 3j, "", "ärger\ud7ff", b"", b"x" * 70_000, bytearray(b"ab"),
                      [], (), {}, set(), frozenset({1}), range(3), slice(1, 2), Ellipsis, Colour.RED,
                      decimal.Decimal("0.1"), datetime.date(2020, 1, 2), "x" * 100_000):
            with self.subTest(value=repr(value)[:40]):
                got = through_slot(value)

                self.assertEqual((type(got), repr(got)), (type(value), repr(value)))
        self.assertNotEqual(through_slot(float("nan")), through_slot(float("nan")))

    def test_containers_keep_their_types_and_their_order(self):
        array = numpy.arange(3)
        self.check({"b": 1, "a": [array, (array * 2, None)], 3: {}})
        self.check(collections.OrderedDict(b=array, a=1))
        self.check(Pair(array, [Pair(1, "x")]))
        self.check(Struct(image=array, label=2))
        self.assertEqual(dict(through_slot(Mapping(a=1, b="x"))), {"a": 1, "b": "x"})
        grouped = through_slot(collections.defaultdict(list, a=[1]))
        self.assertEqual((grouped, grouped.default_factory), ({"a": [1]}, list))
        made = through_slot(Sample(array))
        self.assertEqual((type(made), made.name, made.image.tolist()), (Sample, "?", [0, 1, 2]))

    def test_namespaces_and_recursion(self):
        loop = [1]
        loop.append(loop)

        got = through_slot(loop)

        self.assertIs(got[1], got)
        self.assertEqual(through_slot(types.SimpleNamespace(a=1)), types.SimpleNamespace(a=1))

    def test_an_array_that_occurs_twice_is_one_object_and_one_buffer(self):
        array = numpy.ones(1000)

        plan = slot.measure({"a": array, "b": [array]})
        got = through_slot({"a": array, "b": [array]})

        self.assertEqual(plan.buffers, 1)
        self.assertIs(got["a"], got["b"][0])

    def test_two_views_of_one_memory_are_two_buffers(self):
        array = numpy.arange(10)

        got = through_slot([array, array[:5]])
        got[0][0] = 77

        self.assertEqual(got[1][0], 0)

    def test_images_of_pillow(self):
        image = support.need("PIL.Image").Image.new("RGB", (5, 3), (1, 2, 3))
        image.info["dpi"] = (72, 72)
        palette = image.convert("P")

        self.check(image)
        self.check([image.convert("L"), image.convert("F"), image.convert("1")])
        self.assertEqual(through_slot(palette).convert("RGB").tobytes(), palette.convert("RGB").tobytes())

    def test_what_cannot_be_sent_is_named_by_its_path(self):
        for value, path in (({"a": [1, (each for each in ())]}, r"batch\['a'\]\[1\] .*generator"),
                            (Sample(lambda: 0), r"batch\.image .*function"), (threading.Lock(), "batch .*lock")):
            with self.subTest(path=path), self.assertRaisesRegex(penstock.InvalidArgument, path):
                slot.measure(value)


class ArraysTest(unittest.TestCase):
    def check(self, array):
        got = through_slot([array])[0]

        self.assertEqual(features(got), features(array))
        return got

    def test_all_types_of_numbers(self):
        for name in numpy.typecodes["All"]:
            dtype = numpy.dtype(name)
            if dtype.kind in "biufc":
                with self.subTest(dtype=name):
                    self.check(numpy.arange(6).astype(dtype).reshape(2, 3))

    def test_types_that_only_numpy_can_name(self):
        structured = numpy.zeros(3, [("a", "<i4"), ("b", ">f8", (2,)), ("c", "S3")])
        structured["b"] = [[1, 2], [3, 4], [5, 6]]
        for array in (numpy.array(["2020-01-02", "NaT"], "M8[D]"), numpy.array([5], "m8[ms]"), numpy.array(["ä", "bcd"]),
                      numpy.array([b"a", b"bc"]), numpy.arange(4, dtype=">i4"), numpy.arange(4, dtype=">f2"), structured,
                      numpy.zeros(2, numpy.dtype([("a", "i1"), ("b", "i8")], align=True)), numpy.zeros(2, "V5")):
            with self.subTest(dtype=array.dtype):
                self.check(array)

    @unittest.skipUnless(hasattr(getattr(numpy, "dtypes", None), "StringDType"), "this NumPy has no texts of variable length")
    def test_texts_of_variable_length(self):
        array = numpy.array(["a", "b" * 100, "ä" * 1000], numpy.dtypes.StringDType())

        got = through_slot([array])[0]

        self.assertEqual((got.dtype, got.tolist()), (array.dtype, array.tolist()))

    def test_all_shapes(self):
        for shape in ((), (0,), (3, 0, 2), (1,), (1, 1, 1), (2, 3, 4, 5, 6)):
            with self.subTest(shape=shape):
                self.check(numpy.ones(shape, "float32"))

    def test_orders_in_memory_are_those_of_numpys_own_pickle(self):
        array = numpy.arange(24).reshape(2, 3, 4)
        for view in (array, numpy.asfortranarray(array), array.transpose(2, 0, 1), array[:, ::2], array[::-1], array.T,
                     numpy.broadcast_to(array, (5, 2, 3, 4)), array[:, 1:2, :]):
            got, pickled = self.check(view), pickle.loads(pickle.dumps(view))
            self.assertEqual(got.strides, pickled.strides)

    def test_objects_may_hold_arrays(self):
        inner = numpy.arange(1000)
        array = numpy.empty(2, object)
        array[0], array[1] = inner, "x"

        got = through_slot(array)

        self.assertEqual((got.dtype, got[0].tolist(), got[1]), (object, inner.tolist(), "x"))
        self.assertEqual(slot.measure(array).buffers, 1)

    def test_subclasses_and_scalars(self):
        masked = numpy.ma.masked_array(numpy.arange(500), numpy.arange(500) % 2)
        got = through_slot({"masked": masked, "matrix": numpy.matrix([[1, 2]]), "scalar": numpy.float32(1.5),
                            "record": numpy.rec.array([(1, 2.0)], names="a,b")})

        self.assertEqual((got["masked"].sum(), type(got["masked"])), (masked.sum(), type(masked)))
        self.assertEqual((type(got["matrix"]), got["matrix"].tolist()), (numpy.matrix, [[1, 2]]))
        self.assertEqual((type(got["scalar"]), got["scalar"]), (numpy.float32, 1.5))
        self.assertEqual(got["record"].b.tolist(), [2.0])

    def test_large_buffers_of_foreign_objects_stay_out_of_the_skeleton(self):
        for size, buffers in ((100, 0), (100_000, 1)):
            plan = slot.measure([Foreign(b"x" * size)])
            memory = bytearray(plan.nbytes)
            plan.write(memory)

            self.assertEqual(plan.buffers, buffers)
            self.assertEqual(bytes(slot.read(memory)[0].memory), b"x" * size)


class MemoryTest(unittest.TestCase):
    def test_arrays_are_views_of_the_slot_aligned_to_64_bytes(self):
        memory = ctypes.create_string_buffer(8192)
        base = ctypes.addressof(memory)
        slot.write([numpy.ones(3, "uint8"), numpy.ones((2, 5)), numpy.ones(3, "int16")], memory)

        first, second, third = slot.read(memory)
        second[0, 0] = 7

        for array in (first, second, third):
            place = array.__array_interface__["data"][0] - base
            self.assertTrue(64 <= place < 8192)
            self.assertEqual(place % 64, 0)
        self.assertEqual(slot.read(memory)[1][0, 0], 7)

    def test_arrays_over_read_only_memory_are_read_only(self):
        memory = bytearray(4096)
        slot.write(numpy.ones(5), memory)

        self.assertFalse(slot.read(memoryview(memory).toreadonly()).flags.writeable)
        self.assertTrue(slot.read(memory).flags.writeable)

    def test_the_memory_lives_as_long_as_its_last_array(self):
        lease = (ctypes.c_char * 4096)()
        slot.write({"a": numpy.ones(3), "b": numpy.ones(3)}, lease)
        gone = weakref.ref(lease)
        batch = slot.read(lease)
        del lease
        kept = batch["a"][1:]
        del batch
        gc.collect()
        self.assertIsNotNone(gone())
        del kept
        gc.collect()

        self.assertIsNone(gone())

    def test_a_forked_worker_writes_what_the_trainer_reads(self):
        shared = mmap.mmap(-1, 1 << 16)
        if (pid := os.fork()) == 0:
            slot.write({"image": numpy.arange(1000), "worker": os.getpid()}, memoryview(shared)[4096:])
            os._exit(0)
        os.waitpid(pid, 0)

        batch = slot.read(memoryview(shared)[4096:])

        self.assertEqual((batch["image"].sum(), batch["worker"]), (499500, pid))
        shared[4096 + 64:4096 + 72] = (77).to_bytes(8, "little")
        self.assertEqual(batch["image"][0], 77)  # it is the same memory

    def test_too_little_memory_is_refused_with_both_sizes_before_a_byte_is_written(self):
        plan = slot.measure({"a": numpy.ones(1000), "text": "x" * 100})
        for size in (0, 63, plan.nbytes - 1):
            memory = bytearray(b"\x55" * size)
            with self.assertRaisesRegex(penstock.ResourceExhausted, f"needs {plan.nbytes} bytes, its slot has {size}") as caught:
                plan.write(memory)

            self.assertEqual((caught.exception.needed, caught.exception.available), (plan.nbytes, size))
            self.assertEqual(bytes(memory), b"\x55" * size)
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(again), again.needed, str(again)), (slot.SlotTooSmall, plan.nbytes, str(caught.exception)))

    def test_nothing_is_written_behind_the_slot(self):
        plan = slot.measure([numpy.ones(100), "x"])
        memory = bytearray(b"\x55" * (plan.nbytes + 100))
        plan.write(memory)

        self.assertEqual(bytes(memory[plan.nbytes:]), b"\x55" * 100)

    def test_read_only_memory_cannot_be_written(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "read-only"):
            slot.write(1, bytes(1000))

    def test_a_mapping_of_a_file_will_do(self):
        with tempfile.TemporaryFile() as file:
            file.truncate(8192)
            with mmap.mmap(file.fileno(), 8192) as writable:
                slot.write({"a": numpy.arange(10)}, writable)
            readable = mmap.mmap(file.fileno(), 8192, access=mmap.ACCESS_READ)
            self.assertEqual(slot.read(readable)["a"].sum(), 45)


class LayoutTest(unittest.TestCase):
    def test_strides_keep_their_order_and_lose_their_gaps(self):
        for shape, strides, expected, count in (
                ((2, 3), (3, 1), (3, 1), 6), ((2, 3), (1, 2), (1, 2), 6), ((2, 3), (12, 2), (3, 1), 6),
                ((2, 3, 4, 4), (48, 1, 12, 3), (48, 1, 12, 3), 96), ((5, 4), (0, 1), (0, 1), 4), ((), (), (), 1),
                ((3, 0), (1, 1), (1, 1), 0), ((1, 4), (9, 1), (9, 1), 4), ((4, 3), (1, 1), (3, 1), 12)):
            with self.subTest(shape=shape, strides=strides):
                self.assertEqual(layout.dense(shape, strides), (expected, count))

    def test_the_header_in_cpp_is_the_header_here(self):
        text = (slots.support.ROOT / "common/shm/python_slot.h").read_text()
        self.assertIn(f"kPythonSlotMagic = {slot_format.MAGIC:#X};".replace("0X", "0x"), text)
        self.assertIn(f"kPythonSlotVersion = {slot_format.VERSION};", text)
        self.assertIn(f"kPythonSlotAlignment = {slot_format.ALIGNMENT};", text)
        self.assertIn(f"sizeof(PythonSlotHeader) == {slot_format.HEADER_BYTES}", text)
        self.assertIn(f"sizeof(PythonSlotEntry) == {slot_format.ENTRY.size}", text)
        self.assertIn(f"kPythonSlotMaxBuffers = {slot_format.MAX_BUFFERS};", text)


if __name__ == "__main__":
    support.main()
