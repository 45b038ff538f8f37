"""gpu_test.py SOURCE LIBRARY PROGRAMS: the device variants of the C API give on a GPU what host delivery gives."""
import ctypes as c
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY, PROGRAMS = map(pathlib.Path, sys.argv[1:4])
os.environ["PENSTOCK_BIN"] = str(PROGRAMS)
sys.path[:0] = [str(SOURCE / "tests/python"), str(SOURCE / "client/examples")]
import binding  # noqa: E402
import support  # noqa: E402

ROWS, SIDE = 16, 64
PIXELS = ROWS * SIDE * SIDE * 3
RANDOM_RESIZED_CROP = 1


class Finish(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("type", c.c_int32), ("layout", c.c_int32),
                ("mean", c.c_float * 3), ("stddev", c.c_float * 3)]


class Into(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("images", c.c_void_p), ("image_bytes", c.c_size_t),
                ("labels", c.c_void_p), ("tensors", c.c_void_p), ("tensor_count", c.c_size_t)]


class Cuda:
    """As much of the driver as this test needs."""

    def __init__(self):
        try:
            self.driver = c.CDLL("libcuda.so.1")
        except OSError as error:
            support.skip(f"there is no CUDA driver ({error})")
        device, context = c.c_int(), c.c_void_p()
        if self.driver.cuInit(0) != 0 or self.driver.cuDeviceGet(c.byref(device), 0) != 0:
            support.skip("there is no GPU")
        self.check(self.driver.cuDevicePrimaryCtxRetain(c.byref(context), device))
        self.check(self.driver.cuCtxSetCurrent(context))

    def check(self, code):
        if code != 0:
            raise AssertionError(f"CUDA error {code}")

    def memory(self, count):
        pointer = c.c_uint64()
        self.check(self.driver.cuMemAlloc_v2(c.byref(pointer), c.c_size_t(count)))
        self.check(self.driver.cuMemsetD8_v2(pointer, c.c_ubyte(0xEE), c.c_size_t(count)))
        return pointer.value

    def read(self, pointer, count):
        self.check(self.driver.cuCtxSynchronize())
        copied = c.create_string_buffer(count)
        self.check(self.driver.cuMemcpyDtoH_v2(copied, c.c_uint64(pointer), c.c_size_t(count)))
        return copied.raw


CUDA = Cuda()


