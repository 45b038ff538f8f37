"""Tests penstock.Array and penstock.jax on a GPU: every installed framework sees the same bytes as in host memory,
without a copy, and no memory is overwritten before its readers have finished."""
import gc
import os
import unittest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import support  # noqa: E402

np = support.need("numpy")

import penstock  # noqa: E402
from penstock import _penstock as native  # noqa: E402

try:
    native.DevicePool.open(0)
except penstock.Error as error:
    support.skip(f"no GPU: {error}")

CROP = [penstock.RandomResizedCrop(64), penstock.HorizontalFlip()]
BATCH = 20  # 5 batches in an epoch of 100 photographs
DELIVERIES = ("device", "pinned")


def imported(name):
    try:
        return __import__(name), None
    except ImportError as error:
        return None, f"{name} is not installed ({error})"


# Before any daemon is started: a private daemon does not wait for slow imports.
FRAMEWORKS = {name: imported(name) for name in ("torch", "cupy", "jax")}


def framework(name):
    module, missing = FRAMEWORKS[name]
    if module is None:
        raise unittest.SkipTest(missing)
    return module


class GpuTest(support.FeedTest):
    def loader(self, kind=penstock.Loader, **keywords):
        keywords = {"batch_size": BATCH, "shuffle": True, "seed": 11, "transform": CROP, "timeout": 60, **keywords}
        if kind is penstock.Loader:
            keywords.setdefault("device", "cuda:0")
        loader = kind(self.photographs, **keywords)
        self.addCleanup(loader.close)
        return loader

    def expected(self, epochs=1, **keywords):
        """Returns the same batches in host memory."""
        loader = self.loader(device="cpu", **keywords)
        return [(batch["image"].copy(), batch["label"].copy()) for _ in range(epochs) for batch in loader]


