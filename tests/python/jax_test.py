"""Tests penstock.jax.Loader on four CPU devices, and how memory is lent to JAX."""
import gc
import os
import pickle
import types
import unittest
import weakref
from unittest import mock

import support

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
jax = support.need("jax")

import jax.dlpack  # noqa: E402, F811
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import penstock  # noqa: E402
import penstock.jax  # noqa: E402

CROP = [penstock.RandomResizedCrop(32), penstock.HorizontalFlip()]


class JaxLoaderTest(support.FeedTest):
    def loader(self, *arguments, **keywords):
        loader = penstock.jax.Loader(self.photographs, *arguments, transform=CROP, timeout=20, **keywords)
        self.addCleanup(loader.close)
        return loader

    def expected(self, **keywords):
        loader = penstock.Loader(self.photographs, 20, transform=CROP, timeout=20, **keywords)
        self.addCleanup(loader.close)
        return [(batch["image"].copy(), batch["label"], batch.sample_ids) for batch in loader]

    def test_a_sharding_and_a_device_exclude_each_other(self):
        sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))

        with self.assertRaisesRegex(penstock.InvalidArgument, "sharding and device"):
            self.loader(sharding=sharding, device=jax.devices()[0])

    def test_a_platform_that_penstock_does_not_deliver_to_is_refused(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "'tpu'"):
            self.loader(device=types.SimpleNamespace(platform="tpu"))

    def test_it_is_not_pickled(self):
        with self.assertRaisesRegex(TypeError, "state_dict"):
            pickle.dumps(self.loader())

    def test_batches_are_jaxs_arrays_of_the_same_numbers(self):
        expected = self.expected(dtype="float32", shuffle=True, seed=3)

        batches = list(self.loader(20, shuffle=True, seed=3))

        self.assertEqual(len(batches), 5)
        for batch, (image, label, sample_ids) in zip(batches, expected):
            self.assertIsInstance(batch["image"], jax.Array)
            self.assertEqual((batch["image"].dtype, batch["label"].dtype), (np.float32, np.int32))
            np.testing.assert_array_equal(batch["image"], image)
            np.testing.assert_array_equal(batch["label"], label)
            np.testing.assert_array_equal(batch.sample_ids, sample_ids)

    def test_batches_may_be_kept_whatever_the_window(self):
        for dtype in ("uint8", "float32"):
            with self.subTest(dtype):
                kept = [batch["image"] for batch in self.loader(20, dtype=dtype, prefetch_factor=1)]

                self.assertEqual([image.shape for image in kept], [(20, 32, 32, 3)] * 5)

    def test_bfloat16_is_jaxs(self):
        exact = self.expected(dtype="float32")[0][0]

        image = next(iter(self.loader(20, dtype=jax.numpy.bfloat16)))["image"]

        self.assertEqual(image.dtype, jax.numpy.bfloat16)
        np.testing.assert_array_equal(image, exact.astype(jax.numpy.bfloat16))

    def test_a_sharding_spreads_a_batch_over_its_devices(self):
        sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
        image, label, _ = self.expected(dtype="float32")[0]

        batch = next(iter(self.loader(20, sharding=sharding)))

        self.assertEqual(batch["image"].sharding, sharding)
        self.assertEqual([shard.data.shape[0] for shard in batch["image"].addressable_shards], [5] * 4)
        np.testing.assert_array_equal(batch["image"], image)
        np.testing.assert_array_equal(batch["label"], label)

    def test_a_device_can_be_named(self):
        device = jax.devices()[2]

        batch = next(iter(self.loader(20, device=device)))

        self.assertEqual(batch["image"].devices(), {device})

    def test_a_compiled_step_takes_it(self):
        step = jax.jit(lambda image, label: image.mean() + label.sum())

        values = [float(step(batch["image"], batch["label"])) for batch in self.loader(20)]

        self.assertEqual(len(values), 5)

    def test_processes_of_jax_are_ranks(self):
        with mock.patch.object(jax, "process_count", lambda: 4), mock.patch.object(jax, "process_index", lambda: 1):
            self.assertIn("rank 1 of 4", repr(self.loader()))


class Lent:
    """Stands in for a penstock.Array."""

    def __init__(self, name):
        self.name = name

    def lend_to(self, kept, stream, max_version):
        return kept


class LentTest(unittest.TestCase):
    """Uses a fake JAX that keeps foreign memory as XLA does, and a fake computation behind it that ends when told."""

    def setUp(self):
        self.alive = weakref.WeakSet()
        self.ended = False
        self.owner = penstock.jax._Owner(jax.devices()[0])
        self.owner._compute = lambda value: types.SimpleNamespace(is_ready=lambda: self.ended)
        self.enterContext(mock.patch.object(jax.dlpack, "from_dlpack", self.import_lent))

    @staticmethod
    def import_lent(owner, device=None):
        return types.SimpleNamespace(memory=owner.__dlpack__(stream=7, max_version=(1, 0)))

    def lend(self, name):
        array = Lent(name=name)
        self.alive.add(array)
        return self.owner.lend(array)

    def kept(self):
        gc.collect()
        return sorted(array.name for array in self.alive)

    def test_memory_that_jax_uses_is_kept_though_the_rest_has_ended(self):
        used = self.lend(0)
        self.ended = True

        for name in range(1, 5):
            self.lend(name)

        self.assertIsNotNone(used)
        self.assertEqual(self.kept(), [0, 4])  # array 4: no computation was queued behind it yet

    def test_memory_that_jax_let_go_of_is_kept_until_what_came_behind_has_ended(self):
        for name in range(3):
            self.lend(name)
        self.assertEqual(self.kept(), [0, 1, 2])

        self.ended = True
        self.lend(3)

        self.assertEqual(self.kept(), [3])

    def test_memory_that_jax_uses_outlives_its_owner(self):
        used = self.lend(0)

        del self.owner

        self.assertEqual(self.kept(), [0])
        del used
        self.assertEqual(self.kept(), [])


if __name__ == "__main__":
    support.main()
