"""Datasets with masks and annotations: their fields follow the images by their names alone."""
import json
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
from reference import PAIRS, SAMPLES, Moved, Scene  # noqa: E402

SEED, MOST = 5, 12
NAMES = ["nose", "left_eye", "right_eye", "left_ear", "right_ear"]
README = support.draw()
TRANSFORM = [penstock.RandomResize(50, 100), penstock.HorizontalFlip(), penstock.RandomCrop(64, pad_if_needed=True)]
STEPS = [dict(name="RandomResize", min_size=50, max_size=100), dict(name="RandomHorizontalFlip", p=0.5),
         dict(name="RandomCrop", size=(64, 64), padding=(0, 0, 0, 0), pad_if_needed=True)]


def write_coco(folder, scenes):
    """Images and their annotations; points are those of a scene for its every box."""
    os.mkdir(folder)
    images, annotations = [], []
    for number, scene in enumerate(scenes):
        scene.image.save(f"{folder}/{number:04}.png")
        images.append({"id": 1000 + number, "file_name": f"{number:04}.png", "width": scene.size[0], "height": scene.size[1]})
        for box, label in zip(scene.stored("xywh").tolist(), scene.labels.tolist()):
            annotations.append({"id": len(annotations) + 1, "image_id": 1000 + number, "category_id": label, "bbox": box,
                                "area": box[2] * box[3], "iscrowd": 0, "num_keypoints": 5,
                                "keypoints": [float(value) for value in scene.points.flatten()]})
    categories = [{"id": label, "name": f"class {label}", "keypoints": NAMES} for label in range(1, 91)]
    with open(f"{folder}.json", "w", encoding="utf-8") as file:
        json.dump({"images": images, "annotations": annotations, "categories": categories}, file)


def write_voc(folder, scenes):
    for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        os.makedirs(os.path.join(folder, name))
    for number, scene in enumerate(scenes):
        scene.image.save(f"{folder}/JPEGImages/{number:04}.jpg", quality=95)
        scene.mask.save(f"{folder}/SegmentationClass/{number:04}.png")
    pathlib.Path(folder, "ImageSets/Segmentation/train.txt").write_text("".join(f"{number:04}\n" for number in range(len(scenes))))


class AnnotatedTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scenes = [Scene(number) for number in range(SAMPLES)]
        write_coco(os.path.join(cls.folder, "coco"), cls.scenes)
        write_voc(os.path.join(cls.folder, "voc"), cls.scenes)
        cls.coco = f"coco:annotations={cls.folder}/coco.json,images={cls.folder}/coco"
        cls.voc = f"voc:{cls.folder}/voc,split=train,set=Segmentation"

    def loader(self, dataset, fields, **keywords):
        loader = penstock.torch.DataLoader(dataset, 8, shuffle=True, seed=SEED, fields=fields, timeout=60, fail_on_bad_sample=True,
                                           **{"transform": TRANSFORM, "dtype": "uint8", **keywords})
        self.addCleanup(loader.close)
        return loader

    def moved(self, sample, **options):
        scene = self.scenes[sample]
        return scene, Moved(scene, README["operations_of"](STEPS, *scene.size, (SEED, 0, sample)), **options)

    def test_the_dataset_says_what_follows(self):
        following = self.loader(self.coco, None).dataset.following
        self.assertEqual({name: following[name] for name in ("boxes", "labels", "keypoints")},
                         {"boxes": "boxes", "labels": "with_boxes", "keypoints": "points"})
        self.assertEqual(self.loader(self.voc, None).dataset.following, {"mask": "mask"})

    def test_cocos_boxes_labels_and_points(self):
        fields = {"boxes": MOST, "labels": MOST, "keypoints": MOST, "image_id": None}
        self.assertEqual(PAIRS, ((1, 2), (3, 4)))  # what the names of the points say
        for batch in self.loader(self.coco, fields):
            for row, sample in enumerate(batch.sample_ids.tolist()):
                scene, moved = self.moved(sample)
                kept, count = moved.kept(), int(batch["boxes_length"][row])
                self.assertEqual((count, int(batch["image_id"][row])), (kept.sum(), 1000 + sample))
                np.testing.assert_allclose(batch["boxes"][row, :count], moved.boxes[kept], atol=5e-3)
                self.assertEqual(batch["labels"][row, :count].tolist(), scene.labels[kept].tolist())
                for points in batch["keypoints"][row, :count]:
                    np.testing.assert_allclose(points, moved.seen_points(), atol=5e-3)

    def test_a_smaller_side_than_the_datasets_keeps_its_format(self):
        for batch in self.loader(self.coco, [penstock.Boxes("boxes", min_side=20, max=MOST)]):
            for row, sample in enumerate(batch.sample_ids.tolist()):
                _, moved = self.moved(sample)
                np.testing.assert_allclose(batch["boxes"][row, :batch["boxes_length"][row]], moved.boxes[moved.kept(20)], atol=5e-3)

    def test_what_is_wanted_as_it_is_stored_follows_nothing(self):
        for batch in self.loader(self.coco, [penstock.Field("boxes", MOST, as_stored=True)]):
            for row, sample in enumerate(batch.sample_ids.tolist()):
                stored = self.scenes[sample].stored("xywh")
                np.testing.assert_allclose(batch["boxes"][row, :batch["boxes_length"][row]], stored, rtol=1e-5)

    def test_cocos_lists(self):
        fields = {"boxes": MOST, "labels": MOST, "image_id": None}
        loader = self.loader(self.coco, fields, targets="list", dtype="float32",
                             transform=[penstock.RandomShortestSize((50, 60), 90), penstock.Canvas(90)])
        for batch in loader:
            images, targets = batch
            for image, target, sample in zip(images, targets, batch.sample_ids.tolist()):
                self.assertEqual(int(target["image_id"]), 1000 + sample)
                self.assertEqual(len(target["boxes"]), len(target["labels"]))
                self.assertIn(min(image.shape[1:]), range(20, 61))

    def test_vocs_masks(self):
        for batch in self.loader(self.voc, ["mask"]):
            for row, sample in enumerate(batch.sample_ids.tolist()):
                _, moved = self.moved(sample, fill=255)
                np.testing.assert_array_equal(batch["mask"][row], np.asarray(moved.mask))

    def test_they_are_drawn_over_the_images(self):
        import subprocess
        for dataset in (self.coco, self.voc):
            output = os.path.join(self.folder, "drawn.png")
            done = subprocess.run([sys.executable, "-m", "penstock", "show", dataset, "--transform", "RandomCrop(64, pad_if_needed=True)",
                                   "-o", output], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    support.main()
