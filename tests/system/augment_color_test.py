"""Compares the colour operations of server/augment with torchvision's functional calls on Pillow's images, over
photographs and made edge cases; with --bench, prints how long both take, and fails if an operation is slower than
1.1 times Pillow's speed (the goal is twice; the rest is for busy machines and older CPUs).

usage: augment_color_test.py PENSTOCK-AUGMENT-IMAGE [--bench | OPERATION...]

Without torchvision, the same calls of Pillow stand in for it, except for those that torchvision computes itself."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/augment"))
try:
    import PIL
    from PIL import Image, ImageEnhance, ImageOps

    import augmenting
except ImportError:
    Image = None
try:
    import torch
    import torchvision
    from torchvision.transforms import functional
    torch.set_num_threads(1)
except ImportError:
    functional = None


def skip(why):
    print(f"SKIPPED: augment_color_test: {why}")
    sys.exit(77)


def hue_of_pillow(image, factor):
    """As torchvision's adjust_hue does it."""
    if image.mode == "L":
        return image
    h, s, v = image.convert("HSV").split()
    shift = int(factor * 255) % 256
    return Image.merge("HSV", (h.point([(i + shift) % 256 for i in range(256)]), s, v)).convert("RGB")


def grayscale_of_pillow(image):
    return image.convert("L").convert(image.mode)


def enhanced(kind):
    return lambda image, factor: kind(image).enhance(factor)


FACTORS = (0.0, 0.05, 0.3, 1 / 3, 0.5, 0.77, 0.999999, 1.0, 1.0000001, 1.1, 1.5, 1.9, 2.7, 10.0, 255.0, 1e6, -0.4, -3.0)
HUES = (0.0, 0.001, -0.001, 0.004, 0.1, -0.1, 0.25, 1 / 3, -1 / 3, 0.4999, 0.5, -0.5)
BLURS = ((1, 1, 1.0, 1.0), (3, 3, 0.8, 0.8), (3, 3, 10.0, 10.0), (5, 5, 0.1, 0.1), (5, 5, 1.1, 1.1), (7, 3, 2.0, 0.3),
         (9, 9, 1.7, 1.7), (11, 5, 0.02, 3.0), (13, 13, 2.3, 2.3), (23, 23, 0.1, 0.1), (23, 23, 0.77, 0.77),
         (23, 23, 2.0, 2.0), (51, 23, 20.0, 4.0))
# Operation → (its parameters, Pillow's call). Those of torchvision have the same parameters.
OPERATIONS = {
    "invert": ([()], lambda image: ImageOps.invert(image)),
    "posterize": ([(bits,) for bits in range(9)], lambda image, bits: ImageOps.posterize(image, bits)),
    "solarize": ([(t,) for t in (-5, 0, 0.5, 1, 127.9, 128, 200, 255, 255.5, 256, 300)],
                 lambda image, threshold: ImageOps.solarize(image, threshold)),
    "autocontrast": ([()], lambda image: ImageOps.autocontrast(image)),
    "equalize": ([()], lambda image: ImageOps.equalize(image)),
    "brightness": ([(f,) for f in FACTORS], enhanced(ImageEnhance.Brightness if Image else None)),
    "contrast": ([(f,) for f in FACTORS], enhanced(ImageEnhance.Contrast if Image else None)),
    "saturation": ([(f,) for f in FACTORS], enhanced(ImageEnhance.Color if Image else None)),
    "sharpness": ([(f,) for f in FACTORS], enhanced(ImageEnhance.Sharpness if Image else None)),
    "hue": ([(f,) for f in HUES], hue_of_pillow),
    "grayscale": ([()], grayscale_of_pillow),
    "gaussian_blur": (BLURS, None),
}
BENCHED = (("invert", ()), ("posterize", (4,)), ("solarize", (128,)), ("autocontrast", ()), ("equalize", ()),
           ("brightness", (1.3,)), ("contrast", (1.3,)), ("saturation", (1.3,)), ("sharpness", (1.3,)),
           ("hue", (0.1,)), ("grayscale", ()), ("gaussian_blur", (3, 3, 1.0, 1.0)),
           ("gaussian_blur", (9, 9, 1.5, 1.5)), ("gaussian_blur", (23, 23, 2.0, 2.0)))