class TorchTest(GpuTest):
    def setUp(self):
        self.torch = framework("torch")
        if not self.torch.cuda.is_available():
            self.skipTest("torch sees no GPU")

    def delay(self, stream, cycles=400_000_000):
        """Keeps a stream busy for about a fifth of a second."""
        with self.torch.cuda.stream(stream):
            self.torch.cuda._sleep(cycles)

    def test_every_type_layout_and_delivery_has_the_hosts_bytes(self):
        for delivery in DELIVERIES:
            for dtype in ("uint8", "float32", "float16"):
                for layout in ("NHWC", "NCHW"):
                    with self.subTest(delivery=delivery, dtype=dtype, layout=layout):
                        asked = {"dtype": dtype, "layout": layout}
                        got = [tuple(self.torch.from_dlpack(batch[name]).cpu().numpy() for name in ("image", "label"))
                               for batch in self.loader(delivery=delivery, **asked)]

                        for (image, label), (wanted, labels) in zip(got, self.expected(**asked), strict=True):
                            np.testing.assert_array_equal(image, wanted)
                            np.testing.assert_array_equal(label, labels)

    def test_bfloat16_rounds_as_torch_does(self):
        exact = self.torch.from_numpy(self.expected(dtype="float32")[0][0])

        image = self.torch.from_dlpack(next(iter(self.loader(dtype="bfloat16")))["image"])

        self.assertTrue(self.torch.equal(image.cpu(), exact.to(self.torch.bfloat16)))

    def test_what_is_finished_is_not_copied(self):
        image = next(iter(self.loader(dtype="float32")))["image"]

        tensor = self.torch.from_dlpack(image)

        self.assertEqual(tensor.data_ptr(), image.__cuda_array_interface__["data"][0])

    def test_a_tensor_that_is_dropped_while_its_stream_still_reads_it_keeps_its_bytes(self):
        """The next batch may not overwrite the memory until that stream has read it."""
        for asked in ({"dtype": "uint8"}, {"dtype": "float32"}):
            for delivery in DELIVERIES:
                with self.subTest(delivery=delivery, **asked):
                    side = self.torch.cuda.Stream()
                    batches = iter(self.loader(delivery=delivery, **asked))
                    copies = []
                    for _ in range(5):
                        batch = next(batches)
                        self.delay(side, 100_000_000)
                        with self.torch.cuda.stream(side):
                            tensor = self.torch.from_dlpack(batch["image"])
                            copies.append(tensor.clone())
                        del tensor, batch
                    side.synchronize()

                    for copy, (wanted, _) in zip(copies, self.expected(**asked), strict=True):
                        np.testing.assert_array_equal(copy.cpu().numpy(), wanted)

    def test_a_tensor_used_on_another_stream_long_after_its_batch_keeps_its_bytes(self):
        loader = self.loader(dtype="float32")
        batch = next(iter(loader))
        tensor = self.torch.from_dlpack(batch["image"])
        del batch
        side = self.torch.cuda.Stream()
        self.delay(side)
        side.wait_stream(self.torch.cuda.current_stream())

        for _ in range(4):
            for _ in loader:
                pass
        with self.torch.cuda.stream(side):
            copy = tensor.clone()
        side.synchronize()

        np.testing.assert_array_equal(copy.cpu().numpy(), self.expected(dtype="float32")[0][0])

    def test_a_stream_that_is_recorded_holds_the_memory_as_well(self):
        for dtype in ("uint8", "float32"):
            with self.subTest(dtype):
                loader = self.loader(dtype=dtype)
                batch = next(iter(loader))
                tensor = self.torch.from_dlpack(batch["image"])
                side = self.torch.cuda.Stream()
                side.wait_stream(self.torch.cuda.current_stream())
                self.delay(side)
                with self.torch.cuda.stream(side):
                    copy = tensor.clone()
                batch["image"].record_stream(side)
                del tensor, batch

                for _ in range(4):
                    for _ in loader:
                        pass
                side.synchronize()

                np.testing.assert_array_equal(copy.cpu().numpy(), self.expected(dtype=dtype)[0][0])

    def test_slots_of_dropped_batches_come_back_and_kept_ones_are_refused_in_words(self):
        loader = self.loader()
        for _ in range(4):
            for batch in loader:
                self.torch.from_dlpack(batch["image"]).sum()
        del batch
        gc.collect()

        kept = []
        with self.assertRaisesRegex(penstock.ResourceExhausted, "hold"):
            for _ in range(10):
                kept += [batch["image"] for batch in loader]

        kept.clear()
        gc.collect()
        self.assertIsNotNone(next(iter(loader)))

    def test_finished_batches_may_be_kept(self):
        kept = [self.torch.from_dlpack(batch["image"]) for batch in self.loader(dtype="float16")]

        for tensor, (wanted, _) in zip(kept, self.expected(dtype="float16"), strict=True):
            np.testing.assert_array_equal(tensor.cpu().numpy(), wanted)

    def test_memory_does_not_grow(self):
        loader = self.loader(dtype="float32", batch_size=50)

        def used():
            for batch in loader:
                self.torch.from_dlpack(batch["image"]).sum()
            free, total = self.torch.cuda.mem_get_info()
            return total - free

        first = [used() for _ in range(3)][-1]
        last = [used() for _ in range(30)][-1]

        self.assertLessEqual(last - first, 2 << 20)

    def test_arrays_outlive_their_loader(self):
        for dtype in ("uint8", "float32"):
            with self.subTest(dtype):
                loader = self.loader(dtype=dtype)
                image = next(iter(loader))["image"]
                loader.close()
                del loader
                gc.collect()

                got = self.torch.from_dlpack(image).cpu().numpy()

                np.testing.assert_array_equal(got, self.expected(dtype=dtype)[0][0])


