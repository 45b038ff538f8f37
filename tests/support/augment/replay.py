"""Applies a plan of operations (tests/support/augment/plan_text.cc) with torchvision's functional calls on Pillow's
images."""
import numpy
from PIL import Image
from torchvision.transforms import functional

from warp_calls import AffineArguments, Sampler, affine, crop, pad, perspective, rotate

SIMPLE = {"hflip": functional.hflip, "vflip": functional.vflip, "equalize": functional.equalize,
          "autocontrast": functional.autocontrast, "invert": functional.invert}
ADJUSTED = {"brightness": functional.adjust_brightness, "contrast": functional.adjust_contrast,
            "saturation": functional.adjust_saturation, "sharpness": functional.adjust_sharpness,
            "hue": functional.adjust_hue, "solarize": functional.solarize}


def sampler_of(parameters):
    sampling, *fill = map(int, parameters)
    return Sampler(sampling, fill)


def changed(image, name, size, numbers):
    if name in SIMPLE:
        return SIMPLE[name](image)
    if name in ADJUSTED:
        return ADJUSTED[name](image, numbers[0])
    if name == "posterize":
        return functional.posterize(image, int(numbers[0]))
    if name == "grayscale":
        return functional.to_grayscale(image, len(image.getbands()))
    if name == "blur":
        return functional.gaussian_blur(image, [int(numbers[0]), int(numbers[1])], [numbers[2], numbers[2]])
    if name == "rotate":
        degrees, expand, has_center, *center = numbers[:5]
        return rotate(image, degrees, bool(expand), center if has_center else None, sampler_of(numbers[5:]))
    if name == "affine":
        arguments = AffineArguments(numbers[2], [int(n) for n in numbers[3:5]], numbers[5], numbers[6:8], numbers[:2])
        return affine(image, arguments, sampler_of(numbers[8:]))
    if name == "perspective":
        return perspective(image, numbers[8:16], sampler_of(numbers[16:]))
    if name == "pad":
        *padding, mode = map(int, numbers[:5])
        return pad(image, padding, mode, [int(n) for n in numbers[5:]])
    if name == "resize":
        left, top, width, height, sampling = map(int, numbers)
        box = functional.crop(image, top, left, height, width)
        return box.resize(size, sampling)
    if name == "crop":
        return crop(image, int(numbers[0]), int(numbers[1]), *size)
    raise ValueError(f"unknown operation: {name}")


def weighted(image, weight):
    return numpy.float32(weight) * numpy.asarray(image).astype(numpy.float32)


def replay(image, operations):
    """Returns the last image. A mix is computed as torch does it in AugMix."""
    begin = mix = None
    for name, width, height, *numbers in operations:
        if name == "mix":
            begin, mix = image, weighted(image, numbers[0])
        elif name == "chain":
            mix, image = mix + weighted(image, numbers[0]), begin
        elif name == "mixed":
            image = Image.fromarray(mix.astype(numpy.uint8))
        else:
            image = changed(image, name, (int(width), int(height)), numbers)
    return image