TORCHVISION = {"brightness": "adjust_brightness", "contrast": "adjust_contrast", "saturation": "adjust_saturation",
               "sharpness": "adjust_sharpness", "hue": "adjust_hue"}


def reference(operation):
    """Returns torchvision's function, or Pillow's if there is no torchvision."""
    if functional is None:
        return OPERATIONS[operation][1]
    if operation == "grayscale":
        return lambda image: functional.to_grayscale(image, len(image.getbands()))
    if operation == "gaussian_blur":
        return lambda image, *blur: functional.gaussian_blur(image, list(blur[:2]), list(blur[2:]))
    return getattr(functional, TORCHVISION.get(operation, operation))


def photographs(count):
    data = os.environ.get("PENSTOCK_TEST_DATA")
    paths = sorted(pathlib.Path(data or "/nonexistent", "imagenet-sample").glob("*/*"))
    if not paths:
        skip("PENSTOCK_TEST_DATA names no folder with imagenet-sample/<class>/<photographs>")
    for path in paths[::max(1, len(paths) // count)]:
        yield path.name, Image.open(path).convert("RGB")


def possible(operation, image, parameters):
    """Whether torchvision accepts the parameters."""
    if operation == "gaussian_blur":
        return parameters[0] // 2 < image.width and parameters[1] // 2 < image.height
    if operation == "posterize":
        return parameters[0] > 0 or PIL.__version__.startswith("9.")  # later versions refuse 0 bits
    return True


def compare(program, operation, images):
    """Returns the number of compared images, and descriptions of the differences."""
    parameters, _ = OPERATIONS[operation]
    wanted, compared, problems = reference(operation), 0, []
    for number, (name, image) in enumerate(images):
        # Each photograph takes a few of the parameters; together, they take them all.
        large = image.width * image.height > 50_000
        for chosen in parameters[number % 4::4] if large and len(parameters) > 4 else parameters:
            if not possible(operation, image, chosen):
                continue
            found, _ = program.apply(operation, image, *chosen)
            compared += 1
            if problem := augmenting.difference(found, wanted(image, *chosen)):
                problems.append(f"{name}, parameters {chosen}: {problem}")
    return compared, problems


LEAST_RATIO = 1.1  # of Pillow's times


def bench(path):
    """Prints a table: the shortest of 30 times on one photograph. Returns the operations that are too slow."""
    photograph = next(iter(photographs(1)))[1].resize((500, 375))
    slow = []
    print(f"{'operation':<14} {'parameters':<20} {'here (ms)':>9} {'Pillow (ms)':>12} {'ratio':>6}")
    with augmenting.Program(path, rounds=30) as program:
        for operation, parameters in BENCHED:
            call = reference(operation)
            if call is None:
                continue
            here, there = augmenting.compared(lambda: program.apply(operation, photograph, *parameters)[1],
                                              lambda: call(photograph, *parameters), LEAST_RATIO)
            print(f"{operation:<14} {str(parameters):<20} {here * 1e3:>9.3f} {there * 1e3:>12.3f} {there / here:>6.1f}")
            if there < LEAST_RATIO * here:
                slow.append(operation)
    return slow


def main():
    if Image is None:
        skip("no Pillow for this Python; install python3-pil")
    print(f"Pillow {PIL.__version__}, " +
          (f"torchvision {torchvision.__version__}" if functional else "no torchvision"))
    if "--bench" in sys.argv:
        if slow := bench(sys.argv[1]):
            sys.exit(f"augment_color_test: less than 1.1 times Pillow's speed: {', '.join(slow)}")
        return
    images = [*augmenting.edge_cases(), *photographs(count=25)]
    failed = False
    with augmenting.Program(sys.argv[1]) as program:
        for operation in sys.argv[2:] or OPERATIONS:
            if reference(operation) is None:
                print(f"SKIPPED: {operation}: it needs torchvision")
                continue
            compared, problems = compare(program, operation, images)
            failed = failed or bool(problems)
            print(f"{operation}: {compared} images equal Pillow's" if not problems else
                  f"{operation}: FAILED for {len(problems)} of {compared}:\n  " + "\n  ".join(problems[:10]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
