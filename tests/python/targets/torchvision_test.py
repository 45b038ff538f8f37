"""The reference of these tests against torchvision's version 2: boxes and points move as its functional calls move them."""
import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]
import support  # noqa: E402

np = support.need("numpy")
torch = support.need("torch")
support.need("torchvision")
support.need("PIL")
try:
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional
except ImportError as error:
    support.skip(f"torchvision's version 2 is not installed ({error})")

from reference import Moved, Scene  # noqa: E402

KEY_POINTS = getattr(tv_tensors, "KeyPoints", None)  # from version 0.23 on


def operations(draws, size):
    """Random operations, each with the size behind it."""
    for _ in range(6):
        name = draws.choice(["hflip", "vflip", "crop", "pad", "resize", "rotate"])
        width, height = size
        if name == "crop":
            size = int(draws.integers(1, width + 1)), int(draws.integers(1, height + 1))
            yield (name, *size, int(draws.integers(0, width - size[0] + 1)), int(draws.integers(0, height - size[1] + 1)))
        elif name == "pad":
            sides = [int(side) for side in draws.integers(0, 20, 4)]
            size = width + sides[0] + sides[2], height + sides[1] + sides[3]
            yield (name, *size, *sides)
        elif name == "resize":
            size = int(draws.integers(20, 200)), int(draws.integers(20, 200))
            yield (name, *size, 0, 0, width, height)
        else:
            yield (name, *size, *([float(draws.uniform(-180, 180))] if name == "rotate" else []))


def call(operation, value):
    """torchvision's call for the operation."""
    name, width, height, *parameters = operation
    if name == "hflip":
        return functional.horizontal_flip(value)
    if name == "vflip":
        return functional.vertical_flip(value)
    if name == "crop":
        return functional.crop(value, parameters[1], parameters[0], height, width)
    if name == "pad":
        return functional.pad(value, parameters)
    if name == "resize":
        return functional.resize(value, [height, width])
    return functional.rotate(value, parameters[0])


class TorchvisionTest(unittest.TestCase):
    def test_boxes_move_as_theirs_and_are_clipped(self):
        for number in range(200):
            scene = Scene(number)
            steps = list(operations(np.random.default_rng(number), scene.size))
            boxes = tv_tensors.BoundingBoxes(torch.tensor(scene.boxes, dtype=torch.float64), format="XYXY", canvas_size=scene.size[::-1])
            boxes = functional.clamp_bounding_boxes(boxes)
            for step in steps:
                boxes = functional.clamp_bounding_boxes(call(step, boxes))
            np.testing.assert_allclose(Moved(scene, steps).boxes, boxes.numpy().reshape(-1, 4), atol=0.02, err_msg=str(steps))

    @unittest.skipIf(KEY_POINTS is None, "this torchvision has no KeyPoints")
    def test_points_move_as_theirs(self):
        for number in range(200):
            scene = Scene(number)
            steps = list(operations(np.random.default_rng(number), scene.size))
            points = KEY_POINTS(torch.tensor(scene.points[:, :2], dtype=torch.float64), canvas_size=scene.size[::-1])
            for step in steps:
                points = call(step, points)
            inside = ((points >= 0) & (points <= torch.tensor(Moved(scene, steps).size))).all(1).numpy()
            np.testing.assert_allclose(Moved(scene, steps).points[inside, :2], points.numpy()[inside], atol=0.02, err_msg=str(steps))


if __name__ == "__main__":
    support.main()
