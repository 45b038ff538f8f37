"""Several views of each sample: each is what the sample's file and its own draws give."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

numpy = support.need("numpy")
torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

SPECIFIED = support.draw()
LARGE = [penstock.RandomResizedCrop(48, (0.3, 1.0)), penstock.HorizontalFlip(), penstock.ColorJitter(0.4, 0.4)]
SMALL = [penstock.RandomResizedCrop(24, (0.05, 0.3), interpolation="bicubic"), penstock.HorizontalFlip()]
NORMALIZE = penstock.Normalize("imagenet")
SEED = 3


class ViewsTest(support.FeedTest):
    def loader(self, views, kind=penstock.Loader, **keywords):
        keywords = dict(dict(batch_size=20, shuffle=True, seed=SEED), **keywords)
        loader = kind(self.photographs, views=views, **keywords)
        self.addCleanup(loader.close)
        return loader

    def test_the_first_view_is_what_a_loader_of_it_alone_gives(self):
        alone = penstock.Loader(self.photographs, 20, shuffle=True, seed=SEED, transform=LARGE)
        self.addCleanup(alone.close)
        for plain, batch in zip(alone, self.loader({"one": LARGE, "two": SMALL})):
            self.assertEqual(list(batch.keys()), ["one", "two", "label"])
            self.assertTrue(numpy.array_equal(plain["image"], batch["one"]))
            self.assertTrue(numpy.array_equal(plain["label"], batch["label"]))
            self.assertEqual((batch["one"].shape, batch["two"].shape), ((20, 48, 48, 3), (20, 24, 24, 3)))

    def test_views_of_one_transform_draw_each_on_their_own(self):
        views = penstock.MultiCrop((2, LARGE), (6, SMALL))
        self.assertEqual(list(views), [f"crop_{i}" for i in range(8)])
        for batch in self.loader(views):
            for kind in (range(2), range(2, 8)):
                rows = {batch[f"crop_{i}"].tobytes() for i in kind}
                self.assertEqual(len(rows), len(kind))

    def test_a_view_is_drawn_by_its_number(self):
        from PIL import Image
        crop, box = penstock.RandomResizedCrop(40), SPECIFIED["crop"]
        loader = self.loader({"a": [crop], "b": [crop]})
        files = [path for path, _ in loader.dataset.samples]
        for batch in loader:
            for sample, row in zip(batch.sample_ids.tolist(), batch["b"]):
                image = Image.open(files[sample]).convert("RGB")
                x, y, width, height = box(*image.size, (SEED, batch.position.epoch, sample), first=1 << 24)
                expected = image.crop((x, y, x + width, y + height)).resize((40, 40), Image.BILINEAR)
                self.assertTrue(numpy.array_equal(numpy.asarray(expected), row))

    def test_each_kind_of_geometry_beside_each_other(self):
        middle, whole = [penstock.Resize(56), penstock.CenterCrop(48)], [penstock.RandomRotation(20, expand=True), penstock.Resize((40, 30))]
        views = {"crop": LARGE, "middle": middle, "whole": whole, "nearest": [penstock.RandomResizedCrop(32, interpolation="nearest")]}
        together = [{name: rows.copy() for name, rows in batch.items()} for batch in self.loader(views)]
        for number, (name, steps) in enumerate(views.items()):
            fillers = {f"filler_{i}": [penstock.RandomResizedCrop(8)] for i in range(number)}  # so that it has its number
            for batch, expected in zip(self.loader({**fillers, name: steps}), together):
                self.assertTrue(numpy.array_equal(batch[name], expected[name]), name)

    def test_tensors_are_finished_each_as_its_transform_says(self):
        other = penstock.Normalize("half")
        views = {"a": [*LARGE, NORMALIZE], "b": [*SMALL, other]}
        for memory_format in (torch.contiguous_format, torch.channels_last):
            stored = self.loader({"a": LARGE, "b": SMALL})
            loader = self.loader(views, penstock.torch.DataLoader, memory_format=memory_format)
            for plain, batch in zip(stored, loader):
                for name, normalize in (("a", NORMALIZE), ("b", other)):
                    mean, std = (torch.tensor(numbers).view(-1, 1, 1) for numbers in (normalize.mean, normalize.std))
                    expected = torch.from_numpy(plain[name].copy()).permute(0, 3, 1, 2).to(torch.float32).div(255).sub(mean).div(std)
                    self.assertTrue(torch.equal(batch[name], expected))
                    self.assertTrue(batch[name].is_contiguous(memory_format=memory_format))

    def test_boxes_are_erased_from_each_view_on_their_own(self):
        erase = penstock.RandomErasing(1, (0.1, 0.2), value=9.0)
        loader = self.loader({"a": [*LARGE, NORMALIZE, erase], "b": [*LARGE, NORMALIZE, erase]}, penstock.torch.DataLoader)
        boxes = [(batch[name] == 9).sum(dim=(1, 2, 3)) for batch in loader for name in ("a", "b")]
        self.assertTrue(all(bool((box > 0).all()) for box in boxes))
        self.assertFalse(torch.equal(boxes[0], boxes[1]))

    def test_gray_views(self):
        gray = penstock.Grayscale()
        batch = next(iter(self.loader({"a": [gray, *LARGE[:2]], "b": [gray, *SMALL]})))
        self.assertEqual((batch["a"].shape, batch["b"].shape), ((20, 48, 48, 1), (20, 24, 24, 1)))

    def test_a_state_knows_its_views(self):
        loader = self.loader({"a": LARGE, "b": SMALL})
        next(iter(loader))
        state = loader.state_dict()
        for views in ({"a": LARGE}, {"a": LARGE, "b": LARGE}, {"a": LARGE, "c": SMALL}):
            with self.subTest(views=views), self.assertRaises(penstock.FailedPrecondition):
                other = self.loader(views)
                other.load_state_dict(state)
                next(iter(other))

    def test_what_cannot_be_is_refused(self):
        for words, views, keywords in (
                ("exclude", {"a": LARGE}, {"transform": LARGE}), ("give 1 to 16", {}, {}), ("give 1 to 16", [LARGE], {}),
                ("different sizes", {"a": [penstock.Resize(40)]}, {}), ("differ in Grayscale", {"a": LARGE, "b": [penstock.Grayscale(), *LARGE]}, {}),
                ("mix and views", {"a": LARGE, "b": LARGE}, {"mix": penstock.MixUp(), "dtype": "float32"}),
                ("name of another image|is the name", {"a": LARGE, "image": LARGE}, {})):
            with self.subTest(words), self.assertRaisesRegex(penstock.InvalidArgument, words):
                next(iter(self.loader(views, **keywords)))


if __name__ == "__main__":
    support.main()
