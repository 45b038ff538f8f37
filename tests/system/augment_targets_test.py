"""Compares what server/augment does to boxes and key points with geometry computed here from the images' maps, and
with torchvision v2's functional calls where they are installed (0.23 or newer, which has key points).

usage: augment_targets_test.py PENSTOCK-AUGMENT-IMAGE"""
import math
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    import PIL
    from PIL import Image

    import augmenting
except ImportError:
    Image = None
try:
    import torchvision
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional
    if not hasattr(tv_tensors, "KeyPoints"):
        functional = None
except ImportError:
    functional = None

TOLERANCE = 2e-3  # pixels; torchvision computes in float


def skip(why):
    print(f"SKIPPED: augment_targets_test: {why}")
    sys.exit(77)


class Targets:
    """A box and a point on an image of a size."""

    def __init__(self, rng, size):
        def place(side):
            return struct.unpack("f", struct.pack("f", rng.uniform(0, side)))[0]
        width, height = self.size = size
        xs, ys = sorted((place(width), place(width))), sorted((place(height), place(height)))
        self.box = (xs[0], ys[0], xs[1], ys[1])
        self.point = (place(width), place(height))

    def numbers(self):
        return (*self.box, *self.point)

    def mapped(self, function, size):
        """(box, point) through a function of a point; the box around the mapped corners, clipped to `size`."""
        left, top, right, bottom = self.box
        xs, ys = zip(*(function(*corner) for corner in ((left, top), (right, top), (right, bottom), (left, bottom))))
        def clip(value, side):
            return min(max(value, 0), side)
        return (clip(min(xs), size[0]), clip(min(ys), size[1]), clip(max(xs), size[0]), clip(max(ys), size[1]),
                *function(*self.point))

    def torchvision(self, call, *arguments, **options):
        """The same by torchvision v2, and the new size."""
        canvas = (self.size[1], self.size[0])
        box = call(tv_tensors.BoundingBoxes([self.box], format="XYXY", canvas_size=canvas), *arguments, **options)
        point = call(tv_tensors.KeyPoints([self.point], canvas_size=canvas), *arguments, **options)
        return (*box[0].tolist(), *point[0].tolist()), (box.canvas_size[1], box.canvas_size[0])


def inverse_of(matrix):
    """The function of a point that undoes an affine map of six numbers."""
    a, b, c, d, e, f = matrix
    scale = a * e - b * d
    return lambda x, y: ((e * (x - c) - b * (y - f)) / scale, (a * (y - f) - d * (x - c)) / scale)


def output_to_input(angle, translate, scale, shear, center):
    """The image's map: the inverse of shifting the center away, shearing, scaling, turning and shifting back."""
    turn, sx, sy = (math.radians(degrees) for degrees in (angle, *shear))
    a = math.cos(turn - sy) / math.cos(sy)
    b = -a * math.tan(sx) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -c * math.tan(sx) + math.cos(turn)
    m = (d / scale, -b / scale, -c / scale, a / scale)
    x, y = center[0] + translate[0], center[1] + translate[1]
    return (m[0], m[1], center[0] - m[0] * x - m[1] * y, m[2], m[3], center[1] - m[2] * x - m[3] * y)


def undo_perspective(coefficients):
    """Solves for the output's point of an input's point."""
    a, b, c, d, e, f, g, h = coefficients

    def solve(u, v):
        return inverse_of((a - u * g, b - u * h, c - u, d - v * g, e - v * h, f - v))(0, 0)
    return solve


def perspective_coefficients(rng, size):
    return [1 + rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), rng.uniform(-9, 9), rng.uniform(-0.2, 0.2),
            1 + rng.uniform(-0.2, 0.2), rng.uniform(-9, 9),
            rng.uniform(0, 0.2) / size[0], rng.uniform(0, 0.2) / size[1]]


def flips(targets, _):
    width, height = targets.size
    left, top, right, bottom = targets.box
    x, y = targets.point
    yield ("targets-hflip", (), (width - right, top, width - left, bottom, width - 1 - x, y),
           lambda: targets.torchvision(functional.horizontal_flip))
    yield ("targets-vflip", (), (left, height - bottom, right, height - top, x, height - 1 - y),
           lambda: targets.torchvision(functional.vertical_flip))


