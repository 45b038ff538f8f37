"""Compares the resize of images in memory (server/decode/resize.h) with Pillow's crop and resize, with every filter and
every kernel, over photographs and made edge cases; with --bench, prints how long both take, and fails where ours is
slow.

usage: resize_test.py PENSTOCK-AUGMENT-IMAGE [--bench]"""
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    import PIL
    from PIL import Image

    import augmenting
except ImportError:
    Image = None

INTERPOLATIONS = ("nearest", "lanczos", "bilinear", "bicubic")  # Pillow's numbers, and ours
KERNELS = 3


def skip(why):
    print(f"SKIPPED: resize_test: {why}")
    sys.exit(77)


class Case:
    """A box of an image that is resized to a size, and the part of the result that is computed."""

    def __init__(self, interpolation, size, box, part=None, flip=False, kernels=0):
        self.interpolation, self.size, self.box, self.flip, self.kernels = interpolation, size, box, flip, kernels
        self.part = part or (0, 0, *size)

    def parameters(self):
        return (self.kernels, self.interpolation, *corner_and_size(self.box), *self.size, *corner_and_size(self.part),
                int(self.flip))

    def wanted(self, image):
        resized = image.crop(self.box).resize(self.size, self.interpolation).crop(self.part)
        return resized.transpose(Image.FLIP_LEFT_RIGHT) if self.flip else resized


def corner_and_size(box):
    return box[0], box[1], box[2] - box[0], box[3] - box[1]


def random_box(rng, size):
    left, top = (rng.randrange(side) for side in size)
    return left, top, rng.randint(left + 1, size[0]), rng.randint(top + 1, size[1])


def sizes(rng, image):
    """Sizes of results: equal, one side equal, enlarged 3, 7 and 8 times, shrunk 30 times, extreme, random."""
    width, height = image.size
    yield from (image.size, (width, rng.randint(1, 200)), (rng.randint(1, 200), height), (1, 1))
    if width * height < 5000:
        yield from ((width * n, height * n) for n in (2, 3, 7, 8))
        yield from ((1, 300), (300, 1), (200, 150))
    yield from ((max(1, width // 30), max(1, height // 30)), (max(1, width // 2), max(1, height // 2)), (224, 224))
    yield from ((rng.randint(1, 300), rng.randint(1, 100)) for _ in range(3))


def cases(rng, image):
    whole = (0, 0, *image.size)
    for interpolation in range(len(INTERPOLATIONS)):
        for size in sizes(rng, image):
            kernels = rng.randrange(KERNELS)
            yield Case(interpolation, size, whole, kernels=kernels)
            yield Case(interpolation, size, random_box(rng, image.size), random_box(rng, size), rng.random() < 0.5,
                       kernels)


def checkerboards():
    """Where filters with negative weights overshoot."""
    for mode in ("RGB", "L"):
        for period in (1, 2, 3, 8):
            values = bytes(255 * ((x // period + y // period) % 2) for y in range(53) for x in range(64))
            yield f"{mode} checkerboard of {period}", Image.frombytes("L", (64, 53), values).convert(mode)


def photographs(count):
    data = os.environ.get("PENSTOCK_TEST_DATA")
    paths = sorted(pathlib.Path(data or "/nonexistent", "imagenet-sample").glob("*/*"))
    if not paths:
        skip("PENSTOCK_TEST_DATA names no folder with imagenet-sample/<class>/<photographs>")
    for number, path in enumerate(paths[::max(1, len(paths) // count)]):
        yield path.name, Image.open(path).convert("L" if number % 5 == 4 else "RGB")


def compare(program, name, image, results):
    rng = random.Random(name)
    for case in cases(rng, image):
        found, _ = program.apply("resize", image, *case.parameters())
        equal, problems = results.setdefault(INTERPOLATIONS[case.interpolation], ([], []))
        wanted = case.wanted(image)
        if (found.size, found.tobytes()) == (wanted.size, wanted.tobytes()):
            equal.append(name)
        else:
            problems.append(f"{name}, {case.parameters()}: {augmenting.difference(found, wanted)}")


def ratio_limit(interpolation):
    """How many times Pillow's speed is asked for of our fast kernels."""
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        return 0
    return 0.5 if interpolation == "nearest" else 2  # nearest takes some 30 us, and the call is a part of that


def bench(path, kernels):
    """Prints a table: the shortest of 30 times on one photograph. Returns what is too slow."""
    slow = []
    for mode in ("RGB", "L"):
        photograph = next(iter(photographs(1)))[1].convert(mode).resize((500, 375))
        print(f"{mode + ', 500 × 375 to':<24} {'here (ms)':>10} {'Pillow (ms)':>12} {'ratio':>7}")
        with augmenting.Program(path, rounds=30) as program:
            for size in ((224, 224), (1000, 750), (50, 37)):
                for number, word in enumerate(INTERPOLATIONS):
                    case = Case(number, size, (0, 0, 500, 375), kernels=kernels)
                    here, there = augmenting.compared(
                        lambda c=case: program.apply("resize", photograph, *c.parameters())[1],
                        lambda n=number, s=size: photograph.resize(s, n), ratio_limit(word))
                    name = f"{size[0]} × {size[1]} {word}"
                    print(f"{name:<24} {here * 1e3:>10.3f} {there * 1e3:>12.3f} {there / here:>7.1f}")
                    if there < ratio_limit(word) * here:
                        slow.append(f"{mode} {name}")
    return slow


def main():
    if Image is None:
        skip("no Pillow for this Python; install python3-pil")
    print(f"Pillow {PIL.__version__}")
    if "--bench" in sys.argv:
        kernels = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        if slow := bench(sys.argv[1], kernels):
            sys.exit(f"resize_test: too slow beside Pillow: {', '.join(slow)}")
        return
    results = {}
    with augmenting.Program(sys.argv[1]) as program:
        for name, image in [*augmenting.edge_cases(), *checkerboards(), *photographs(count=25)]:
            compare(program, name, image, results)
    for label, (equal, problems) in results.items():
        print(f"{label}: {len(equal)} results equal Pillow's" if not problems else
              f"{label}: FAILED for {len(problems)} of {len(equal) + len(problems)}:\n  " + "\n  ".join(problems[:10]))
    sys.exit(1 if any(problems for _, problems in results.values()) else 0)


if __name__ == "__main__":
    main()
