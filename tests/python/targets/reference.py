"""An independent reference for masks, boxes and points: what the drawn operations of server/plan/README.md do to them, by Pillow
and NumPy; and datasets to compare with it."""
import io
import pathlib
import sys
import tarfile

import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support/files"))
from write_records import feature, field, record, varint  # noqa: E402

SAMPLES = 40
PAIRS = ((1, 2), (3, 4))
POINTS = 5


class Scene:
    """An image with a mask, boxes with labels, and points. `draws` makes it."""

    def __init__(self, number, side=None):
        draws = np.random.default_rng(number)
        width, height = (side, side) if side else (int(draws.integers(40, 120)), int(draws.integers(40, 120)))
        self.size = width, height
        self.image = Image.fromarray(draws.integers(0, 256, (height, width, 3), "uint8"))
        classes = np.kron(draws.integers(0, 21, (height // 7 + 1, width // 9 + 1), "uint8"), np.ones((7, 9), "uint8"))
        self.mask = Image.fromarray(np.ascontiguousarray(classes[:height, :width]), "P")
        self.mask.putpalette([value * 7 % 256 for value in range(768)])
        count = int(draws.integers(0, 9))
        corners = draws.uniform(-0.1, 1.1, (count, 2, 2)) * (width, height)
        self.boxes = np.concatenate([corners.min(1), corners.max(1)], 1).astype("float32").reshape(count, 4)
        self.labels = draws.integers(1, 91, count)
        self.points = np.concatenate([draws.uniform(0, 1, (POINTS, 2)) * (width, height), draws.integers(0, 3, (POINTS, 1))],
                                     1).astype("float32")

    def stored(self, format):
        """The boxes as another format has them."""
        a, b, c, d = self.boxes.T
        if format == "xyxy":
            return self.boxes
        if format == "xywh":
            return np.stack([a, b, c - a, d - b], 1)
        return np.stack([(a + c) / 2, (b + d) / 2, c - a, d - b], 1)


def png(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def write_tar(path, scenes):
    """Masks and the points of each; four boxes, in arrays of one shape; all boxes and labels, in arrays of different lengths, of
    which empty ones are numpy.array([])."""
    with tarfile.open(path, "w") as shard:
        for number, scene in enumerate(scenes):
            four = np.resize(scene.boxes, (4, 4)) if len(scene.boxes) else np.zeros((4, 4), "float32")
            members = {"png": png(scene.image), "mask.png": png(scene.mask), "points.npy": npy(scene.points),
                       "boxes.npy": npy(four.astype("float32")),
                       "all.npy": npy(scene.boxes if len(scene.boxes) else np.array([])), "labels.npy": npy(scene.labels)}
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{number:05d}.{extension}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


def write_records(path, scenes, format="xyxy", relative=False):
    """Boxes, labels, masks and points of each, in examples."""
    with open(path, "wb") as file:
        for scene in scenes:
            boxes = scene.stored(format) / ((*scene.size, *scene.size) if relative else 1)
            values = {"image/encoded": png(scene.image), "mask": png(scene.mask), "boxes": boxes.astype("float32").flatten().tolist(),
                      "area": [float(label) for label in scene.labels], "points": scene.points.flatten().tolist()}
            features = b"".join(feature(*value) for value in values.items())
            file.write(record(field(1, features + integers("labels", scene.labels.tolist()))))


def integers(name, values):
    """A feature of integers, of which there may be none."""
    listed = field(3, field(1, b"".join(map(varint, values))))
    return field(1, field(1, name.encode()) + field(2, listed))


class Moved:
    """A scene behind operations: (name, width and height behind it, parameters)."""

    def __init__(self, scene, operations, fill=0):
        self.image, self.mask, self.points = scene.image, scene.mask, scene.points.astype("float64")
        self.boxes = clipped(scene.boxes.astype("float64"), scene.size)
        self.size, self.mirrored, self._fill = scene.size, False, fill
        for name, width, height, *parameters in operations:
            getattr(self, name)((width, height), *parameters)
            self.size = width, height

    def kept(self, min_side=1):
        """Which boxes are delivered."""
        return np.all(self.boxes[:, 2:] - self.boxes[:, :2] >= min_side, 1)

    def seen_points(self):
        points = self.points.copy()
        inside = (points[:, :2] >= -1).all(1) & (points[:, 0] <= self.size[0]) & (points[:, 1] <= self.size[1])
        points[~(inside & (points[:, 2] > 0))] = 0
        points = np.maximum(points, 0)
        if self.mirrored:
            for one, other in PAIRS:
                points[[one, other]] = points[[other, one]]
        return points

    def hflip(self, size, *_):
        self._transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        self.boxes[:, [0, 2]] = size[0] - self.boxes[:, [2, 0]]
        self.points[:, 0] = size[0] - 1 - self.points[:, 0]
        self.mirrored = not self.mirrored

    def vflip(self, size, *_):
        self._transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        self.boxes[:, [1, 3]] = size[1] - self.boxes[:, [3, 1]]
        self.points[:, 1] = size[1] - 1 - self.points[:, 1]

    def _transpose(self, how):
        self.image, self.mask = self.image.transpose(how), self.mask.transpose(how)

    def crop(self, size, left, top):
        box = (left, top, left + size[0], top + size[1])
        self.image, self.mask = self.image.crop(box), self.mask.crop(box)
        self._shift(-left, -top, size)

    def pad(self, size, left, top, right, bottom):
        image, mask = Image.new("RGB", size), Image.new("P", size, self._fill)
        image.paste(self.image, (left, top))
        mask.paste(self.mask, (left, top))
        self.image, self.mask = image, mask
        self._shift(left, top, size)

    def _shift(self, x, y, size):
        self.boxes = clipped(self.boxes + (x, y, x, y), size)
        self.points[:, :2] += (x, y)

    def resize(self, size, x, y, width, height):
        box = (x, y, x + width, y + height)
        # The horizontal pass first, in two calls: Pillow 13 exchanges the passes for some shapes.
        wide = self.image.crop(box).resize((size[0], height), Image.Resampling.BILINEAR)
        self.image = wide.resize(size, Image.Resampling.BILINEAR)
        self.mask = self.mask.crop(box).resize(size, Image.Resampling.NEAREST)
        self._shift(-x, -y, (width, height))
        scale = (size[0] / width, size[1] / height)
        self.boxes *= (*scale, *scale)
        self.points[:, :2] *= scale

    def rotate(self, size, angle):
        width, height = size
        self.image = self.image.rotate(angle, Image.Resampling.NEAREST, fillcolor=(0, 0, 0))
        self.mask = self.mask.rotate(angle, Image.Resampling.NEAREST, fillcolor=self._fill)
        turn, middle = np.radians(angle), np.array((width / 2, height / 2))
        matrix = np.array(((np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))))  # counter-clockwise, y downwards
        corners = self.boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]
        moved = (corners - middle) @ matrix.T + middle
        self.boxes = clipped(np.concatenate([moved.min(1), moved.max(1)], 1), size)
        self.points[:, :2] = (self.points[:, :2] - middle) @ matrix.T + middle


def clipped(boxes, size):
    return np.clip(boxes.reshape(-1, 4), 0, (*size, *size))