def crops(targets, rng):
    width, height = targets.size
    x, y = rng.randint(-9, width // 2), rng.randint(-9, height // 2)
    w, h = rng.randint(1, width), rng.randint(1, height)
    yield ("targets-crop", (x, y, w, h), targets.mapped(lambda px, py: (px - x, py - y), (w, h)),
           lambda: targets.torchvision(functional.crop, y, x, h, w))
    before, after = (rng.randint(0, 30), rng.randint(0, 30)), (rng.randint(0, 30), rng.randint(0, 30))
    size = (width + before[0] + after[0], height + before[1] + after[1])
    yield ("targets-crop", (-before[0], -before[1], *size),
           targets.mapped(lambda px, py: (px + before[0], py + before[1]), size),
           lambda: targets.torchvision(functional.pad, [*before, *after]))


def maps(targets, rng):
    angle, translate, scale = rng.uniform(-180, 180), (rng.randint(-30, 30), rng.randint(-30, 30)), rng.uniform(0.3, 3)
    shear, center = (rng.uniform(-40, 40), rng.uniform(-40, 40)), (rng.uniform(0, 50), rng.uniform(0, 50))
    forward = inverse_of(output_to_input(angle, translate, scale, shear, center))
    yield ("targets-affine", (angle, *translate, scale, *shear, *center), targets.mapped(forward, targets.size),
           lambda: targets.torchvision(functional.affine, angle, list(translate), scale, list(shear),
                                       center=list(center)))
    coefficients = perspective_coefficients(rng, targets.size)
    yield ("targets-perspective", coefficients, targets.mapped(undo_perspective(coefficients), targets.size),
           lambda: targets.torchvision(functional.perspective, None, None, coefficients=coefficients))


def rotations(targets, rng):
    width, height = targets.size
    for degrees in (0, 90, 180, -90, rng.uniform(-180, 180)):
        turn = inverse_of(output_to_input(-degrees, (0, 0), 1, (0, 0), (width / 2, height / 2)))
        yield ("targets-rotate", (degrees, 0), targets.mapped(turn, targets.size),
               lambda d=degrees: targets.torchvision(functional.rotate, d))
        corners = [turn(*corner) for corner in ((0, 0), (width, 0), (width, height), (0, height))]
        x, y = min(c[0] for c in corners), min(c[1] for c in corners)
        size = Image.new("L", targets.size).rotate(degrees, expand=True).size
        yield ("targets-rotate", (degrees, 1),
               targets.mapped(lambda px, py, t=turn, x=x, y=y: (t(px, py)[0] - x, t(px, py)[1] - y), size),
               lambda d=degrees: targets.torchvision(functional.rotate, d, expand=True))


def far(found, wanted, tolerance):
    return max(abs(a - b) for a, b in zip(found, wanted)) > tolerance


def compare(program, targets, rng):
    """Returns the number of comparisons and descriptions of the differences."""
    compared, problems = 0, []
    image = Image.new("L", targets.size)
    for make in (flips, crops, maps, rotations):
        for operation, parameters, wanted, call in make(targets, rng):
            answer, _ = program.apply(operation, image, *targets.numbers(), *parameters)
            found = struct.unpack("6f", answer.tobytes())
            compared += 1
            if far(found, wanted, TOLERANCE):
                problems.append(f"{operation} {parameters} of {targets.numbers()}: got {found}, expected {wanted}")
            if functional is None:
                continue
            theirs, size = call()
            # torchvision's own size of an expanded canvas clips boxes elsewhere, by up to two pixels.
            expanded = operation == "targets-rotate" and parameters[1]
            if far(found, theirs, 2 if expanded else TOLERANCE):
                problems.append(f"{operation} {parameters} of {targets.numbers()}: got {found}, "
                                f"torchvision {theirs} {size}")
    return compared, problems


def main():
    if Image is None:
        skip("no Pillow for this Python; install python3-pil")
    print(f"Pillow {PIL.__version__}, " +
          (f"torchvision {torchvision.__version__}" if functional else "no torchvision with key points"))
    rng, compared, problems = random.Random(11), 0, []
    with augmenting.Program(sys.argv[1]) as program:
        for size in [(1, 1), (500, 375), (375, 500)] + [(rng.randint(1, 700), rng.randint(1, 700)) for _ in range(60)]:
            count, found = compare(program, Targets(rng, size), rng)
            compared += count
            problems += found
    print(f"{compared} boxes and points agree" if not problems else
          f"FAILED for {len(problems)} of {compared}:\n  " + "\n  ".join(problems[:20]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
