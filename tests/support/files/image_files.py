"""Small image files of every kind in use, for comparisons with Pillow and as seeds for fuzzing. Pillow makes
them; kinds for which it has no option are assembled byte by byte.

    image_files.py FOLDER    writes all of them there

Every run makes the same files."""
import io
import pathlib
import random
import struct
import sys
import zlib

from PIL import Image

SIZES = [(1, 1), (2, 3), (3, 9), (8, 5), (17, 16), (33, 47), (90, 61)]


def picture(size, mode="RGB", seed=1):
    """A picture with gradients, edges and noise."""
    rng = random.Random(f"{size}{mode}{seed}")
    width, height = size
    bands = len(Image.new(mode, (1, 1)).getbands())
    data = bytearray()
    for y in range(height):
        for x in range(width):
            for band in range(bands):
                slope = (x * (3 + band) + y * (5 - band)) * 255 // (4 * (width + height) + 1)
                edge = 90 * ((x // 7 + y // 5 + band) % 3 == 0)
                data.append((slope + edge + rng.randrange(24)) % 256)
    return Image.frombytes(mode, size, bytes(data))


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


# JPEG

def segments(data):
    """Yields (marker, begin, end) of each segment before the scan's data."""
    at = 2
    while True:
        marker, length = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
        yield marker, at, at + 2 + length
        if marker == 0xDA:
            return
        at += 2 + length


def without(data, marker):
    for found, begin, end in segments(data):
        if found == marker:
            return data[:begin] + data[end:]
    raise ValueError(f"no marker {marker:x}")


def with_adobe_transform(data, transform):
    for found, begin, end in segments(data):
        if found == 0xEE:
            return data[:begin + 15] + bytes([transform]) + data[begin + 16:]
    raise ValueError("no marker of Adobe's")


def jpegs():
    for size in SIZES:
        name = "x".join(map(str, size))
        for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
            for progressive in (False, True):
                yield (f"{name}-{subsampling.replace(':', '')}-{progressive:d}.jpg",
                       saved(picture(size), "JPEG", subsampling=subsampling, quality=80,
                             progressive=progressive))
        for progressive in (False, True):
            yield (f"{name}-gray-{progressive:d}.jpg",
                   saved(picture(size, "L"), "JPEG", progressive=progressive))
            cmyk = saved(picture(size, "CMYK"), "JPEG", quality=90, progressive=progressive)
            yield f"{name}-cmyk-{progressive:d}.jpg", cmyk
            yield f"{name}-ycck-{progressive:d}.jpg", with_adobe_transform(cmyk, 2)
            yield f"{name}-unsaid-{progressive:d}.jpg", without(cmyk, 0xEE)
        # Three components named R, G and B, and three that Adobe's marker calls RGB.
        plain = without(saved(picture(size), "JPEG", subsampling="4:4:4"), 0xE0)
        adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"
        yield f"{name}-rgb.jpg", plain[:2] + adobe + plain[2:]
        yield f"{name}-bare.jpg", plain


# PNG

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16),
          RGBA: (8, 16)}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2)]
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, data=b""):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def paeth(a, b, c):
    pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filtered(kind, row, above, step):
    out = bytearray([kind])
    for i, value in enumerate(row):
        a = row[i - step] if i >= step else 0
        b = above[i]
        c = above[i - step] if i >= step else 0
        guess = (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]
        out.append((value - guess) % 256)
    return bytes(out)


