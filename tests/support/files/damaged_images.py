"""Image files that are cut short, damaged, or of a kind that is refused. See image_files.py."""
import random
import struct
import zlib

from image_files import PALETTE, RGB, SIGNATURE, chunk, picture, png, saved, segments
from raster_files import unsupported_rasters


def png_chunks(data):
    """(name, begin, end) of each chunk."""
    at = 8
    while at + 12 <= len(data):
        length = struct.unpack(">I", data[at:at + 4])[0]
        yield data[at + 4:at + 8], at, at + 12 + length
        at += 12 + length


def damaged_pngs():
    size = (13, 9)
    rng = random.Random(11)
    for interlaced in (False, True):
        whole = png(size, RGB, 8, interlaced, before=chunk(b"tEXt", b"Comment\0x"), idats=2,
                    after=chunk(b"tEXt", b"Comment\0x"))
        for cut in range(8, len(whole)):
            yield f"cut-{interlaced:d}-{cut}.png", whole[:cut]
        for number, (name, begin, end) in enumerate(png_chunks(whole)):
            wrong = bytearray(whole)
            wrong[end - 1] ^= 1
            yield f"sum-{interlaced:d}-{number}-{name.decode()}.png", bytes(wrong)
            yield (f"without-{interlaced:d}-{number}-{name.decode()}.png",
                   whole[:begin] + whole[end:])
            if name != b"IHDR":
                yield (f"twice-{interlaced:d}-{number}-{name.decode()}.png",
                       whole[:end] + whole[begin:end] + whole[end:])
        for number in range(200):
            flipped = bytearray(whole)
            flipped[rng.randrange(8, len(whole))] ^= 1 << rng.randrange(8)
            yield f"flipped-{interlaced:d}-{number}.png", bytes(flipped)
    lines = b"".join(b"\0" + bytes(rng.randrange(256) for _ in range(3 * size[0]))
                     for _ in range(size[1]))
    stream = zlib.compress(lines)
    for name, data in {
        "sum-of-data": stream[:-1] + bytes([stream[-1] ^ 1]),
        "no-sum-of-data": stream[:-4],
        "short-by-a-byte": zlib.compress(lines[:-1]),
        "too-long": zlib.compress(lines + lines),
        "much-too-long": zlib.compress(lines + bytes(1 << 20)),
        "more-behind": stream + b"more",
        "stored": zlib.compress(lines, 0),
        "filter-5": zlib.compress(b"\5" + lines[1:]),
        "no-data": b"",
    }.items():
        yield f"{name}.png", png(size, RGB, 8, data=data)
    yield "header-only.png", SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0))
    for name, fields in {
        "no-width": (0, 9, 8, 2, 0, 0, 0), "depth-3": (9, 9, 3, 0, 0, 0, 0),
        "color-1": (9, 9, 8, 1, 0, 0, 0), "filter-method": (9, 9, 8, 2, 0, 1, 0),
        "huge": (2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 1),
        "bomb": (50000, 50000, 8, 2, 0, 0, 0),
    }.items():
        header = struct.pack(">IIBBBBB", *fields)
        yield f"{name}.png", SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", stream)


def damaged_jpegs():
    size, rng = (47, 35), random.Random(12)
    for name, mode, options in (("420", "RGB", dict(subsampling="4:2:0")),
                                ("progressive", "RGB", dict(progressive=True)),
                                ("gray", "L", {}), ("cmyk", "CMYK", {}),
                                ("cmyk-progressive", "CMYK", dict(progressive=True))):
        whole = saved(picture(size, mode), "JPEG", quality=70, **options)
        scan = [begin for marker, begin, _ in segments(whole) if marker == 0xDA][0]
        for cut in sorted({*range(3, scan, 17), *range(scan, len(whole), 29),
                           *range(len(whole) - 40, len(whole))}):
            yield f"cut-{name}-{cut}.jpg", whole[:cut]
            if cut > scan + 20:
                yield f"ended-{name}-{cut}.jpg", whole[:cut] + b"\xff\xd9"
        for number in range(60):
            flipped = bytearray(whole)
            flipped[rng.randrange(scan + 14, len(whole) - 2)] ^= 1 << rng.randrange(8)
            yield f"flipped-{name}-{number}.jpg", bytes(flipped)


def damaged_webps():
    size, rng = (47, 35), random.Random(13)
    clear = picture(size, "RGBA")
    animated = saved(clear, "WEBP", save_all=True, append_images=[picture(size, "RGBA", 2)])
    for name, whole in (("lossy", saved(picture(size), "WEBP", quality=60)),
                        ("clear", saved(clear, "WEBP", quality=60)),
                        ("lossless", saved(clear, "WEBP", lossless=True)),
                        ("animated", animated)):
        for cut in sorted({*range(12, 60), *range(60, len(whole), 31),
                           *range(len(whole) - 20, len(whole))}):
            yield f"cut-{name}-{cut}.webp", whole[:cut]
        yield f"longer-{name}.webp", whole + b"and more"
        yield f"odd-size-{name}.webp", whole[:4] + struct.pack("<I", 5) + whole[8:]
        for number in range(150):
            flipped = bytearray(whole)
            flipped[rng.randrange(12, len(whole))] ^= 1 << rng.randrange(8)
            yield f"flipped-{name}-{number}.webp", bytes(flipped)


def refused():
    """Files that Pillow accepts and Penstock refuses (listed in server/decode/README.md)."""
    size = (13, 9)
    yield "kind.jp2", saved(picture(size), "JPEG2000")
    yield from unsupported_rasters()
    yield "no-palette.png", png(size, PALETTE, 8, palette=0)
    whole = png(size, RGB, 8)
    [header] = [whole[begin:end] for name, begin, end in png_chunks(whole) if name == b"IHDR"]
    yield "two-headers.png", whole[:8] + header + whole[8:]
    rows = bytes(4 * (3 * size[0] + 1))
    yield "rows-missing.png", png(size, RGB, 8, data=zlib.compress(rows))


def damaged():
    for files in (damaged_jpegs, damaged_pngs, damaged_webps):
        yield from files()
