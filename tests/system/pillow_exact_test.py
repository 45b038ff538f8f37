"""Rows equal Pillow's to the byte.

pillow_exact_test.py DECODE_ROWS [all] draws crop and flip with the Python code in server/plan/README.md, crops, resizes
and flips with Pillow, and compares every byte with the output of decode_rows for the same files: all photographs
in $PENSTOCK_TEST_DATA/imagenet-sample, re-encodings of some, and damaged copies, which must be refused exactly if
Pillow raises. Each way of decoding after the first gets a third of the files; with `all`, all of them. Exits with 77
if the photographs are missing.
"""

import io
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import warnings

try:
    from PIL import Image, ImageOps
except ImportError:
    Image = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANDOM_RESIZED_CROP, RESIZE_CENTER_CROP, WHOLE = 1, 2, 3  # the whole image, then its centre
NEAREST, LANCZOS, BILINEAR, BICUBIC = range(4)  # Pillow's numbers, and ours
REFUSALS = (2, 3, 4, 5, 7)  # not an image, unsupported, truncated, corrupt, too many pixels


def skip(why):
    print(f"SKIPPED: pillow_exact_test: {why}")
    sys.exit(77)


def readme_functions():
    """Returns words, crop and flip exactly as the README shows them."""
    text = (ROOT / "server/plan/README.md").read_text()
    names = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, names)
    return names


README = readme_functions()


