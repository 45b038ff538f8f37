"""Serves folders of images of several kinds: each file gives its own picture or is refused, and never gives
another's."""
import pathlib
import tempfile
import warnings

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
            Image.new("LAB", (40, 40), (place, 0, 0)).save(self.folder / "class" / f"{place:02}.tiff")

        with self.assertRaisesRegex(penstock.Error, "11 of the dataset's 30 could not be used"):
            list(self.loader())

    def write(self, sound, bad):
        for place in range(sound):
            Image.new("RGB", (40, 40), (place, 0, 0)).save(self.folder / "class" / f"a{place:02}.jpg")
        for place in range(bad):
            Image.new("LAB", (40, 40)).save(self.folder / "class" / f"bad-{place}.tiff")

    def test_rows_in_which_another_sample_stands_in_are_warned_of_with_path_and_reason(self):
        self.write(sound=20, bad=1)
        loader = self.loader()

        with self.assertWarnsRegex(penstock.BadSampleWarning, r"\d+ rows? of \d+ .*bad-0\.tiff: unsupported kind\.") as seen:
            [batch] = loader

        self.assertEqual(len(batch["image"]), 21)
        self.assertEqual(seen.filename, __file__)
        self.assertGreaterEqual(loader.stats()["samples_replaced"], 1)

    def test_each_doubling_is_warned_of_and_nothing_else(self):
        self.write(sound=20, bad=1)
        loader, counts = self.loader(), []
        for _ in range(9):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                list(loader)
            counts += [str(warning.message).split(" row")[0] for warning in seen]

        self.assertGreater(len(counts), 0)
        self.assertTrue(all(int(after) >= 2 * int(before) for before, after in zip(counts, counts[1:])), counts)
        self.assertLess(len(counts), 6)

    def test_sound_samples_are_not_warned_of(self):
        self.write(sound=20, bad=0)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            [_] = self.loader()

    def test_who_asks_for_it_is_stopped_at_the_first_bad_sample(self):
        self.write(sound=20, bad=1)

        with self.assertRaisesRegex(penstock.DataLoss, r"bad-0\.tiff"):
            list(self.loader(fail_on_bad_sample=True))


if __name__ == "__main__":
    support.main()
