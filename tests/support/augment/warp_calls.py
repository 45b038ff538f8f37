"""What the geometric operations of server/augment must equal: torchvision's functional calls on Pillow's images, or
Pillow's calls if there is no torchvision, with matrices that are computed here as torchvision's documentation gives
them. Padding without a constant needs NumPy, as in torchvision."""
import fractions
import math
import struct

from PIL import Image, ImageOps

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
    from torchvision.transforms import InterpolationMode, autoaugment, functional
    torch.set_num_threads(1)
except ImportError:
    functional = None

NEAREST, BILINEAR, BICUBIC = 0, 2, 3  # Pillow's numbers, and ours
SAMPLINGS = {NEAREST: "nearest", BILINEAR: "bilinear", BICUBIC: "bicubic"}
PAD_MODES = ("constant", "edge", "reflect", "symmetric")
POLICIES = {"shear-x": "ShearX", "shear-y": "ShearY", "translate-x": "TranslateX", "translate-y": "TranslateY"}


def fill_for(image, fill):
    return tuple(fill) if image.mode == "RGB" else fill[0]


def mode_of(sampling):
    return InterpolationMode(SAMPLINGS[sampling])


class Sampler:
    """How a case samples: part of its parameters."""

    def __init__(self, sampling, fill):
        self.sampling, self.fill = sampling, fill

    def parameters(self):
        return (self.sampling, *self.fill)

    def arguments(self, image):
        """torchvision's."""
        fill = list(self.fill) if image.mode == "RGB" else [self.fill[0]]
        return {"interpolation": mode_of(self.sampling), "fill": fill}

    def transform(self, image, method, data, size=None):
        """Pillow's Image.transform."""
        return image.transform(size or image.size, method, data, self.sampling,
                               fillcolor=fill_for(image, self.fill))


class AffineArguments:
    def __init__(self, angle=0.0, translate=(0, 0), scale=1.0, shear=(0.0, 0.0), center=None):
        self.angle, self.translate, self.scale = angle, translate, scale
        self.shear, self.center = shear, center

    def parameters(self):
        return (self.angle, *self.translate, self.scale, *self.shear, int(self.center is not None),
                *(self.center or (0, 0)))

    def matrix(self, size):
        """From the output to the input: shift back, turn and shear back, scale back."""
        cx, cy = self.center or (size[0] * 0.5, size[1] * 0.5)
        tx, ty = self.translate
        turn, sx, sy = (math.radians(degrees) for degrees in (self.angle, *self.shear))
        a = math.cos(turn - sy) / math.cos(sy)
        b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
        c = math.sin(turn - sy) / math.cos(sy)
        d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
        m = [number / self.scale for number in (d, -b, 0.0, -c, a, 0.0)]
        m[2] += m[0] * (-cx - tx) + m[1] * (-cy - ty)
        m[5] += m[3] * (-cx - tx) + m[4] * (-cy - ty)
        m[2] += cx
        m[5] += cy
        return m


def affine(image, arguments, sampler):
    if functional:
        center = None if arguments.center is None else list(arguments.center)
        return functional.affine(image, arguments.angle, list(arguments.translate), arguments.scale,
                                 list(arguments.shear), center=center, **sampler.arguments(image))
    return sampler.transform(image, Image.AFFINE, arguments.matrix(image.size))


def policy(image, operation, magnitude, sampler):
    if functional:
        arguments = sampler.arguments(image)
        return autoaugment._apply_op(image, POLICIES[operation], magnitude, **arguments)
    degrees, pixels = math.degrees(math.atan(magnitude)), int(magnitude)
    arguments = {"shear-x": AffineArguments(shear=(degrees, 0.0), center=(0, 0)),
                 "shear-y": AffineArguments(shear=(0.0, degrees), center=(0, 0)),
                 "translate-x": AffineArguments(translate=(pixels, 0)),
                 "translate-y": AffineArguments(translate=(0, pixels))}[operation]
    return affine(image, arguments, sampler)


