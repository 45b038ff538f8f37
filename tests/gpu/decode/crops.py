"""Makes many JPEG files from some photographs: crops of random sizes and places, of all samplings that the engines take.

    python3 tests/gpu/decode/crops.py FOLDER OUT [--count 1000]

For `PENSTOCK_TEST_DATA=OUT decode_outcomes_gpu_test`, which says how far the engines' pixels are from libjpeg-turbo's.
"""
import argparse
import pathlib
import random

from PIL import Image

SAMPLINGS = {"4:4:4": 1, "4:2:2": 1, "4:2:0": 2}  # by how often each comes
QUALITIES = 75, 96
SIDES = 160, 640


def crop_of(image, draw):
    width, height = (min(draw.randint(*SIDES), side) for side in image.size)
    left, top = draw.randint(0, image.width - width), draw.randint(0, image.height - height)
    return image.crop((left, top, left + width, top + height))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="a folder of photographs; its sub-folders count, too")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000)
    asked = parser.parse_args()
    files = sorted(path for path in pathlib.Path(asked.folder).rglob("*") if path.suffix.lower() in (".jpeg", ".jpg"))
    draw = random.Random(1)
    target = asked.out / "crops"
    target.mkdir(parents=True)
    for number in range(asked.count):
        with Image.open(files[number % len(files)]) as image:
            crop = crop_of(image.convert("RGB"), draw)
        sampling = draw.choices(list(SAMPLINGS), SAMPLINGS.values())[0]
        crop.save(target / f"{number:04}.jpg", "JPEG", quality=draw.randint(*QUALITIES), subsampling=sampling)


if __name__ == "__main__":
    main()