class Case:
    def __init__(self, name, geometry, size, resize=0, flip=0.5, seed=1, epoch=0, mode="RGB",
                 exif=False, interpolation=BILINEAR):
        self.interpolation = interpolation
        self.name, self.geometry, self.size, self.resize = name, geometry, size, resize
        self.flip, self.seed, self.epoch, self.mode, self.exif = flip, seed, epoch, mode, exif

    def arguments(self):
        width, height = self.size
        return [str(a) for a in (self.geometry, height, width, self.resize, self.flip, self.seed,
                                 self.epoch, "gray" if self.mode == "L" else "rgb",
                                 "apply" if self.exif else "ignore", self.interpolation)]

    def row_bytes(self):
        return self.size[0] * self.size[1] * len(self.mode)

    def image(self, path):
        """Returns the whole image, or None if Pillow raises any exception."""
        try:
            with warnings.catch_warnings(), Image.open(path) as image:
                warnings.simplefilter("ignore")
                return (ImageOps.exif_transpose(image) if self.exif else image).convert(self.mode)
        except Exception:
            return None

    def box(self, image_size, sample):
        if self.geometry != RANDOM_RESIZED_CROP:
            return (0, 0, *image_size)
        return README["crop"](*image_size, (self.seed, self.epoch, sample))

    def resized(self, image):
        """Resizes and crops like torchvision's Resize(int) and CenterCrop."""
        short, long = sorted(image.size)
        other = int(self.resize * long / short)
        size = (self.resize, other) if image.size[0] <= image.size[1] else (other, self.resize)
        image = image.resize(size, self.interpolation)
        width, height = self.size
        left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
        return image.crop((left, top, left + width, top + height))

    def centre(self, image):
        """Crops like torchvision's CenterCrop, which pads with black."""
        starts = [-((wanted - side) // 2) if wanted > side else round((side - wanted) / 2)
                  for side, wanted in zip(image.size, self.size)]
        return image.crop((*starts, starts[0] + self.size[0], starts[1] + self.size[1]))

    def row(self, image, sample):
        if self.geometry == WHOLE:
            return self.centre(image).tobytes()
        if self.geometry == RESIZE_CENTER_CROP:
            image = self.resized(image)
        else:
            x, y, w, h = self.box(image.size, sample)
            image = image.crop((x, y, x + w, y + h)).resize(self.size, self.interpolation)
        if README["flip"]((self.seed, self.epoch, sample), self.flip):
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        return image.tobytes()


def read_exactly(stream, count):
    data = stream.read(count)
    assert len(data) == count, f"decode_rows ended early: wanted {count} bytes, got {len(data)}"
    return data


def decoded(program, case, paths):
    """Yields (fault, box, flip, image size, row or None) for each path."""
    listing = tempfile.TemporaryFile()
    listing.write("\n".join(map(str, paths)).encode() + b"\n")
    listing.seek(0)
    with subprocess.Popen([program, *case.arguments()], stdin=listing,
                          stdout=subprocess.PIPE) as process:
        for _ in paths:
            fault, x, y, w, h, flip, *size = struct.unpack("=8I", read_exactly(process.stdout, 32))
            row = None if fault else read_exactly(process.stdout, case.row_bytes())
            yield fault, (x, y, w, h), bool(flip), tuple(size), row
    assert process.returncode == 0, f"decode_rows exited with {process.returncode}"


def compare(program, case, paths):
    """Returns descriptions of the problems, and the number of compared rows."""
    problems, rows = [], 0
    for sample, (path, found) in enumerate(zip(paths, decoded(program, case, paths))):
        fault, box, flip, size, row = found
        image = case.image(path)
        if image is None or row is None:
            if image is not None or fault not in REFUSALS:
                problems.append(f"{path}: fault {fault}, Pillow raises: {image is None}")
            continue
        rows += 1
        if size != image.size or box != case.box(image.size, sample):
            problems.append(f"{path}: {size} {box}, wanted {image.size} {case.box(image.size, sample)}")
        elif flip != README["flip"]((case.seed, case.epoch, sample), case.flip):
            problems.append(f"{path}: flip {flip}")
        elif row != (wanted := case.row(image, sample)):
            differing = sum(a != b for a, b in zip(row, wanted))
            problems.append(f"{path}: {differing} of {len(row)} bytes differ, box {box} of {size}")
    return problems, rows


def report(program, case, paths):
    """Compares and prints; returns whether everything equals Pillow's."""
    problems, rows = compare(program, case, paths)
    print(f"{case.name}: {rows} rows of {len(paths)} files equal Pillow's" if not problems else
          f"{case.name}: FAILED for {len(problems)}:\n  " + "\n  ".join(problems[:20]))
    return not problems


PLAIN = Case("as it is", RANDOM_RESIZED_CROP, (224, 224))

ENCODINGS = [
    dict(quality=q, subsampling=s, progressive=p)
    for q in (30, 92) for s in ("4:4:4", "4:2:2", "4:2:0") for p in (False, True)
] + [dict(quality=75, mode="L"), dict(quality=75, mode="L", progressive=True)]


MARKERS = (0x01, 0xC0, 0xC4, 0xD3, 0xD8, 0xDA, 0xDB, 0xDC, 0xE0, 0xFE)


def encode(image, mode="RGB", **options):
    buffer = io.BytesIO()
    image.convert(mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def reencoded(photographs, folder, rng):
    """Writes every encoding of a few photographs and of tiny pieces of them."""
    paths = []
    for number, options in enumerate(ENCODINGS):
        image = PLAIN.image(photographs[number * 7 % len(photographs)])
        left, top = rng.randrange(image.width // 2), rng.randrange(image.height // 2)
        pieces = [(left, top, left + rng.randrange(1, 24), top + rng.randrange(1, 24))
                  for _ in range(6)]
        for i, piece in enumerate([image, *(image.crop(box) for box in pieces)]):
            paths.append(folder / f"encoded-{number}-{i}.jpg")
            paths[-1].write_bytes(encode(piece, **options))
    return paths


def damaged(sources, folder, rng):
    """Makes copies that are truncated, truncated with an end marker, without an end marker, or with flipped bits
    or an inserted marker in their second half."""
    paths = []
    for number, source in enumerate(sources):
        data = source.read_bytes()
        cut = data[:rng.randrange(700, len(data))] if len(data) > 700 else data[:-1]
        flipped = bytearray(data)
        for _ in range(3):
            flipped[rng.randrange(len(data) // 2, len(data))] ^= 1 << rng.randrange(8)
        at = rng.randrange(len(data) // 2, len(data))
        marked = data[:at] + bytes([0xFF, rng.choice(MARKERS)]) + data[at:]
        for kind, content in dict(cut=cut, ended=cut + b"\xff\xd9", endless=data[:-2],
                                  flipped=bytes(flipped), marked=marked).items():
            paths.append(folder / f"{kind}-{number}.jpg")
            paths[-1].write_bytes(content)
    return paths


def cases(epochs):
    for epoch in range(epochs):
        yield Case(f"random resized crop, epoch {epoch}", RANDOM_RESIZED_CROP, (224, 224),
                   seed=2**63 + 12345, epoch=epoch)
    yield Case("resize and center crop", RESIZE_CENTER_CROP, (224, 224), 256, flip=0)
    yield Case("whole images", WHOLE, (401, 300), flip=0)
    yield Case("whole images in gray", WHOLE, (224, 224), flip=0, mode="L")
    yield Case("odd sizes", RANDOM_RESIZED_CROP, (97, 33), flip=1, epoch=2**32 - 1)
    yield Case("resize and odd center crop", RESIZE_CENTER_CROP, (90, 63), 90, flip=0.5)
    for name, number in (("nearest", NEAREST), ("lanczos", LANCZOS), ("bicubic", BICUBIC)):
        yield Case(f"random resized crop, {name}", RANDOM_RESIZED_CROP, (224, 224), seed=number, interpolation=number)
        yield Case(f"resize and center crop, {name}", RESIZE_CENTER_CROP, (224, 224), 256, interpolation=number)
        yield Case(f"odd sizes in gray, {name}", RANDOM_RESIZED_CROP, (301, 33), mode="L", interpolation=number)


def main():
    if Image is None:
        skip("no Pillow for /usr/bin/python3; install python3-pil")
    data = os.environ.get("PENSTOCK_TEST_DATA")
    photographs = sorted(pathlib.Path(data or "/nonexistent", "imagenet-sample").glob("*/*"))
    if not photographs:
        skip("PENSTOCK_TEST_DATA names no folder with imagenet-sample/<class>/<photographs>")
    program, rng, failed = sys.argv[1], random.Random(7), False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        encoded = reencoded(photographs, folder, rng)
        bad = damaged(photographs[::5] + encoded[::7], folder, rng)
        files = photographs + encoded + bad
        for number, case in enumerate(cases(epochs=3)):
            some = files if number == 0 or "all" in sys.argv[2:] else files[number % 3::3]
            failed = not report(program, case, some) or failed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
