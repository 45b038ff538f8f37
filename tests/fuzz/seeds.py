"""Seeds for the fuzz targets: seeds.py NAME FOLDER writes those of one target.

A format adds a function to SEEDS that yields (file name, bytes). Images need Pillow."""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))


def small_images():
    import image_files
    for name, data in image_files.all_files():
        if len(data) < 3000:
            yield name, data


def image():
    """Eight bytes that image_fuzz.cc turns into what to make of the image, then its file."""
    rng = random.Random(3)
    for name, data in small_images():
        yield name, bytes(rng.randrange(256) for _ in range(8)) + data


def exif():
    import image_files
    yield from image_files.oriented()
    for orientation in range(1, 9):
        for order in "<>":
            yield f"{orientation}{'lb'[order == '>']}.tiff", image_files.exif(orientation, order)


SEEDS = {"image": image, "exif": exif}


def write(name, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for file, data in SEEDS[name]():
        (folder / file).write_bytes(data)
        count += 1
    return count


if __name__ == "__main__":
    print(f"{write(sys.argv[1], sys.argv[2])} seeds in {sys.argv[2]}")
