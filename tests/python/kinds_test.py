"""Folders of images of several kinds: each file gives its own picture, or is refused; never another's."""
import pathlib
import tempfile

import support

np = support.need("numpy")
support.need("PIL")

import penstock  # noqa: E402
from PIL import Image  # noqa: E402

KINDS = ("jpg", "png", "bmp", "tiff", "tif", "ppm", "pgm", "webp")


class KindsTest(support.FeedTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "data")
        (self.folder / "class").mkdir(parents=True)

    def loader(self, **keywords):
        loader = penstock.Loader(self.folder, batch_size=64, timeout=20,
                                 transform=[penstock.Resize(40), penstock.CenterCrop(40)], **keywords)
        self.addCleanup(loader.close)
        return loader

    def test_each_kind_that_counts_as_a_sample_gives_its_own_pixels(self):
        rng = np.random.default_rng(3)
        for place, kind in enumerate(KINDS):
            image = Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8))
            (image.convert("L") if kind == "pgm" else image).save(self.folder / "class" / f"{place}.{kind}")

        [batch] = self.loader(fail_on_bad_sample=True)

        self.assertEqual(batch.sample_ids.tolist(), list(range(len(KINDS))))
        for place, kind in enumerate(KINDS):
            with self.subTest(kind), Image.open(self.folder / "class" / f"{place}.{kind}") as image:
                np.testing.assert_array_equal(batch["image"][place], np.asarray(image.convert("RGB")))

    def test_a_folder_of_which_no_file_is_decoded_fails_with_the_count(self):
        for place in range(30):
            picture = Image.new("L", (40, 40), place)
            picture.convert("1").save(self.folder / "class" / f"{place:02}.tiff", compression="group4")

        with self.assertRaisesRegex(penstock.Error, "11 of the dataset's 30 could not be used"):
            list(self.loader())


if __name__ == "__main__":
    support.main()
