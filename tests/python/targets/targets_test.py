"""Masks, boxes and points that follow their images, from shards and records to NumPy and torch, against the reference."""
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import support  # noqa: E402

np = support.need("numpy")
support.need("PIL")

import penstock  # noqa: E402
import reference  # noqa: E402
from reference import PAIRS, POINTS, SAMPLES, Moved, Scene  # noqa: E402

SEED, MOST = 5, 12
README = support.draw()


def flip(p=0.5):
    return dict(name="RandomHorizontalFlip", p=p)


def crop(height, width, padding=(0, 0, 0, 0), needed=True):
    return dict(name="RandomCrop", size=(height, width), padding=padding, pad_if_needed=needed)


# By name: Penstock's steps, and the same as server/plan/README.md has them.
RECIPES = {
    "flips and a crop": ([penstock.HorizontalFlip(), penstock.VerticalFlip(), penstock.RandomCrop((48, 56), 3, pad_if_needed=True)],
                         [flip(), dict(name="RandomVerticalFlip", p=0.5), crop(48, 56, (3, 3, 3, 3))]),
    "resized": ([penstock.Resize((70, 50)), penstock.HorizontalFlip()], [dict(name="Resize", size=(70, 50)), flip()]),
    "segmentation": ([penstock.RandomResize(50, 100), penstock.HorizontalFlip(), penstock.RandomCrop(64, pad_if_needed=True)],
                     [dict(name="RandomResize", min_size=50, max_size=100), flip(), crop(64, 64)]),
    "jittered scales": ([penstock.ScaleJitter((64, 64), (0.5, 1.5)), penstock.RandomCrop(64, pad_if_needed=True)],
                        [dict(name="ScaleJitter", target_size=(64, 64), scale_range=(0.5, 1.5)), crop(64, 64)]),
    "turned": ([penstock.Resize((60, 80)), penstock.RandomRotation(30), penstock.CenterCrop((50, 70))],
               [dict(name="Resize", size=(60, 80)), dict(name="RandomRotation", degrees=(-30, 30), expand=False, center=None),
                dict(name="CenterCrop", size=(50, 70))]),
}


class TargetsTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scenes = [Scene(number) for number in range(SAMPLES)]
        reference.write_tar(cls.path("scenes.tar"), cls.scenes)
        for format in ("xyxy", "xywh", "cxcywh"):
            for relative in (False, True):
                reference.write_records(cls.path(f"{format}-{relative}.tfrecord"), cls.scenes, format, relative)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def loader(self, dataset, fields, transform, **keywords):
        loader = penstock.Loader(self.path(dataset), 8, shuffle=True, seed=SEED, transform=transform, fields=fields, timeout=60,
                                 **{"fail_on_bad_sample": True, **keywords})
        self.addCleanup(loader.close)
        return loader

    def rows(self, loader, epochs=2):
        """(sample, epoch, {name: value of the row, cut to its length})"""
        for epoch in range(epochs):
            for batch in loader:
                for row, sample in enumerate(batch.sample_ids.tolist()):
                    yield sample, epoch, {name: value[row] if name + "_length" not in batch else value[row][:batch[name + "_length"][row]]
                                          for name, value in batch.items()}

    def moved(self, sample, epoch, steps, **options):
        scene = self.scenes[sample]
        return scene, Moved(scene, README["operations_of"](steps, *scene.size, (SEED, epoch, sample)), **options)

    def test_masks_and_points_of_shards_are_pillows_and_numpys(self):
        fields = [penstock.Mask("mask.png", fill=255), penstock.Points("points.npy", PAIRS), penstock.Boxes("boxes.npy")]
        for name, (transform, steps) in RECIPES.items():
            mirrored = 0
            for sample, epoch, row in self.rows(self.loader("scenes.tar", fields, transform)):
                with self.subTest(name, sample=sample, epoch=epoch):
                    _, moved = self.moved(sample, epoch, steps, fill=255)
                    np.testing.assert_array_equal(row["image"], np.asarray(moved.image))
                    self.assertEqual(row["mask.png"].dtype, np.uint8)
                    np.testing.assert_array_equal(row["mask.png"], np.asarray(moved.mask))
                    np.testing.assert_allclose(row["points.npy"], moved.seen_points(), atol=2e-3)
                    self.assertEqual(row["boxes.npy"].shape, (4, 4))  # of one number: none is dropped
                    mirrored += moved.mirrored
            self.assertEqual(mirrored > 0, any(step["name"] == "RandomHorizontalFlip" for step in steps))

    def test_boxes_and_what_belongs_to_them_come_clipped_and_leave_together(self):
        for dataset, boxes, with_boxes, mask in (("xyxy-False.tfrecord", "boxes", ("labels", "area"), "mask"),
                                                 ("scenes.tar", "all.npy", ("labels.npy",), "mask.png")):
            fields = [penstock.Boxes(boxes, max=MOST), penstock.Mask(mask)]
            fields += [penstock.WithBoxes(name, MOST) for name in with_boxes]
            dropped = 0
            for name, (transform, steps) in RECIPES.items():
                for sample, epoch, row in self.rows(self.loader(dataset, fields, transform)):
                    with self.subTest(name, dataset=dataset, sample=sample, epoch=epoch):
                        scene, moved = self.moved(sample, epoch, steps)
                        kept = moved.kept()
                        for field in with_boxes:
                            self.assertEqual(row[field].tolist(), scene.labels[kept].tolist())
                        np.testing.assert_allclose(row[boxes], moved.boxes[kept], atol=2e-3)
                        np.testing.assert_array_equal(row[mask], np.asarray(moved.mask))
                        dropped += len(kept) - kept.sum()
            self.assertGreater(dropped, 20)

    def test_arrays_of_different_lengths_need_a_greatest_length(self):
        with self.assertRaisesRegex(penstock.InvalidArgument, "'all.npy' is of variable length"):
            next(iter(self.loader("scenes.tar", [penstock.Boxes("all.npy")], RECIPES["segmentation"][0])))

    def test_stored_formats_are_read(self):
        transform, steps = RECIPES["segmentation"]
        for format in ("xyxy", "xywh", "cxcywh"):
            for relative in (False, True):
                fields = [penstock.Boxes("boxes", format, relative, max=MOST), penstock.WithBoxes("labels", MOST)]
                for sample, epoch, row in self.rows(self.loader(f"{format}-{relative}.tfrecord", fields, transform), 1):
                    with self.subTest(format=format, relative=relative, sample=sample):
                        scene, moved = self.moved(sample, epoch, steps)
                        self.assertEqual(row["labels"].tolist(), scene.labels[moved.kept()].tolist())
                        np.testing.assert_allclose(row["boxes"], moved.boxes[moved.kept()], atol=5e-3)

    def test_the_decoders_own_crop_and_flip_move_them_too(self):
        fields = [penstock.Mask("mask", 7), penstock.Boxes("boxes", max=MOST, min_side=3), penstock.WithBoxes("labels", MOST)]
        loader = self.loader("xyxy-False.tfrecord", fields, [penstock.RandomResizedCrop((40, 48)), penstock.HorizontalFlip()])
        for sample, epoch, row in self.rows(loader):
            key, scene = (SEED, epoch, sample), self.scenes[sample]
            operations = [("resize", 48, 40, *README["crop"](*scene.size, key))]
            operations += [("hflip", 48, 40)] * README["flip"](key, 0.5)
            moved = Moved(scene, operations)
            kept = moved.kept(3)
            with self.subTest(sample=sample, epoch=epoch):
                np.testing.assert_array_equal(row["image"], np.asarray(moved.image))
                np.testing.assert_array_equal(row["mask"], np.asarray(moved.mask))
                self.assertEqual(row["labels"].tolist(), scene.labels[kept].tolist())
                np.testing.assert_allclose(row["boxes"], moved.boxes[kept], atol=2e-3)

    def test_points_of_records_are_lists_of_numbers(self):
        transform, steps = RECIPES["segmentation"]
        fields = [penstock.Points("points", PAIRS, shape=(POINTS, 3))]
        for sample, epoch, row in self.rows(self.loader("xyxy-False.tfrecord", fields, transform), 1):
            _, moved = self.moved(sample, epoch, steps)
            np.testing.assert_allclose(row["points"], moved.seen_points(), atol=2e-3)
        with self.assertRaisesRegex(penstock.InvalidArgument, "how many make a point"):
            next(iter(self.loader("xyxy-False.tfrecord", [penstock.Points("points")], transform)))

    def test_values_of_boxes_are_refused_without_them(self):
        transform = RECIPES["segmentation"][0]
        with self.assertRaisesRegex(penstock.InvalidArgument, "'labels' belongs to boxes"):
            next(iter(self.loader("xyxy-False.tfrecord", [penstock.WithBoxes("labels", MOST)], transform)))
        stored = [penstock.Field("labels", MOST, as_stored=True)]
        for sample, _, row in self.rows(self.loader("xyxy-False.tfrecord", stored, transform), 1):
            self.assertEqual(row["labels"].tolist(), self.scenes[sample].labels.tolist())

    def test_images_of_different_sizes_come_on_a_canvas(self):
        transform = [penstock.RandomResize(30, 60), penstock.HorizontalFlip(), penstock.Canvas(140, 180)]
        steps = [dict(name="RandomResize", min_size=30, max_size=60), flip()]
        fields = [penstock.Mask("mask", 255), penstock.Boxes("boxes", max=MOST)]
        sizes = set()
        for sample, epoch, row in self.rows(self.loader("xyxy-False.tfrecord", fields, transform)):
            with self.subTest(sample=sample, epoch=epoch):
                _, moved = self.moved(sample, epoch, steps)
                (width, height), there = moved.size, row["image_size"]
                self.assertEqual((there.dtype, there.tolist()), (np.int32, [height, width]))
                self.assertEqual((row["image"].shape, row["mask"].shape), ((140, 180, 3), (140, 180)))
                np.testing.assert_array_equal(row["image"][:height, :width], np.asarray(moved.image))
                np.testing.assert_array_equal(row["mask"][:height, :width], np.asarray(moved.mask))
                for rest in (row["image"][height:], row["image"][:, width:]):
                    self.assertFalse(rest.any())
                for rest in (row["mask"][height:], row["mask"][:, width:]):
                    self.assertTrue((rest == 255).all())
                np.testing.assert_allclose(row["boxes"], moved.boxes[moved.kept()], atol=2e-3)
                sizes.add(moved.size)
        self.assertGreater(len(sizes), SAMPLES)

    def test_images_that_are_larger_than_their_canvas_are_bad_for_this_loader(self):
        with self.assertRaises(penstock.DataLoss):
            list(self.loader("scenes.tar", None, [penstock.Canvas(45)]))

    def test_the_same_batches_come_again_and_after_a_resume(self):
        fields, transform = [penstock.Boxes("boxes", max=MOST), penstock.Mask("mask")], RECIPES["segmentation"][0]
        whole = [{name: value.copy() for name, value in batch.items()} for batch in self.loader("xyxy-False.tfrecord", fields, transform)]
        loader = self.loader("xyxy-False.tfrecord", fields, transform)
        next(iter(loader))
        resumed = self.loader("xyxy-False.tfrecord", fields, transform)
        resumed.load_state_dict(loader.state_dict())
        for one, other in zip(whole[1:], resumed, strict=True):
            for name in one.keys():
                np.testing.assert_array_equal(one[name], other[name])
        other = self.loader("xyxy-False.tfrecord", [penstock.Boxes("boxes", min_side=9, max=MOST), penstock.Mask("mask")], transform)
        other.load_state_dict(loader.state_dict())
        with self.assertRaises(penstock.FailedPrecondition):
            next(iter(other))


if __name__ == "__main__":
    support.main()
