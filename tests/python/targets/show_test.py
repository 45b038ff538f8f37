"""python -m penstock show: masks, boxes and points over their images."""
import os
import pathlib
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import support  # noqa: E402

np = support.need("numpy")
support.need("PIL")

import reference  # noqa: E402
from PIL import Image  # noqa: E402
from reference import Scene  # noqa: E402

GAP = 4  # before the first image


class ShowTest(support.FeedTest):
    def shown(self, dataset, transform, fields=None):
        """The picture of the first sample."""
        output = os.path.join(self.folder, "shown.png")
        arguments = [sys.executable, "-m", "penstock", "show", dataset, "--transform", transform, "--sample", "0", "--rows", "1",
                     "--columns", "1", "-o", output]
        done = subprocess.run(arguments + (["--fields", fields] if fields else []), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.asarray(Image.open(output))[GAP:, GAP:]

    def test_masks_are_tinted_and_boxes_and_points_drawn(self):
        scene = Scene(0, 64)
        scene.image = Image.new("RGB", (64, 64), (100, 100, 100))
        scene.mask = Image.new("L", (64, 64), 0)
        scene.mask.paste(1, (40, 40, 60, 60))
        scene.boxes = np.float32([[4, 6, 30, 34]])
        scene.points = np.float32([[50, 10, 2]] + [[0, 0, 0]] * 4)
        path = os.path.join(self.folder, "one.tar")
        reference.write_tar(path, [scene])

        plain = self.shown(path, "CenterCrop(64)")
        over = self.shown(path, "CenterCrop(64)", "Mask('mask.png'), Boxes('boxes.npy'), Points('points.npy')")

        changed = (plain != over).any(2)[:64, :64]
        self.assertTrue(changed[40:60, 40:60].all())
        self.assertTrue(changed[6, 4:30].all() and changed[33, 4:30].all() and changed[6:34, 4].all() and changed[6:34, 29].all())
        self.assertTrue(changed[10, 49:52].all() and changed[9:12, 50].all())
        self.assertFalse(changed[12:30, 8:26].any() or changed[36:39].any())

    def test_images_on_a_canvas_are_shown_without_it(self):
        path = os.path.join(self.folder, "canvas.tfrecord")
        reference.write_records(path, [Scene(1, 50), Scene(2, 60)])
        fields = "Boxes('boxes', max=9), WithBoxes('labels', max=9)"
        self.assertEqual(self.shown(path, "Canvas(200)", fields).shape[:2], (50 + GAP, 50 + GAP))

    def test_a_text_that_names_no_field_is_explained(self):
        done = subprocess.run([sys.executable, "-m", "penstock", "show", self.photographs, "--fields", "Boxen('a')"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--fields", done.stderr)


if __name__ == "__main__":
    support.main()
