"""Compares the geometric operations of server/augment with torchvision's functional calls on Pillow's images, over
photographs and made edge cases; with --bench, prints how long both take, and fails where ours is slow.

usage: augment_warp_test.py PENSTOCK-AUGMENT-IMAGE [--bench]"""
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    import PIL
    from PIL import Image

    import augmenting
    from warp_calls import (NEAREST, PAD_MODES, POLICIES, SAMPLINGS, AffineArguments, Sampler, affine, corners, crop,
                            flat, functional, numpy, pad, perspective, policy, rotate, solve_exactly)
except ImportError:
    Image = None


def skip(why):
    print(f"SKIPPED: augment_warp_test: {why}")
    sys.exit(77)


class Case:
    """An operation of the program with its parameters, and what it must equal."""

    def __init__(self, operation, parameters, wanted):
        self.operation, self.parameters, self.wanted = operation, parameters, wanted


def frames(rng, image):
    """Flips, crops and pads."""
    width, height = image.size
    yield Case("hflip", (), lambda: image.transpose(Image.FLIP_LEFT_RIGHT))
    yield Case("vflip", (), lambda: image.transpose(Image.FLIP_TOP_BOTTOM))
    for _ in range(4):
        box = (rng.randint(-width - 2, width + 2), rng.randint(-height - 2, height + 2), rng.randint(1, 2 * width),
               rng.randint(1, 2 * height))
        yield Case("crop", box, lambda box=box: crop(image, *box))
    near, far = 5, 2 * max(width, height) + 3 if width * height < 5000 else 40
    for mode in range(len(PAD_MODES) if numpy else 1):
        for reach in (0, near, far):
            padding = [rng.randint(0, reach) for _ in range(4)]
            if reach == near and width > 12 and height > 12:
                padding[rng.randrange(4)] *= -1
            fill = [rng.randrange(256) for _ in range(3)]
            yield Case("pad", (*padding, mode, *fill),
                       lambda p=padding, mode=mode, fill=fill: pad(image, p, mode, fill))


def rotations(rng, sampler, image):
    middle = (rng.randint(-5, image.width + 5), rng.uniform(-5, image.height + 5))
    for degrees in (0, 90, 180, 270, 360, -90, 450.0, 45, 1e-20, -1e-20, 1e-7, rng.uniform(-180, 180),
                    rng.uniform(-1e4, 1e4), rng.randint(-90, 90)):
        for expand in (False, True):
            for center in (None, (0, 0), middle):
                if center and degrees not in (0, 90, 45):
                    continue
                numbers = (degrees, int(expand), int(center is not None), *(center or (0, 0)))
                yield Case("rotate", (*sampler.parameters(), *numbers),
                           lambda d=degrees, e=expand, c=center: rotate(image, d, e, c, sampler))


