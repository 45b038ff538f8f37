"""What a user of the other loaders writes: decoding, RandomResizedCrop and a flip, by Pillow."""
import io
import math
import random

import numpy
from PIL import Image

SIDE = 224


def box(width, height):
    """torchvision's RandomResizedCrop.get_params."""
    area = width * height
    for _ in range(10):
        target = area * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height


def crop(jpeg):
    """uint8 of (224, 224, 3)."""
    image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    image = image.resize((SIDE, SIDE), Image.BILINEAR, box=box(*image.size))
    if random.random() < 0.5:
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    return numpy.asarray(image)
