"""Tests decode="gpu" of penstock.Loader and penstock.jax.Loader: the samples and bytes of penstock.torch's."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

numpy = support.need("numpy")
cupy = support.need("cupy")

import penstock  # noqa: E402

CROP = [penstock.RandomResizedCrop(64), penstock.HorizontalFlip()]
ASKED = {"batch_size": 10, "shuffle": True, "transform": CROP, "timeout": 60}


class ArraysTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            with penstock.Loader(cls.photographs, **ASKED, device="cuda", decode="gpu") as loader:
                cls.expected = [(list(batch.sample_ids), cupy.asnumpy(cupy.from_dlpack(batch["image"]))) for batch in loader]
        except penstock.FailedPrecondition as error:
            support.skip(f"the GPU cannot decode: {error}")

    def test_the_samples_are_the_workers(self):
        with penstock.Loader(self.photographs, **ASKED) as workers:
            for (ids, image), batch in zip(self.expected, workers, strict=True):
                self.assertEqual(ids, list(batch.sample_ids))
                self.assertLess(numpy.abs(image.astype(int) - batch["image"]).mean(), 3.0)

    def test_jax_has_the_same_bytes(self):
        jax = support.need("jax")
        import penstock.jax
        with penstock.jax.Loader(self.photographs, **ASKED, dtype="uint8", device=jax.devices("gpu")[0], decode="gpu") as loader:
            for (ids, image), batch in zip(self.expected, loader, strict=True):
                self.assertEqual(ids, list(batch.sample_ids))
                self.assertTrue(numpy.array_equal(numpy.asarray(batch["image"]), image))


if __name__ == "__main__":
    support.main()
