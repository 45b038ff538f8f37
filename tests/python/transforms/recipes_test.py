"""Recipes through the daemon: each row is what the decoder makes of the sample's file and key, in any process."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

numpy = support.need("numpy")
if not any(pathlib.Path(__import__("penstock").__file__).parent.glob("_decode*.so")):
    support.skip("the extension penstock._decode is not built")

import penstock  # noqa: E402
from penstock import _decode  # noqa: E402
from penstock._pydata.images import decoding  # noqa: E402
from penstock.transforms import plan_of  # noqa: E402

CROP = penstock.RandomResizedCrop(48)
RECIPES = {
    "flips": [CROP, penstock.VerticalFlip(), penstock.HorizontalFlip()],
    "warps": [CROP, penstock.RandomRotation(30, "bilinear"), penstock.RandomAffine(10, (0.1, 0.2), (0.8, 1.2), 5, "bicubic", 9),
              penstock.RandomPerspective(0.4, 0.7)],
    "colors": [CROP, penstock.ColorJitter(0.4, 0.4, 0.4, 0.1), penstock.RandomGrayscale(0.3), penstock.GaussianBlur(5),
               penstock.RandomSolarize(128), penstock.RandomPosterize(3), penstock.RandomEqualize(), penstock.RandomAutocontrast(),
               penstock.RandomInvert(), penstock.RandomAdjustSharpness(2)],
    "RandAugment": [CROP, penstock.HorizontalFlip(), penstock.RandAugment(3, 12)],
    "TrivialAugmentWide": [CROP, penstock.TrivialAugmentWide(interpolation="bilinear")],
    "AutoAugment": [penstock.Resize(64), penstock.CenterCrop(48), penstock.AutoAugment("imagenet")],
    "AugMix": [CROP, penstock.AugMix()],
    "groups": [CROP, penstock.RandomApply([penstock.RandomInvert(1), penstock.GaussianBlur(3)], 0.5),
               penstock.RandomChoice([penstock.RandomInvert(1), [penstock.VerticalFlip(1), penstock.RandomPosterize(2, 1)]], [1, 2]),
               penstock.RandomOrder([penstock.RandomSolarize(100), penstock.HorizontalFlip(), penstock.RandomEqualize()])],
    "bicubic": [penstock.RandomResizedCrop(48, interpolation="bicubic")],
    "Lanczos": [penstock.Resize(56, "lanczos"), penstock.CenterCrop(48)],
    "nearest": [penstock.RandomResizedCrop(48, interpolation="nearest")],
    "small crops": [penstock.RandomCrop(48, padding=4, pad_if_needed=True, fill=(1, 2, 3)), penstock.HorizontalFlip()],
    "crops of the shorter side": [penstock.Resize(60), penstock.RandomCrop(48)],
    "fixed sides": [penstock.Resize((40, 48), "bicubic"), penstock.Pad((0, 4), padding_mode="reflect")],
    "random scales": [penstock.RandomShortestSize((40, 60), 90), penstock.ScaleJitter((64, 64), (0.8, 1.5)), penstock.RandomCrop(48, pad_if_needed=True)],
    "random sides": [penstock.RandomResize(40, 90, "bicubic"), penstock.RandomCrop(48, pad_if_needed=True)],
    "turned first": [penstock.RandomRotation(20, expand=True), CROP],
    "gray": [penstock.Grayscale(), CROP, penstock.RandAugment(), penstock.ColorJitter(0.5, 0.5)],
}
SEED = 5


class RecipesTest(support.FeedTest):
    def loader(self, transform, **keywords):
        loader = penstock.Loader(self.photographs, 4, shuffle=True, seed=SEED, transform=transform, **keywords)
        self.addCleanup(loader.close)
        return loader

    def test_each_row_is_what_the_sample_and_its_key_give(self):
        for name, transform in RECIPES.items():
            with self.subTest(name), self.loader(transform) as loader:
                files = [path for path, _ in loader.dataset.samples]
                spec = decoding.spec_of(plan_of(transform))
                rows = set()
                for epoch in range(2):
                    for batch in loader:
                        for sample, got in zip(batch.sample_ids.tolist(), batch["image"]):
                            expected = self.decoded(files[sample], spec, epoch, sample)
                            self.assertTrue(numpy.array_equal(got, expected), (files[sample], epoch))
                            rows.add(got.tobytes())
                draws = any(hasattr(step, "op") and not isinstance(step, (penstock.Resize, penstock.CenterCrop, penstock.Pad)) for step in transform)
                self.assertEqual(len(rows) > len(files), draws)  # it differs from epoch to epoch

    def decoded(self, file, spec, epoch, sample):
        data = numpy.frombuffer(pathlib.Path(file).read_bytes(), numpy.uint8)
        decoder = _decode.Decoder(1 << 30, 100_000_000, 100)
        row = numpy.empty(decoder.shape(data, spec), numpy.uint8)
        self.assertIsNone(decoder.decode_row(data, spec, SEED, epoch, sample, row.reshape(-1)))
        return row

    def test_each_step_changes_the_rows(self):
        made = {}
        for name, transform in RECIPES.items():
            if transform[0] is CROP:
                with self.loader(transform) as loader:
                    made[name] = numpy.concatenate([batch["image"].copy() for batch in loader])
        with self.loader([CROP]) as loader:
            made["none"] = numpy.concatenate([batch["image"].copy() for batch in loader])
        for one, other in itertools.combinations(made, 2):
            self.assertFalse(numpy.array_equal(made[one], made[other]), (one, other))

    def test_a_state_of_another_recipe_is_refused(self):
        loader = self.loader([CROP, penstock.RandAugment(2, 9)])
        next(iter(loader))
        state = loader.state_dict()
        for other in ([CROP], [CROP, penstock.RandAugment(2, 10)], [CROP, penstock.RandAugment(2, 9, fill=1)],
                      [CROP, penstock.RandAugment(2, 9, interpolation="bilinear")], [CROP, penstock.TrivialAugmentWide()],
                      [penstock.RandomResizedCrop(48, interpolation="bicubic"), penstock.RandAugment(2, 9)]):
            with self.subTest(other=other), self.assertRaises(penstock.FailedPrecondition):
                with self.loader(other) as resumed:
                    resumed.load_state_dict(state)
                    next(iter(resumed))
        with self.loader([CROP, penstock.RandAugment(2, 9)]) as same:
            same.load_state_dict(state)
            next(iter(same))

    def test_rows_that_need_no_decoding_have_no_recipe(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "decod"):
            next(iter(penstock.Loader("synthetic:8x8x3,samples=16,classes=2", 4, transform=[CROP, penstock.RandAugment()])))


if __name__ == "__main__":
    support.main()
