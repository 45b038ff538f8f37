"""Serves images that a list names, images whose names have the label, and CIFAR's files."""
import json
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import support  # noqa: E402

np = support.need("numpy")
support.need("PIL")

import penstock  # noqa: E402
from PIL import Image  # noqa: E402

MIDDLE = [penstock.Resize(40), penstock.CenterCrop(40)]
COUNT = 20


class ListsTest(support.FeedTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "d")
        (self.folder / "images").mkdir(parents=True)
        for sample in range(COUNT):
            Image.new("RGB", (40, 40), (sample, 2 * sample, 3 * sample)).save(self.file(sample))

    def file(self, sample):
        return self.folder / "images" / f"{'cat' if sample % 3 else 'dog'}_{sample:02}.png"

    def loader(self, text, **keywords):
        loader = penstock.Loader(text, batch_size=COUNT, timeout=20, transform=MIDDLE, **keywords)
        self.addCleanup(loader.close)
        return loader

    def check(self, batch, samples):
        self.assertEqual(batch["image"][:, 0, 0].tolist(), [[sample, 2 * sample, 3 * sample] for sample in samples])

    def test_a_table_gives_its_rows_with_labels_and_fields(self):
        order = [*range(COUNT - 1, -1, -1)]
        rows = [f"images/{self.file(s).name}\t{s % 3}\t{s / 4}\t{s << 40}\twords" for s in order]
        (self.folder / "x.tsv").write_text("\n".join(["path\tlabel\tangle\tid\tnote", *rows]))

        loader = self.loader(f"list:{self.folder}/x.tsv", fields=["angle", "id"])
        [batch] = loader

        self.check(batch, order)
        self.assertEqual(batch["label"].tolist(), [s % 3 for s in order])
        self.assertEqual(batch["angle"].dtype, np.float64)
        self.assertEqual(batch["angle"].tolist(), [s / 4 for s in order])
        self.assertEqual(batch["id"].tolist(), [s << 40 for s in order])
        self.assertEqual(loader.dataset.kind, "list")
        self.assertEqual(dict(loader.dataset.fields), {"angle": ("float64", ()), "id": ("int64", ())})
        with self.assertRaisesRegex(penstock.InvalidArgument, "have no 'note'"):
            list(self.loader(f"list:{self.folder}/x.tsv", fields=["note"]))

    def test_json_lines_with_names_of_classes(self):
        lines = [json.dumps({"file": self.file(s).name, "kind": self.file(s).name[:3]}) for s in range(COUNT)]
        (self.folder / "x.jsonl").write_text("\n".join(lines))

        loader = self.loader(f"list:{self.folder}/x.jsonl,path=file,label=kind,root={self.folder}/images")
        [batch] = loader

        self.check(batch, range(COUNT))
        self.assertEqual(list(loader.dataset.classes), ["cat", "dog"])
        self.assertEqual(batch["label"].tolist(), [int(s % 3 == 0) for s in range(COUNT)])
        self.assertEqual(loader.dataset.samples[3], (str(self.file(3)), 1))

    def test_labels_in_file_names(self):
        loader = self.loader(rf"folder:{self.folder}/images,label=([^/]*)_\d+[.]png")
        [batch] = loader

        names = sorted(self.file(s).name for s in range(COUNT))
        self.check(batch, [int(name[4:6]) for name in names])
        self.assertEqual(batch["label"].tolist(), [int(name.startswith("dog")) for name in names])
        self.assertEqual(list(loader.dataset.classes), ["cat", "dog"])

    def test_cifars_files_give_their_images_with_channels_last(self):
        planes = np.random.default_rng(0).integers(0, 256, (5, 2, 3, 32, 32), dtype=np.uint8)
        for number, batch in enumerate(planes, 1):
            (self.folder / f"data_batch_{number}.bin").write_bytes(
                b"".join(bytes([number]) + image.tobytes() for image in batch))

        loader = penstock.Loader(f"cifar:{self.folder}", batch_size=4, shuffle=True, timeout=20)
        self.addCleanup(loader.close)
        batches = [(batch["image"].copy(), batch["label"].copy(), batch.sample_ids) for batch in loader]

        ids = np.concatenate([ids for _, _, ids in batches])
        self.assertEqual(sorted(ids), list(range(10)))
        np.testing.assert_array_equal(np.concatenate([images for images, _, _ in batches]),
                                      planes.reshape(10, 3, 32, 32).transpose(0, 2, 3, 1)[ids])
        self.assertEqual(np.concatenate([labels for _, labels, _ in batches]).tolist(), [sample // 2 + 1 for sample in ids])
        self.assertEqual(loader.dataset.classes[3], "cat")
        self.assertEqual(loader.dataset.row_shape, (32, 32, 3))

    def test_what_is_wrong_is_told_with_its_line(self):
        (self.folder / "x.csv").write_text("path,label\nimages/cat_01.png,1\nimages/none.png,2\n")
        with self.assertRaisesRegex(penstock.Error, r"x\.csv:3: .*none\.png"):
            list(self.loader(f"list:{self.folder}/x.csv"))
        (self.folder / "x.csv").write_text("path,label\nimages/cat_01.png,1\nimages/cat_02.png\n")
        with self.assertRaisesRegex(penstock.InvalidArgument, r"x\.csv:3: the row has 1 cells, expected 2"):
            list(self.loader(f"list:{self.folder}/x.csv"))
        with self.assertRaisesRegex(penstock.InvalidArgument, "does not match"):
            list(self.loader(f"folder:{self.folder}/images,label=(dog)_.*"))

    def test_a_list_that_changes_is_read_again_by_the_next_loader(self):
        for samples in ([1, 2, 3], [4, 5], [4, 5]):
            (self.folder / "x.csv").write_text("".join(f"images/{self.file(s).name}\n" for s in samples))
            [batch] = self.loader(f"list:{self.folder}/x.csv")
            self.check(batch, samples)


if __name__ == "__main__":
    support.main()
