"""Tests that a damaged slot is an error in words: whatever its bytes say, a reader stays inside of it."""
import struct
import subprocess
import sys
import unittest
import zlib

from slots import support

numpy = support.need("numpy")

import penstock  # noqa: E402
from penstock._pydata import slot, slot_format, slot_numpy  # noqa: E402
from penstock._pydata.slot_format import HEADER  # noqa: E402


def written():
    plan = slot.measure({"a": numpy.arange(12.0).reshape(3, 4), "b": [numpy.ones(5, ">i4"), "text"]})
    memory = bytearray(plan.nbytes)
    plan.write(memory)
    return memory


def mend(memory):
    """Makes the checksum right again, so that the checks behind it are reached."""
    fields = list(HEADER.unpack_from(memory))
    fields[7] = zlib.crc32(memory[fields[4]:fields[3]])
    HEADER.pack_into(memory, 0, *fields)
    return memory


class HeaderTest(unittest.TestCase):
    FIELDS = ("magic", "version", "buffer_count", "total_bytes", "tail_offset", "table_bytes", "skeleton_bytes",
              "tail_crc32", "reserved", "reserved")

    def refused(self, memory, words):
        with self.assertRaisesRegex(penstock.DataLoss, words) as caught:
            slot.read(memory)
        self.assertIsInstance(caught.exception, slot.SlotDamaged)

    def test_each_field_is_checked(self):
        words = {"magic": "begins with"}
        for place, name in enumerate(self.FIELDS):
            for value in (0, 1, 7, 63, 2**31, 2**32 - 1, 2**63, 2**64 - 1):
                memory = written()
                fields = list(HEADER.unpack_from(memory))
                if value >= 2**32 and name in ("version", "buffer_count", "tail_crc32") or value in (fields[place], 2**32 - 1) \
                        or place == 8 and value >= 2**32:
                    continue
                fields[place] = value
                HEADER.pack_into(memory, 0, *fields)
                with self.subTest(name=name, value=value):
                    self.refused(memory, words.get(name, "slot"))

    def test_every_length_that_was_cut_off_is_refused(self):
        memory = written()
        for length in range(len(memory)):
            self.refused(memory[:length], "slot")

    def test_a_slot_that_was_never_finished_is_no_slot(self):
        self.refused(bytearray(4096), "has not finished")

    def test_a_worker_that_dies_while_it_writes_leaves_no_slot(self):
        memory = bytearray(100_000)
        slot.write("an older batch", memory)
        plan = slot.measure([numpy.ones(10), numpy.ones(20)])
        plan._sources[1] = "no array"  # copying fails over it
        with self.assertRaises(AttributeError):
            plan.write(memory)

        self.refused(memory, "has not finished")


