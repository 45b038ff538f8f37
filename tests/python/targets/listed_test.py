"""targets="list" of torch's loader, and what is refused in words."""
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import support  # noqa: E402

np = support.need("numpy")
torch = support.need("torch")
support.need("PIL")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
import reference  # noqa: E402
from reference import PAIRS, SAMPLES, Scene  # noqa: E402

MOST = 12
FIELDS = [penstock.Boxes("boxes", max=MOST), penstock.WithBoxes("labels", MOST), penstock.Mask("mask", 255)]
CANVAS = [penstock.RandomResize(40, 60), penstock.HorizontalFlip(), penstock.Canvas(160)]
PLACES = [("cpu", "auto")]
if torch.cuda.is_available():
    PLACES += [("cuda", "device"), ("cuda", "pinned")]


class ListedTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scenes = [Scene(number) for number in range(SAMPLES)]
        cls.records, cls.tar = os.path.join(cls.folder, "scenes.tfrecord"), os.path.join(cls.folder, "scenes.tar")
        reference.write_records(cls.records, cls.scenes)
        reference.write_tar(cls.tar, cls.scenes)

    def loader(self, dataset=None, **keywords):
        loader = penstock.torch.DataLoader(dataset or self.records, **{"batch_size": 8, "timeout": 60, "transform": CANVAS, **keywords})
        self.addCleanup(loader.close)
        return loader

    def test_images_and_their_targets_are_views_of_the_batch(self):
        for device, delivery in PLACES:
            with self.subTest(device=device, delivery=delivery):
                where = dict(fields=FIELDS, device=device, delivery=delivery, shuffle=True)
                seen = 0
                for batch, plain in zip(self.loader(targets="list", **where), self.loader(**where)):
                    images, targets = batch
                    self.assertEqual(batch.sample_ids.tolist(), plain.sample_ids.tolist())
                    for row, (image, target) in enumerate(zip(images, targets, strict=True)):
                        (height, width), count = plain["image_size"][row].tolist(), int(plain["boxes_length"][row])
                        self.assertEqual(set(target), {"boxes", "labels", "mask", "image_id"})
                        self.assertEqual(tuple(image.shape), (3, height, width))
                        self.assertEqual(tuple(target["mask"].shape), (height, width))
                        self.assertEqual(tuple(target["boxes"].shape), (count, 4))
                        self.assertEqual((target["labels"].dtype, target["image_id"]), (torch.int64, int(batch.sample_ids[row])))
                        self.assertTrue(torch.equal(image, plain["image"][row, :, :height, :width]))
                        self.assertTrue(torch.equal(target["boxes"], plain["boxes"][row, :count]))
                        self.assertTrue(torch.equal(target["labels"], plain["labels"][row, :count]))
                        self.assertTrue(torch.equal(target["mask"], plain["mask"][row, :height, :width]))
                        self.assertEqual(image.device.type, device)
                        self.assertEqual(image.data_ptr(), batch.whole["image"][row].data_ptr())
                        self.assertIn(target["boxes"].data_ptr(), (batch.whole["boxes"][row].data_ptr(), 0))  # 0 of no boxes
                        seen += 1
                self.assertEqual(seen, SAMPLES)

    def test_fields_get_the_names_that_a_model_wants(self):
        loader = self.loader(fields=FIELDS, targets={"masks": "mask", "bbox": "boxes"})
        images, targets = next(iter(loader))
        self.assertEqual(set(targets[0]), {"bbox", "labels", "masks", "image_id"})

    def test_it_moves_and_is_collated_as_a_whole(self):
        loader = self.loader(fields=FIELDS, targets="list")
        batch = next(iter(loader))
        moved = batch.to("cpu")
        self.assertEqual(moved.position, batch.position)
        self.assertTrue(torch.equal(moved[0][3], batch[0][3]))
        loader.collate_fn = lambda pair: len(pair[0])
        self.assertEqual(next(iter(loader)), 8)

    def test_without_a_canvas_images_have_one_size(self):
        loader = self.loader(self.tar, transform=[penstock.Resize((40, 50)), penstock.HorizontalFlip()],
                             fields=[penstock.Points("points.npy", PAIRS), penstock.Boxes("boxes.npy")], targets="list")
        images, targets = next(iter(loader))
        self.assertEqual({tuple(image.shape) for image in images}, {(3, 40, 50)})
        self.assertEqual(tuple(targets[0]["points.npy"].shape), (reference.POINTS, 3))

    def test_a_sample_alone_has_its_fields_by_name(self):
        loader = self.loader(fields=FIELDS, targets="list")
        self.assertIn("boxes", loader.dataset[3])

    def test_masks_may_be_the_integers_that_cross_entropy_takes(self):
        batch = next(iter(self.loader(fields=[penstock.Mask("mask", dtype="int64")])))
        self.assertEqual(batch["mask"].dtype, torch.int64)

    def test_torchvisions_detection_model_takes_a_batch(self):
        try:
            from torchvision.models.detection import ssdlite320_mobilenet_v3_large as make
        except ImportError:
            self.skipTest("torchvision is not installed")
        model = make(weights=None, weights_backbone=None, num_classes=91).train()
        images, targets = next(iter(self.loader(fields=FIELDS[:2], targets="list")))
        losses = model(images, targets)
        self.assertTrue(all(torch.isfinite(loss) for loss in losses.values()))

    def test_what_cannot_be_is_refused_in_words(self):
        crop, mixed = [penstock.Resize(60), penstock.RandomCrop(48)], dict(mix=penstock.MixUp(num_classes=9))
        policy = [*crop, penstock.RandAugment()]
        for words, dataset, keywords in (
                ("mixes images of different samples", None, dict(transform=crop, fields=FIELDS, **mixed)),
                ("those on a Canvas", None, mixed),
                ("one image of each sample", None, dict(transform=None, fields=FIELDS, views={"a": crop, "b": crop})),
                ("Canvas is for one image", None, dict(transform=None, views={"a": CANVAS, "b": crop})),
                ("RandAugment, is for images alone", None, dict(transform=policy, fields=FIELDS)),
                ("apply_exif_orientation", None, dict(transform=[penstock.ExifTranspose(), *crop], fields=FIELDS)),
                ("no reflections", None, dict(transform=[penstock.Resize(60), penstock.RandomCrop(64, 20, padding_mode="reflect")],
                                              fields=FIELDS)),
                ("say how many", None, dict(fields=[penstock.Boxes("boxes")])),
                ("needs the bytes of a PNG file", None, dict(fields=[penstock.Mask("area")])),
                ("needs float32, n × 4", None, dict(fields=[penstock.Boxes("labels", max=9)])),
                ("needs float32, … × 2 or … × 3", None, dict(fields=[penstock.Points("boxes", max=9)])),
                ("pairs name point 7", "tar", dict(fields=[penstock.Points("points.npy", [(1, 7)])])),
                ("wanted boxes once", None, dict(fields=[penstock.Boxes("boxes", max=9), penstock.Boxes("area", max=40)])),
                ("targets names 'nothing'", None, dict(fields=FIELDS, targets={"x": "nothing"})),
                ("the name 'labels'", None, dict(fields=FIELDS, targets={"labels": "boxes"})),
                ("channels first", None, dict(fields=FIELDS, targets="list", layout="NHWC")),
        ):
            with self.subTest(words), self.assertRaises(penstock.InvalidArgument) as raised:
                next(iter(self.loader(self.tar if dataset else None, **keywords)))
            self.assertIn(words, str(raised.exception))

    def test_options_that_cannot_be_are_refused_at_once(self):
        for make, words in (
                (lambda: penstock.Mask("mask", 256), "fill is 256"),
                (lambda: penstock.Boxes("boxes", "yxyx"), "format is 'yxyx'"),
                (lambda: penstock.Boxes("boxes", min_side=-1), "min_side is -1"),
                (lambda: penstock.Boxes("boxes", min_side=float("inf")), "min_side"),
                (lambda: penstock.Points("points", [(1, 2, 3)]), "pairs of points"),
                (lambda: penstock.Points("points", [(1, 300)]), "pairs of points"),
                (lambda: penstock.Points("points", [(1, 1)]), "each point once"),
                (lambda: penstock.Canvas(0), "Canvas"),
                (lambda: penstock.RandomResize(9, 9), "max_size"),
                (lambda: self.loader(fields=[penstock.Boxes("boxes", max=-1)]), "maximum length"),
                (lambda: self.loader(targets="dict"), 'give "list"'),
                (lambda: self.loader(targets="list", row_info=True), "row_info"),
                (lambda: self.loader(transform=[penstock.Resize((99, 99)), penstock.Canvas(90)]), "99 x 99"),
                (lambda: self.loader(transform=[penstock.Canvas(90), penstock.HorizontalFlip()]), "too late"),
                (lambda: self.loader(transform=[penstock.Canvas(90), penstock.Normalize("half"), penstock.RandomErasing()]), "Canvas"),
                (lambda: self.loader([1, 2], transform=None, targets="list"), "targets is for datasets that Penstock reads itself"),
        ):
            with self.subTest(words), self.assertRaises(penstock.InvalidArgument) as raised:
                make()
            self.assertIn(words, str(raised.exception))

    def test_a_mask_that_is_none_is_a_bad_sample(self):
        other = [Scene(1), Scene(2)]
        other[1].mask = other[0].mask.resize((9, 9))
        path = os.path.join(self.folder, "bad.tfrecord")
        reference.write_records(path, other)
        with self.assertRaises(penstock.DataLoss):
            list(self.loader(path, fields=[penstock.Mask("mask")], fail_on_bad_sample=True, batch_size=1))

    def test_normalized_padding_is_not_zero_and_is_cut_off(self):
        transform = [*CANVAS, penstock.Normalize("imagenet")]
        batch = next(iter(self.loader(transform=transform)))
        height, width = batch["image_size"][0].tolist()
        self.assertTrue(torch.allclose(batch["image"][0, :, height:, width:].amax((1, 2)),
                                       torch.tensor([-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225])))


if __name__ == "__main__":
    support.main()