class CupyTest(GpuTest):
    def setUp(self):
        self.cupy = framework("cupy")

    def test_dlpack_gives_the_hosts_bytes(self):
        for dtype in ("uint8", "float32", "float16"):
            with self.subTest(dtype):
                got = [(self.cupy.asnumpy(self.cupy.from_dlpack(batch["image"])),
                        self.cupy.asnumpy(self.cupy.from_dlpack(batch["label"])))
                       for batch in self.loader(dtype=dtype)]

                for (image, label), (wanted, labels) in zip(got, self.expected(dtype=dtype), strict=True):
                    np.testing.assert_array_equal(image, wanted)
                    np.testing.assert_array_equal(label, labels)

    def test_the_cuda_array_interface_gives_them_without_a_copy(self):
        for dtype in ("uint8", "float32"):
            with self.subTest(dtype):
                image = next(iter(self.loader(dtype=dtype)))["image"]

                array = self.cupy.asarray(image)

                self.assertEqual(array.data.ptr, image.__cuda_array_interface__["data"][0])
                np.testing.assert_array_equal(self.cupy.asnumpy(array), self.expected(dtype=dtype)[0][0])

    def test_finished_arrays_are_not_copied_and_may_be_written(self):
        batches = iter(self.loader(dtype="float32"))
        image = next(batches)["image"]

        array = self.cupy.from_dlpack(image)
        array *= 2
        next(batches)

        self.assertEqual(array.data.ptr, image.__cuda_array_interface__["data"][0])
        np.testing.assert_array_equal(self.cupy.asnumpy(array), 2 * self.expected(dtype="float32")[0][0])

    def test_streams_of_its_own_wait_for_the_batch(self):
        with self.cupy.cuda.Stream(non_blocking=True) as stream:
            got = [self.cupy.asnumpy(self.cupy.from_dlpack(batch["image"]), stream=stream)
                   for batch in self.loader(dtype="float32")]
            stream.synchronize()

            for image, (wanted, _) in zip(got, self.expected(dtype="float32"), strict=True):
                np.testing.assert_array_equal(image, wanted)


class JaxTest(GpuTest):
    def setUp(self):
        self.jax = framework("jax")
        import penstock.jax
        self.kind = penstock.jax.Loader
        if self.jax.devices()[0].platform not in ("gpu", "cuda"):
            self.skipTest("JAX sees no GPU")

    def test_batches_have_the_hosts_bytes(self):
        for delivery in DELIVERIES:
            for dtype in ("uint8", "float32", "float16"):
                with self.subTest(delivery=delivery, dtype=dtype):
                    got = [(np.asarray(batch["image"]), np.asarray(batch["label"]))
                           for batch in self.loader(self.kind, dtype=dtype, delivery=delivery)]

                    for (image, label), (wanted, labels) in zip(got, self.expected(dtype=dtype), strict=True):
                        np.testing.assert_array_equal(image, wanted)
                        np.testing.assert_array_equal(label, labels)

    def test_a_sharding_over_the_processs_devices(self):
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        devices = np.array(self.jax.devices())
        sharding = NamedSharding(Mesh(devices, ("data",)), PartitionSpec("data"))
        rows = 5 * len(devices)

        batch = next(iter(self.loader(self.kind, batch_size=rows, sharding=sharding)))

        self.assertEqual(batch["image"].sharding, sharding)
        np.testing.assert_array_equal(np.asarray(batch["image"]),
                                      self.expected(batch_size=rows, dtype="float32")[0][0])

    def test_memory_that_a_queued_computation_still_reads_is_not_written(self):
        """Each step is queued behind long ones, and its input is dropped at once while more batches arrive."""
        numpy = self.jax.numpy
        side = numpy.ones((4096, 4096), numpy.bfloat16)
        slow = self.jax.jit(lambda image, side: (image.astype(numpy.float32).sum(axis=(1, 2, 3)),
                                                 self.jax.lax.fori_loop(0, 40, lambda _, x: x @ side * 1e-4, side)))
        epochs, sums = 4, []
        loader = self.loader(self.kind, dtype="uint8")
        for _ in range(epochs):
            for batch in loader:
                total, side = slow(batch["image"], side)
                sums.append(total)
                del batch

        wanted = [image.astype(np.float32).sum(axis=(1, 2, 3)) for image, _ in self.expected(epochs)]
        for total, expected in zip(sums, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(total), expected, rtol=1e-5)

    def test_batches_may_be_kept_and_outlive_their_loader(self):
        loader = self.loader(self.kind, dtype="float16")
        kept = [batch["image"] for batch in loader]
        loader.close()
        del loader
        gc.collect()

        for image, (wanted, _) in zip(kept, self.expected(dtype="float16"), strict=True):
            np.testing.assert_array_equal(np.asarray(image), wanted)

    def test_memory_is_used_again(self):
        loader = self.loader(self.kind, dtype="uint8")
        pointers = set()
        for _ in range(12):
            for batch in loader:
                batch["image"].block_until_ready()
                pointers.add(batch["image"].unsafe_buffer_pointer())
                del batch

        self.assertLess(len(pointers), 12)


if __name__ == "__main__":
    support.main()