class TailTest(unittest.TestCase):
    def test_every_byte_of_the_tail_counts(self):
        memory = written()
        tail, total = HEADER.unpack_from(memory)[4], HEADER.unpack_from(memory)[3]
        for place in range(tail, total):
            damaged = bytearray(memory)
            damaged[place] ^= 1
            with self.subTest(place=place), self.assertRaisesRegex(slot.SlotDamaged, "tail_crc32"):
                slot.read(damaged)

    def entry(self, **changes):
        """The slot with its first entry changed, and the right checksum."""
        memory = written()
        tail = HEADER.unpack_from(memory)[4]
        names = ("form", "dtype", "dimensions", "zero", "item_bytes", "offset", "nbytes", "rows", "columns", "row_stride",
                 "column_stride")
        layout = struct.Struct("<HHHHQQQ4q")
        fields = dict(zip(names, layout.unpack_from(memory, tail)))
        fields.update(changes)
        layout.pack_into(memory, tail, *fields.values())
        return mend(memory)

    def test_the_unchanged_entry_is_read(self):
        self.assertEqual(slot.read(self.entry())["a"].tolist(), numpy.arange(12.0).reshape(3, 4).tolist())

    def test_an_entry_that_reaches_outside_is_refused(self):
        for changes in ({"offset": 0}, {"offset": 65}, {"offset": 2**40}, {"offset": 2**64 - 64}, {"nbytes": 2**40},
                        {"nbytes": 2**64 - 1}, {"nbytes": 95}, {"rows": 4}, {"rows": 2**62}, {"rows": -1}, {"columns": -4},
                        {"row_stride": 5}, {"row_stride": -4}, {"row_stride": 2**62}, {"column_stride": 2},
                        {"item_bytes": 9}, {"item_bytes": 4}, {"item_bytes": 2**63}, {"dimensions": 3},
                        {"dimensions": 65}, {"dimensions": 65535}, {"dimensions": 1}, {"form": 3}, {"dtype": max(slot_format.NAMES) + 1},
                        {"dtype": 13}, {"dtype": 16}, {"dtype": 0}, {"zero": 1}, {"form": 2}, {"form": 0}):
            with self.subTest(**changes), self.assertRaisesRegex(slot.SlotDamaged, "the slot"):
                slot.read(self.entry(**changes))

    def test_an_array_of_objects_cannot_be_forged(self):
        """Its elements would be pointers."""
        entry = slot_format.Entry(slot_format.ARRAY, 0, 8, 64, 64, (8,), (1,))
        with self.assertRaisesRegex(slot.SlotDamaged, "does not have"):
            slot_numpy.array_at(memoryview(written()), entry, numpy.dtype(object))

    def test_a_reference_to_another_number_is_refused(self):
        memory = written()
        memory = memory.replace(b"K\x00\x85", b"K\x09\x85", 1)
        with self.assertRaisesRegex(slot.SlotDamaged, "refers to array 9"):
            slot.read(mend(memory))

    def test_a_module_that_the_trainer_lacks_is_named(self):
        memory = written()
        at = memory.index(b"penstock._pydata.slot_numpy")
        memory[at:at + 27] = b"penstock._pydata.slot_nothin"[:27]
        with self.assertRaisesRegex(slot.SlotDamaged, "ModuleNotFoundError.*slot_nothi"):
            slot.read(mend(memory))

    def test_random_damage_behind_a_right_checksum_never_leaves_the_slot(self):
        """In a process of its own, in which a wild read would be fatal: the slot ends where a page without access begins."""
        done = subprocess.run([sys.executable, "-c", WILD], capture_output=True, text=True, timeout=30)

        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("refused", done.stdout)


WILD = """
import ctypes, mmap, random, struct, sys, zlib
import numpy
from penstock._pydata import slot
from penstock._pydata.slot_format import HEADER
plan = slot.measure({"a": numpy.arange(12.0).reshape(3, 4), "b": [numpy.ones(5, ">i4"), numpy.ones((2, 2), "int8")]})
page = 4096
pages = mmap.mmap(-1, 3 * page)
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mprotect(ctypes.c_void_p(address + 2 * page), page, 0) == 0
size = -(-plan.nbytes // 64) * 64
memory = memoryview((ctypes.c_char * size).from_address(address + 2 * page - size)).cast("B")
plan.write(memory)
good = bytes(memory)
tail, table_bytes = HEADER.unpack_from(memory)[4], HEADER.unpack_from(memory)[5]
random.seed(5)
refused = read = 0
for _ in range(2000):
    memory[:] = good
    for _ in range(random.randint(1, 3)):
        memory[tail + random.randrange(table_bytes)] = random.choice((0, 1, 2, 8, 64, 127, 128, 255, random.randrange(256)))
    fields = list(HEADER.unpack_from(memory))
    fields[7] = zlib.crc32(memory[fields[4]:fields[3]])
    HEADER.pack_into(memory, 0, *fields)
    try:
        batch = slot.read(memory)
        batch["a"].sum(), batch["b"][0].sum(), batch["b"][1].sum()
        read += 1
    except slot.SlotDamaged:
        refused += 1
print("refused", refused, "read", read)
"""

if __name__ == "__main__":
    support.main()
