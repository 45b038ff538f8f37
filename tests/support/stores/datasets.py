"""Makes small datasets in a folder, and puts them into a store.

    folder = datasets.tar_shards("/tmp/shards", samples=1000, shard_samples=100)
    store.put_folder("photos", folder, prefix="train/")

`stores dataset KIND FOLDER [--samples N]` does so in a shell. Photographs come from the folders in
$PENSTOCK_TEST_DATA/imagenet-sample if it is set; else they are made, of about 85 KB each. Every
call with the same arguments makes the same files.
"""
import argparse
import functools
import io
import json
import os
import pathlib
import random
import struct
import tarfile

SIZE = (500, 375)
MADE = 16  # different ones
CLASSES = 10


@functools.lru_cache(maxsize=1)
def photographs():
    """Returns JPEG files as a list of bytes."""
    data = os.environ.get("PENSTOCK_TEST_DATA")
    if data:
        found = sorted(pathlib.Path(data, "imagenet-sample").rglob("*.JPEG"))
        if found:
            return [path.read_bytes() for path in found[:1000]]
    return [_made(seed) for seed in range(MADE)]


def _made(seed):
    """A picture with the structure and the noise of a photograph."""
    from PIL import Image
    rng = random.Random(seed)
    coarse = Image.frombytes("RGB", (12, 9), rng.randbytes(12 * 9 * 3)).resize(SIZE, Image.BICUBIC)
    noise = Image.frombytes("RGB", SIZE, rng.randbytes(SIZE[0] * SIZE[1] * 3))
    buffer = io.BytesIO()
    Image.blend(coarse, noise, 0.2).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _folder(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def numbered(count):
    """Yields (key, JPEG, class) of `count` samples."""
    found = photographs()
    for number in range(count):
        yield f"{number:08d}", found[number % len(found)], number % CLASSES


def tar_shards(folder, samples=200, shard_samples=50):
    """WebDataset's shards: 000000.tar and so on, with KEY.jpg, KEY.cls and KEY.json."""
    folder, shard = _folder(folder), None
    for number, (key, jpeg, label) in enumerate(numbered(samples)):
        if number % shard_samples == 0:
            if shard:
                shard.close()
            shard = tarfile.open(folder / f"{number // shard_samples:06d}.tar", "w",
                                 format=tarfile.USTAR_FORMAT)
        about = json.dumps({"number": number, "class": label}).encode()
        for kind, data in (("jpg", jpeg), ("cls", str(label).encode()), ("json", about)):
            entry = tarfile.TarInfo(f"{key}.{kind}")
            entry.size, entry.mode = len(data), 0o644
            shard.addfile(entry, io.BytesIO(data))
    if shard:
        shard.close()
    return folder


def class_folders(folder, samples=200):
    """A folder for each class, with photographs."""
    folder = _folder(folder)
    for key, jpeg, label in numbered(samples):
        place = folder / f"class{label:02d}"
        place.mkdir(exist_ok=True)
        (place / f"{key}.jpg").write_bytes(jpeg)
    return folder


def npy_arrays(folder, samples=1000):
    """features.npy, float32 of (samples, 3, 32, 32), and labels.npy, int64."""
    folder, rng = _folder(folder), random.Random(1)
    _write_npy(folder / "features.npy", "<f4", (samples, 3, 32, 32),
               struct.pack(f"<{3 * 32 * 32}f", *(rng.random() for _ in range(3 * 32 * 32))), samples)
    _write_npy(folder / "labels.npy", "<i8", (samples,), None, samples)
    return folder


def _write_npy(path, kind, shape, row, count):
    text = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
        for number in range(count):
            if row is None:
                file.write(struct.pack("<q", number % CLASSES))
            else:  # the rows differ by their first value
                file.write(struct.pack("<f", number) + row[4:])


def tokens(folder, samples=1_000_000, files=2):
    """Token files: 00.bin and so on, uint16 without a header."""
    folder = _folder(folder)
    for number in range(files):
        rng = random.Random(number)
        data = rng.randbytes(samples // files * 2)
        (folder / f"{number:02d}.bin").write_bytes(data)
    return folder


def small_objects(folder, samples=10_000):
    """Objects of some bytes in 100 folders, with keys that must be percent-encoded."""
    folder = _folder(folder)
    names = ("plain", "with space", "plus+and&", "per%25cent", "ümläut", "a=b;c,d", "tilde~(x)")
    for number in range(samples):
        place = folder / f"{number % 100:02d}"
        if number < 100:
            place.mkdir(exist_ok=True)
        (place / f"{number:05d} {names[number % len(names)]}.txt").write_text(f"object {number}\n")
    return folder


KINDS = {"tar": tar_shards, "folders": class_folders, "npy": npy_arrays, "tokens": tokens,
         "small": small_objects}


def main(arguments):
    parser = argparse.ArgumentParser(prog="stores dataset", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder")
    parser.add_argument("--samples", type=int, help="how many (default: as the kind has it)")
    options = parser.parse_args(arguments)
    given = {} if options.samples is None else {"samples": options.samples}
    KINDS[options.kind](options.folder, **given)