def packed(samples, depth):
    """Packs samples into bytes, most significant bit first."""
    if depth >= 8:
        return b"".join(s.to_bytes(depth // 8, "big") for s in samples)
    bits = "".join(format(s, f"0{depth}b") for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def scanlines(rows, depth, channels, rng):
    """Returns the filtered rows of one pass; each row is a list of samples."""
    step, above, out = max(1, depth * channels // 8), None, b""
    for row in rows:
        data = packed(row, depth)
        out += filtered(rng.randrange(5), data, above or bytes(len(data)), step)
        above = data
    return out


def png(size, color, depth, interlaced=False, palette=None, before=b"", after=b"", idats=1, seed=1,
        data=None):
    """A PNG with random rows; `before` and `after` are the chunks around the image data."""
    rng = random.Random(f"{size}{color}{depth}{seed}")
    width, height = size
    channels = CHANNELS[color]
    top = 1 << depth
    rows = [[min(top - 1, (x * top // (width + 1) + rng.randrange(1 + top // 3)) % top)
             if color != PALETTE else rng.randrange(top)
             for x in range(width) for _ in range(channels)] for _ in range(height)]
    if depth == 16:  # half of the samples small, because most 16-bit grays clip to white
        rows = [[s if rng.random() < 0.5 else s % 300 for s in row] for row in rows]
    lines = b""
    for x0, y0, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        part = [[s for x in range(x0, width, dx) for s in row[x * channels:(x + 1) * channels]]
                for row in rows[y0::dy]]
        if part and part[0]:
            lines += scanlines(part, depth, channels, rng)
    if data is None:
        data = zlib.compress(lines)
    out = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0,
                                                 interlaced))
    if color == PALETTE:
        entries = palette if palette is not None else top
        out += chunk(b"PLTE", bytes(rng.randrange(256) for _ in range(3 * entries)))
    out += before
    cut = -(-len(data) // idats)
    for i in range(idats):
        out += chunk(b"IDAT", data[i * cut:(i + 1) * cut])
    return out + after + chunk(b"IEND")


def pngs():
    for size in SIZES:
        for color, depths in DEPTHS.items():
            for depth in depths:
                for interlaced in (False, True):
                    name = f"{size[0]}x{size[1]}-c{color}-b{depth}-i{interlaced:d}.png"
                    yield name, png(size, color, depth, interlaced)
    size = (33, 47)
    yield "short-palette.png", png(size, PALETTE, 8, palette=100)
    yield "palette-and-trns.png", png(size, PALETTE, 8, before=chunk(b"tRNS", bytes(range(256))))
    yield "palette-one-clear.png", png(size, PALETTE, 4, before=chunk(b"tRNS", b"\xff\x00\xff"))
    yield "gray-and-trns.png", png(size, GRAY, 8, before=chunk(b"tRNS", b"\x00\x21"))
    yield "gray16-and-trns.png", png(size, GRAY, 16, before=chunk(b"tRNS", b"\x00\x21"))
    yield "rgb-and-trns.png", png(size, RGB, 8, before=chunk(b"tRNS", b"\x00\x21\x00\x05\x00\x09"))
    yield "rgb-and-plte.png", png(size, RGB, 8, before=chunk(b"PLTE", bytes(range(30))))
    yield "gamma.png", png(size, RGB, 8, before=chunk(b"gAMA", struct.pack(">I", 100000)))
    yield "profile.png", png(size, RGB, 8, before=chunk(b"iCCP", b"x\0\0" + zlib.compress(b"none")))
    yield "no-profile.png", png(size, RGB, 8, before=chunk(b"iCCP", b"x\0\0nonsense"))
    yield "text.png", png(size, RGB, 8, before=chunk(b"tEXt", b"Comment\0x" * 3))
    yield "unknown-ancillary.png", png(size, RGB, 8, before=chunk(b"juNk", b"abc"))
    yield "unknown-critical.png", png(size, RGB, 8, before=chunk(b"JUNK", b"abc"))
    yield "many-idats.png", png(size, RGB, 8, idats=50)
    yield "many-idats-interlaced.png", png(size, RGBA, 16, interlaced=True, idats=50)
    yield "empty-idat.png", png(size, RGB, 8, before=chunk(b"IDAT"))
    yield "text-behind.png", png(size, RGB, 8, after=chunk(b"tEXt", b"Comment\0x"))
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
        image = picture(size, "L" if mode in "1P" else mode).convert(mode)
        yield f"pillow-{mode}.png", saved(image, "PNG")
    yield "animated.png", saved(picture(size), "PNG", save_all=True,
                                append_images=[picture(size, seed=2), picture(size, seed=3)])


# WebP

def riff_chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def riff(chunks):
    body = b"WEBP" + b"".join(riff_chunk(name, data) for name, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def riff_chunks(data):
    at = 12
    while at + 8 <= len(data):
        name, length = data[at:at + 4], struct.unpack("<I", data[at + 4:at + 8])[0]
        yield name, data[at + 8:at + 8 + length]
        at += 8 + length + length % 2


def webps():
    for size in SIZES:
        name = "x".join(map(str, size))
        for mode in ("RGB", "RGBA"):
            yield f"{name}-{mode}-lossy.webp", saved(picture(size, mode), "WEBP", quality=70)
            yield f"{name}-{mode}-lossless.webp", saved(picture(size, mode), "WEBP", lossless=True)
    size = (90, 61)
    clear = picture(size, "RGBA")
    clear.putalpha(picture(size, "L", 5).point(lambda v: 0 if v < 128 else v))
    yield "clear-lossy.webp", saved(clear, "WEBP", quality=60)
    yield "clear-lossless.webp", saved(clear, "WEBP", lossless=True)
    yield "clear-exact.webp", saved(clear, "WEBP", lossless=True, exact=True)
    frames = [picture(size, "RGBA", seed) for seed in (1, 2, 3)]
    for lossless in (False, True):
        yield (f"animated-{lossless:d}.webp",
               saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=lossless))
    yield "part-of-canvas.webp", animated_part(size, (21, 15), (32, 20))


def animated_part(canvas, size, offset):
    """An animation with one frame, which covers part of the canvas."""
    [(name, bits)] = [c for c in riff_chunks(saved(picture(size), "WEBP", quality=80))
                      if c[0] in (b"VP8 ", b"VP8L")]
    u24 = lambda value: struct.pack("<I", value)[:3]
    frame = (u24(offset[0] // 2) + u24(offset[1] // 2) + u24(size[0] - 1) + u24(size[1] - 1) +
             u24(100) + b"\0" + riff_chunk(name, bits))
    return riff([(b"VP8X", b"\x02\0\0\0" + u24(canvas[0] - 1) + u24(canvas[1] - 1)),
                 (b"ANIM", b"\xff\xff\xff\xff\0\0"), (b"ANMF", frame)])


# EXIF

def exif(orientation, order="<", tags=()):
    """A TIFF header and a directory: the given (tag, type, count, value) entries, then the orientation."""
    entries = [*tags, (0x0112, 3, 1, None)]
    out = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries))
    for tag, kind, count, value in entries:
        if value is None:
            out += struct.pack(order + "HHIHH", tag, kind, count, orientation, 0)
        else:
            out += struct.pack(order + "HHII", tag, kind, count, value)
    return out + struct.pack(order + "I", 0)


def oriented():
    size = (33, 47)
    for orientation in range(0, 10):
        order = "<>"[orientation % 2]
        block = exif(orientation, order, [(0x0100, 4, 1, 33)])
        for subsampling in ("4:4:4", "4:2:0"):
            yield (f"oriented-{orientation}-{subsampling[2:].replace(':', '')}.jpg",
                   saved(picture(size), "JPEG", subsampling=subsampling, exif=b"Exif\0\0" + block))
        yield f"oriented-{orientation}.png", png(size, RGB, 8, before=chunk(b"eXIf", block))
        yield (f"oriented-behind-{orientation}.png",
               png(size, PALETTE, 4, interlaced=True, after=chunk(b"eXIf", block)))
        yield (f"oriented-{orientation}.webp",
               saved(picture(size, "RGBA"), "WEBP", exif=b"Exif\0\0" + block))
        yield (f"oriented-plain-{orientation}.webp", saved(picture(size), "WEBP", exif=block))
    plain = saved(picture(size), "JPEG")
    app1 = lambda data: b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data
    first, second = b"Exif\0\0" + exif(6), b"Exif\0\0" + exif(3)
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x/>"
    yield "two-blocks.jpg", plain[:2] + app1(xmp) + app1(first) + app1(second) + plain[2:]
    for name, block in {
        "long": exif(0)[:10] + struct.pack("<HHII", 0x0112, 4, 1, 6) + b"\0" * 4,
        "byte": exif(0)[:10] + struct.pack("<HHI4s", 0x0112, 1, 1, b"\x06") + b"\0" * 4,
        "twice": exif(3, "<", [(0x0112, 3, 1, 6)]),
        "cut": exif(6)[:19],
        "unknown-type": exif(6, "<", [(0x0100, 77, 9, 9)]),
        "outside": exif(6, "<", [(0x010F, 2, 50, 5000)]),
        "two-values": exif(0)[:10] + struct.pack("<HHIHH", 0x0112, 3, 2, 8, 3) + b"\0" * 4,
    }.items():
        yield f"exif-{name}.png", png(size, RGB, 8, before=chunk(b"eXIf", block))


def all_files():
    from raster_files import raster_files
    for files in (jpegs, pngs, webps, oriented, raster_files):
        yield from files()


def write(files, folder):
    """Writes the files. Returns their paths in order."""
    paths = []
    for name, data in files:
        paths.append(pathlib.Path(folder, name))
        paths[-1].write_bytes(data)
    return paths


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(write(all_files(), folder))} files in {folder}")