class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-c-gpu-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.photographs = cls.folder / "photographs"
        subprocess.run([PROGRAMS / "penstock-make-photographs", cls.photographs, "--images", "64"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        private = cls.folder / "daemon"
        private.mkdir(mode=0o700)
        cls.daemon = support.Daemon(private)
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.stop)
        cls.penstock = binding.Library(str(LIBRARY))
        library = cls.penstock.library
        for name in ("penstock_next_on_stream", "penstock_next_into", "penstock_finish_on_stream", "penstock_finish_into",
                     "penstock_batch_device", "penstock_release_on_stream", "penstock_copy_images"):
            getattr(library, name).restype = c.c_int32
        cls.client = cls.penstock.make("penstock_connect", binding.ClientOptions(
            struct_size=c.sizeof(binding.ClientOptions), address=cls.daemon.address.encode()))
        cls.addClassCleanup(library.penstock_disconnect, cls.client)
        cls.finish = Finish(struct_size=c.sizeof(Finish), mean=(0.4, 0.5, 0.6), stddev=(0.2, 0.25, 0.3))
        cls.images, cls.labels, cls.floats = cls.on_the_host()

    @classmethod
    def session(cls, device):
        options = binding.SessionOptions(struct_size=c.sizeof(binding.SessionOptions), dataset=str(cls.photographs).encode(),
                                         device=device, batch_size=ROWS, epochs=1, seed=7, decode=RANDOM_RESIZED_CROP,
                                         height=SIDE, width=SIDE)
        return cls.penstock.make("penstock_open", cls.client, options)

    @classmethod
    def info(cls, batch):
        info = binding.BatchInfo(struct_size=c.sizeof(binding.BatchInfo))
        cls.penstock.call("penstock_batch_get", batch, info)
        return info

    @classmethod
    def on_the_host(cls):
        session = cls.session(b"host")
        batch = cls.penstock.make("penstock_next", session, -1)
        info = cls.info(batch)
        floats = c.create_string_buffer(4 * PIXELS)
        cls.penstock.call("penstock_finish_into", batch, c.byref(cls.finish), floats, c.c_size_t(4 * PIXELS))
        found = c.string_at(info.images, info.image_bytes), info.labels[:ROWS], floats.raw
        cls.penstock.library.penstock_release(batch)
        cls.penstock.library.penstock_close(session)
        return found

    def next_on_stream(self, session):
        batch = c.c_void_p()
        self.penstock.call("penstock_next_on_stream", session, c.c_void_p(), c.c_int64(-1), c.byref(batch))
        return batch

    def test_the_stored_images_are_in_gpu_memory_until_the_stream_releases_them(self):
        session = self.session(b"cuda")
        batch = self.next_on_stream(session)
        info, images, labels = self.info(batch), c.c_void_p(), c.c_void_p()
        self.penstock.call("penstock_batch_device", batch, c.byref(images), c.byref(labels))

        self.assertEqual((info.on_device, bool(info.images)), (1, False))
        self.assertEqual(CUDA.read(images.value, PIXELS), self.images)
        self.assertEqual(CUDA.read(labels.value, 8 * ROWS), b"".join(label.to_bytes(8, "little") for label in self.labels))
        copied = c.create_string_buffer(PIXELS)
        self.penstock.call("penstock_copy_images", batch, copied, c.c_size_t(PIXELS))
        self.assertEqual(copied.raw, self.images)
        self.penstock.call("penstock_release_on_stream", batch, c.c_void_p())
        self.penstock.call("penstock_batch_device", batch, c.byref(images), None)
        self.assertIsNone(images.value)
        self.penstock.library.penstock_release(batch)
        self.penstock.library.penstock_close(session)

    def test_a_finish_on_a_stream_gives_the_hosts_floats(self):
        into = Into(struct_size=c.sizeof(Into), images=CUDA.memory(4 * PIXELS), image_bytes=4 * PIXELS,
                    labels=CUDA.memory(8 * ROWS))
        session = self.session(b"cuda")
        batch = self.next_on_stream(session)
        self.penstock.call("penstock_finish_on_stream", batch, c.byref(self.finish), c.byref(into), c.c_void_p())
        self.penstock.library.penstock_release(batch)

        self.assertEqual(CUDA.read(into.images, 4 * PIXELS), self.floats)
        self.penstock.library.penstock_close(session)

    def test_next_into_gives_them_in_one_call(self):
        into = Into(struct_size=c.sizeof(Into), images=CUDA.memory(4 * PIXELS), image_bytes=4 * PIXELS,
                    labels=CUDA.memory(8 * ROWS))
        session = self.session(b"cuda")
        info = binding.BatchInfo(struct_size=c.sizeof(binding.BatchInfo))
        self.penstock.call("penstock_next_into", session, c.byref(self.finish), c.byref(into), c.c_void_p(), c.c_int64(-1),
                           c.byref(info))

        self.assertEqual((info.rows, info.step), (ROWS, 0))
        self.assertEqual(CUDA.read(into.images, 4 * PIXELS), self.floats)
        with self.assertRaisesRegex(binding.PenstockError, "host|GPU|device"):
            batch = self.next_on_stream(session)
            try:
                self.penstock.call("penstock_finish_into", batch, c.byref(self.finish), c.create_string_buffer(4 * PIXELS),
                                   c.c_size_t(4 * PIXELS))
            finally:
                self.penstock.library.penstock_release(batch)
        self.penstock.library.penstock_close(session)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