def rotate(image, degrees, expand, center, sampler):
    if functional:
        return functional.rotate(image, degrees, expand=expand, center=center, **sampler.arguments(image))
    return image.rotate(degrees, sampler.sampling, expand, center,
                        fillcolor=fill_for(image, sampler.fill))


def continued(size, before, after, mode):
    """The pixels that a padded row repeats: the image reflected over and over."""
    if size == 1:
        return [0] * (before + 1 + after)
    row = list(range(size))
    period = row + (row[-2:0:-1] if mode == "reflect" else row[::-1])
    return [period[i % len(period)] for i in range(-before, size + after)]


def pad_often(image, padding, mode):
    """Pads with several reflections. NumPy does so since version 2; before, it continued some of them wrongly."""
    left, top, right, bottom = padding
    pixels = numpy.asarray(image)
    rows = continued(image.height, top, bottom, PAD_MODES[mode])
    return Image.fromarray(pixels[rows][:, continued(image.width, left, right, PAD_MODES[mode])])


def pad(image, padding, mode, fill):
    if mode >= 2 and max(padding) >= min(image.size) and min(padding) >= 0:
        return pad_often(image, padding, mode)
    if functional:
        return functional.pad(image, list(padding), fill_for(image, fill), PAD_MODES[mode])
    if mode == 0:
        return ImageOps.expand(image, tuple(padding), fill_for(image, fill))
    left, top, right, bottom = padding
    image = image.crop((max(-left, 0), max(-top, 0), image.width - max(-right, 0), image.height - max(-bottom, 0)))
    sides = ((max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)), (0, 0))
    pixels = numpy.asarray(image)
    return Image.fromarray(numpy.pad(pixels, sides[:pixels.ndim], PAD_MODES[mode]))


def crop(image, left, top, width, height):
    if functional:
        return functional.crop(image, top, left, height, width)
    return image.crop((left, top, left + width, top + height))


def nearest_float(number):
    """The nearest float to a fraction, of the two around its double."""
    about = struct.unpack("f", struct.pack("f", float(number)))[0]
    bits = struct.unpack("I", struct.pack("f", about))[0]
    around = [struct.unpack("f", struct.pack("I", bits + step))[0] for step in (-1, 0, 1) if 0 <= bits + step < 2**32]
    return min(around, key=lambda value: abs(fractions.Fraction(value) - number))


def solve_exactly(start, end):
    """torchvision's eight equations, solved without rounding; the solution's nearest floats. None if there is none."""
    rows = []
    for (x, y), (u, v) in zip(end, start):
        rows.append([fractions.Fraction(n) for n in (x, y, 1, 0, 0, 0, -u * x, -u * y, u)])
        rows.append([fractions.Fraction(n) for n in (0, 0, 0, x, y, 1, -v * x, -v * y, v)])
    for column in range(8):
        pivot = next((r for r in range(column, 8) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [n / rows[column][column] for n in rows[column]]
        for r in range(8):
            if r != column:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column])]
    return [nearest_float(row[8]) for row in rows]


def draw_corners(rng, size, distortion):
    """As torchvision's RandomPerspective draws them; the smallest images get corners of a larger one."""
    width, height = max(size[0], 8), max(size[1], 8)
    x, y = int(distortion * (width // 2)), int(distortion * (height // 2))
    start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    end = [(rng.randint(0, x), rng.randint(0, y)), (width - 1 - rng.randint(0, x), rng.randint(0, y)),
           (width - 1 - rng.randint(0, x), height - 1 - rng.randint(0, y)),
           (rng.randint(0, x), height - 1 - rng.randint(0, y))]
    return start, end


def corners(rng, size, distortion):
    """Returns corners before and after, and the exact coefficients."""
    while True:
        start, end = draw_corners(rng, size, distortion)
        if solution := solve_exactly(start, end):
            return start, end, solution


def perspective(image, coefficients, sampler):
    return sampler.transform(image, Image.PERSPECTIVE, coefficients)


def flat(points):
    return tuple(number for point in points for number in point)
