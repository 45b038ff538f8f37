"""A folder of photographs of which every hundredth is damaged, for tests of decoding on the GPU."""
import pathlib
import random

EVERY = 100


def make(folder, photographs, count):
    """Writes `count` files, copies of the photographs in turn. Returns the paths of the damaged ones, as text."""
    sources = sorted(path.read_bytes() for path in pathlib.Path(photographs).rglob("*.jp*g")) or sorted(
        path.read_bytes() for path in pathlib.Path(photographs).rglob("*.JPEG"))
    damaged = []
    for number in range(count):
        path = pathlib.Path(folder, f"class{number % 10}", f"{number:06}.jpg")
        path.parent.mkdir(parents=True, exist_ok=True)
        content = sources[number % len(sources)]
        if number % EVERY == EVERY // 2:
            content = _damaged(content, number)
            damaged.append(str(path))
        path.write_bytes(content)
    return damaged


def _damaged(content, number):
    """Cut off, zeros or noise in the middle of the scan, or without a table of quantisation, in turn."""
    content, middle, kind = bytearray(content), len(content) // 2, number // EVERY % 4
    if kind == 0:
        return bytes(content[:middle])
    if kind == 1:
        content[middle:middle + 64] = bytes(64)
    elif kind == 2:
        content[middle:middle + 64] = random.Random(number).randbytes(64)
    else:
        content[content.index(b"\xff\xdb") + 1] = 0xE5  # read as an application's segment
    return bytes(content)