def affine_arguments(rng, size):
    width, height = size
    yield AffineArguments()
    yield AffineArguments(translate=(rng.randint(-width, width), rng.randint(-height, height)))
    yield AffineArguments(translate=(1, 0), center=(0.25, 0.75))
    for _ in range(4):
        shift = (rng.randint(-width, width) // 4, rng.randint(-height, height) // 4)
        shear = (rng.uniform(-30, 30), rng.uniform(-30, 30))
        yield AffineArguments(rng.uniform(-180, 180), shift, rng.uniform(0.5, 2), shear)
    for scale in (0.001, 0.1, 0.37, 3.0, 7.7, 1000.0):
        yield AffineArguments(0.0, (0, 0), scale)
        yield AffineArguments(rng.uniform(-180, 180), (0, 0), scale)
    for angle in (90.0, 180.0, -90.0, 45.0):
        yield AffineArguments(angle, center=rng.choice((None, (0, 0), (3, 4.5))))
    yield AffineArguments(shear=(89.9, 0.0))
    yield AffineArguments(shear=(rng.uniform(-80, 80), 89.99999))


def affines(rng, sampler, image):
    for arguments in affine_arguments(rng, image.size):
        yield Case("affine", (*sampler.parameters(), *arguments.parameters()),
                   lambda a=arguments: affine(image, a, sampler))
    for operation in POLICIES:
        limit = 0.99 if operation.startswith("shear") else 150.0 / 331.0 * max(image.size)
        for magnitude in (0.0, rng.uniform(-limit, limit), limit):
            yield Case(operation, (*sampler.parameters(), magnitude),
                       lambda o=operation, m=magnitude: policy(image, o, m, sampler))
    # Outputs of another size; and too far away for Pillow's fixed point.
    for matrix in ([0.5, 0.1, -3.0, 0.2, 0.7, 1.5], [1.0, 0.25, -40000.0, 0.25, 1.0, 3.0],
                   [500.0, 0.5, 0.3, 0.25, 700.0, 0.4], [-1.5, 0.0, image.width + 2.5, 0.0, 1.25, -2.0]):
        size = (rng.randint(1, 300), rng.randint(1, 90))
        yield Case("transform", (*sampler.parameters(), *matrix, *size),
                   lambda m=matrix, s=size: sampler.transform(image, Image.AFFINE, m, s))


def perspectives(rng, sampler, image):
    for distortion in (0.0, 0.2, 0.5, 1.0):
        start, end, exact = corners(rng, image.size, min(distortion, 0.9))
        yield Case("perspective-corners", (*sampler.parameters(), *flat(start), *flat(end)),
                   lambda c=exact: perspective(image, c, sampler))
        if functional:
            given = functional._get_perspective_coeffs(start, end)
            yield Case("perspective", (*sampler.parameters(), *given), lambda s=start, e=end: functional.perspective(
                image, [list(p) for p in s], [list(p) for p in e], **sampler.arguments(image)))
    # Three corners on a line.
    start, end = [(0, 0), (16, 0), (16, 7), (0, 7)], [(6, 3), (11, 0), (9, 6), (7, 4)]
    constant = solve_exactly(start, end)
    yield Case("perspective-corners", (*sampler.parameters(), *flat(start), *flat(end)),
               lambda: perspective(image, constant, sampler))
    # Divisors of both signs, and zero above and below the line.
    for given in ([1.0, 0.1, -3.0, 0.2, 0.9, 2.0, -0.03, 0.01], [1.0, 0.0, -0.5, 0.0, 1.0, -0.5, -2.0, 0.0],
                  [1.0, 0.0, -2.5, 0.0, 1.0, 0.0, -0.4, 0.0]):
        yield Case("perspective", (*sampler.parameters(), *given), lambda c=given: perspective(image, c, sampler))


def cases(rng, image):
    yield from frames(rng, image)
    for sampling in SAMPLINGS:
        sampler = Sampler(sampling, [rng.randrange(256) for _ in range(3)])
        for make in (rotations, affines, perspectives):
            yield from make(rng, sampler, image)


def photographs(count):
    data = os.environ.get("PENSTOCK_TEST_DATA")
    paths = sorted(pathlib.Path(data or "/nonexistent", "imagenet-sample").glob("*/*"))
    if not paths:
        skip("PENSTOCK_TEST_DATA names no folder with imagenet-sample/<class>/<photographs>")
    for number, path in enumerate(paths[::max(1, len(paths) // count)]):
        yield path.name, Image.open(path).convert("L" if number % 5 == 4 else "RGB")


def compare(program, name, image, results):
    """Adds the number of equal images, and the differences, to results[operation]."""
    rng = random.Random(name)
    for number, case in enumerate(cases(rng, image)):
        if image.width * image.height > 50_000 and rng.random() > 0.12:
            continue
        label = case.operation
        if case.operation not in ("hflip", "vflip", "crop", "pad"):
            label += f" {SAMPLINGS[case.parameters[0]]}"
        found, _ = program.apply(case.operation, image, *case.parameters)
        equal, problems = results.setdefault(label, ([], []))
        wanted = case.wanted()
        if (found.size, found.tobytes()) == (wanted.size, wanted.tobytes()):
            equal.append(name)
        else:
            problems.append(f"{name}, {case.parameters}: {augmenting.difference(found, wanted)}")


def bench_cases(image):
    """(name, operation, parameters, torchvision's or Pillow's call) for the table."""
    width, height = image.size
    yield "crop 400 × 300", Case("crop", (10, 20, 400, 300), lambda: crop(image, 10, 20, 400, 300))
    yield "hflip", Case("hflip", (), lambda: image.transpose(Image.FLIP_LEFT_RIGHT))
    yield "vflip", Case("vflip", (), lambda: image.transpose(Image.FLIP_TOP_BOTTOM))
    for mode in range(len(PAD_MODES) if numpy else 1):
        yield f"pad 10 {PAD_MODES[mode]}", Case("pad", (10, 10, 10, 10, mode, 1, 2, 3),
                                                lambda m=mode: pad(image, (10, 10, 10, 10), m, (1, 2, 3)))
    plain = Sampler(NEAREST, (0, 0, 0))
    for degrees in (90, 180, 270):
        yield f"rotate {degrees}", Case("rotate", (*plain.parameters(), degrees, 1, 0, 0, 0),
                                        lambda d=degrees: rotate(image, d, True, None, plain))
    start, end, exact = corners(random.Random(3), image.size, 0.5)
    arguments = AffineArguments(10.0, (5, 7), 1.1, (3.0, 4.0))
    for sampling, word in SAMPLINGS.items():
        s = Sampler(sampling, (128, 128, 128))
        yield f"rotate 17 {word}", Case("rotate", (*s.parameters(), 17, 0, 0, 0, 0),
                                        lambda s=s: rotate(image, 17, False, None, s))
        yield f"affine {word}", Case("affine", (*s.parameters(), *arguments.parameters()),
                                     lambda s=s: affine(image, arguments, s))
        yield f"shear-x {word}", Case("shear-x", (*s.parameters(), 0.2), lambda s=s: policy(image, "shear-x", 0.2, s))
        yield f"shear-y {word}", Case("shear-y", (*s.parameters(), 0.2), lambda s=s: policy(image, "shear-y", 0.2, s))
        yield f"translate-x {word}", Case("translate-x", (*s.parameters(), 30.0),
                                          lambda s=s: policy(image, "translate-x", 30.0, s))
        yield f"perspective {word}", Case("perspective-corners", (*s.parameters(), *flat(start), *flat(end)),
                                          lambda s=s: perspective(image, exact, s))


def ratio_limit(name):
    """How many times Pillow's speed is asked for. Those that copy memory, as Pillow does, have less; so have CPUs
    without our fast kernels."""
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        return 0
    return 0.5 if name.startswith(("vflip", "crop", "rotate 90", "rotate 270")) else 1.2


def bench(path):
    """Prints a table: the shortest of 30 times on one photograph. Returns what is too slow."""
    slow = []
    for mode in ("RGB", "L"):
        photograph = next(iter(photographs(1)))[1].convert(mode).resize((500, 375))
        print(f"{mode + ', operation':<24} {'here (ms)':>10} {'Pillow (ms)':>12} {'ratio':>7}")
        with augmenting.Program(path, rounds=30) as program:
            for name, case in bench_cases(photograph):
                here, there = augmenting.compared(
                    lambda c=case: program.apply(c.operation, photograph, *c.parameters)[1], case.wanted, ratio_limit(name))
                print(f"{name:<24} {here * 1e3:>10.3f} {there * 1e3:>12.3f} {there / here:>7.1f}")
                if there < ratio_limit(name) * here:
                    slow.append(f"{mode} {name}")
    return slow


def main():
    if Image is None:
        skip("no Pillow for this Python; install python3-pil")
    print(f"Pillow {PIL.__version__}, " + ("torchvision" if functional else "no torchvision"))
    if "--bench" in sys.argv:
        if slow := bench(sys.argv[1]):
            sys.exit(f"augment_warp_test: too slow beside Pillow: {', '.join(slow)}")
        return
    results = {}
    with augmenting.Program(sys.argv[1]) as program:
        for name, image in [*augmenting.edge_cases(), *photographs(count=25)]:
            compare(program, name, image, results)
    for label, (equal, problems) in results.items():
        print(f"{label}: {len(equal)} images equal Pillow's" if not problems else
              f"{label}: FAILED for {len(problems)} of {len(equal) + len(problems)}:\n  " + "\n  ".join(problems[:10]))
    sys.exit(1 if any(problems for _, problems in results.values()) else 0)


if __name__ == "__main__":
    main()
