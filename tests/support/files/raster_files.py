"""GIF, BMP and Netpbm files, and the TIFF files of tiff_files.py: intact ones of every layout that Penstock
decodes, and damaged ones. See image_files.py."""
import random
import struct

from image_files import picture, saved
from tiff_files import damaged_tiffs, tiff, tiffs, unsupported_tiffs

SIZES = [(1, 1), (3, 9), (17, 16), (33, 47)]


def rows_of(rng, count, most=256):
    return bytes(rng.randrange(most) for _ in range(count))


# Netpbm

def netpbms():
    rng = random.Random(21)
    for size in SIZES:
        width, height = size
        name = f"{width}x{height}"
        yield f"{name}.ppm", saved(picture(size), "PPM")
        yield f"{name}.pgm", saved(picture(size, "L"), "PPM")
        yield f"{name}.pbm", saved(picture(size, "L").convert("1"), "PPM")
        for most in (1, 7, 100, 254, 256, 1000, 65535):
            for letter, channels in (("5", 1), ("6", 3)):
                count = width * height * channels
                values = [rng.randrange(most + 1) for _ in range(count)]
                data = struct.pack(f">{count}{'B' if most < 256 else 'H'}", *values)
                yield f"{name}-{most}-P{letter}.pnm", f"P{letter}\n# words\n{width} {height}\n{most}\n".encode() + data
                text = " ".join(map(str, values)).encode()
                plain = f"P{int(letter) - 3} {width}\t{height}\r{most} ".encode()
                yield f"{name}-{most}-plain{letter}.pnm", plain + text + b"\n"
        bits = [rng.randrange(2) for _ in range(width * height)]
        yield f"{name}-plain.pbm", f"P1 {width} {height}\n".encode() + "".join(map(str, bits)).encode()
        yield f"{name}-spaced.pbm", (f"P1 #c\n{width} {height}\n".encode()
                                     + "\n#more\n".join(map(str, bits)).encode())
    yield "beyond.pgm", b"P5 2 1 9\n" + bytes([3, 200])
    yield "comments.ppm", b"P6 #one\n2 #two\n#three\r1\n25#four\n5\n" + bytes(range(6))


# GIF

def gif_codes(indices, bits, clears=4000):
    """LZW data with a clear code every `clears` indices. Every code is a single index, but the code width grows."""
    clear, out, window, held = 1 << bits, bytearray(), 0, 0
    size, known = bits + 1, clear + 2

    def put(code):
        nonlocal window, held
        window |= code << held
        held += size
        while held >= 8:
            out.append(window & 255)
            window, held = window >> 8, held - 8

    put(clear)
    table, prefix = {}, None
    for place, index in enumerate(indices):
        if prefix is None:
            prefix = index
        elif (prefix, index) in table:
            prefix = table[prefix, index]
        else:
            put(prefix)
            if known < 4096:
                table[prefix, index] = known
                if known == 1 << size and size < 12:
                    size += 1
                known += 1
            prefix = index
        if place % clears == clears - 1:
            put(prefix)
            if known == 1 << size and size < 12:
                size += 1
            put(clear)
            table, prefix, size, known = {}, None, bits + 1, clear + 2
    if prefix is not None:
        put(prefix)
        if known == 1 << size and size < 12:
            size += 1
    put(clear + 1)
    if held:
        out.append(window & 255)
    blocks = b"".join(bytes([len(out[at:at + 255])]) + bytes(out[at:at + 255]) for at in range(0, len(out), 255))
    return bytes([bits]) + blocks + b"\0"


def gif(screen, frame, bits, rng, palette=None, local=None, transparent=None, interlaced=False, before=b"",
        clears=4000):
    x, y, width, height = frame
    flags = 0 if palette is None else 0x80 | palette
    data = b"GIF89a" + struct.pack("<HHBBB", *screen, flags, 3, 0)
    data += b"" if palette is None else rows_of(rng, 3 << palette + 1)
    data += before
    if transparent is not None:
        data += b"!\xf9\4" + bytes([1, 5, 0, transparent]) + b"\0"
    flags = (0 if local is None else 0x80 | local) | 0x40 * interlaced
    data += b"," + struct.pack("<HHHHB", x, y, width, height, flags)
    data += b"" if local is None else rows_of(rng, 3 << local + 1)
    return data + gif_codes(rows_of(rng, width * height, min(1 << bits, 256)), bits, clears) + b";"


def gifs():
    rng = random.Random(22)
    for size in SIZES:
        width, height = size
        name = f"{width}x{height}"
        yield f"{name}-saved.gif", saved(picture(size), "GIF")
        yield f"{name}-gray.gif", saved(picture(size, "L"), "GIF")
        for interlaced in (False, True):
            for bits in (2, 4, 8):
                yield (f"{name}-{bits}-{interlaced:d}.gif",
                       gif(size, (0, 0, *size), bits, rng, palette=bits - 1, interlaced=interlaced))
            yield f"{name}-local-{interlaced:d}.gif", gif(size, (0, 0, *size), 4, rng, 7, 3, interlaced=interlaced)
        yield f"{name}-none.gif", gif(size, (0, 0, *size), 6, rng)
        yield f"{name}-few.gif", gif(size, (0, 0, *size), 8, rng, palette=2)
        yield f"{name}-again.gif", gif(size, (0, 0, *size), 3, rng, palette=2, clears=7)
        yield f"{name}-transparent.gif", gif(size, (0, 0, *size), 4, rng, palette=3, transparent=5)
        larger = (width + 5, height + 9)
        for transparent in (None, 6, 200):
            yield (f"{name}-part-{transparent}.gif",
                   gif(larger, (3, 4, *size), 4, rng, palette=3, transparent=transparent))
        yield f"{name}-beyond.gif", gif((2, 2), (1, 1, *size), 4, rng, palette=3)
    comment = b"!\xfe\5words\0!\xff\x0bNETSCAPE2.0\3\1\0\0\0"
    yield "extensions.gif", gif((9, 7), (0, 0, 9, 7), 4, rng, palette=3, before=comment)
    frames = [picture((21, 13), "P", seed) for seed in range(3)]
    yield "animated.gif", saved(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=40)
    yield "table-full.gif", gif((130, 130), (0, 0, 130, 130), 8, rng, palette=7, clears=10**9)


# BMP

def bmp(size, bits, data, palette=b"", colors=0, compression=0, header=40, masks=b"", top_down=False, offset=None):
    width, height = size
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, width, -height if top_down else height, 1, bits, compression,
                           len(data), 2835, 2835, colors, 0)
        if header > 40:
            info += masks.ljust(header - 40, b"\0")
            masks = b""
    at = 14 + len(info) + len(masks) + len(palette) if offset is None else offset
    return b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at) + info + masks + palette + data


def bmps():
    rng = random.Random(23)
    for size in SIZES:
        width, height = size
        name = f"{width}x{height}"

        def pixels(bits):
            return rows_of(rng, (width * bits + 31) // 32 * 4 * height)

        yield f"{name}-saved.bmp", saved(picture(size), "BMP")
        yield f"{name}-gray.bmp", saved(picture(size, "L"), "BMP")
        yield f"{name}-two.bmp", saved(picture(size, "L").convert("1"), "BMP")
        yield f"{name}-alpha.bmp", saved(picture(size, "RGBA"), "BMP")
        for top_down in (False, True):
            for bits in (1, 4, 8):
                for header, each in ((12, 3), (40, 4), (64, 4), (108, 4), (124, 4)):
                    if header == 12 and top_down:
                        continue
                    yield (f"{name}-{bits}-{header}-{top_down:d}.bmp",
                           bmp(size, bits, pixels(bits), rows_of(rng, each << bits), header=header,
                               top_down=top_down))
            for bits in (16, 24, 32):
                for header in (12, 40, 124):
                    if header == 12 and top_down:
                        continue
                    yield (f"{name}-{bits}-{header}-{top_down:d}.bmp",
                           bmp(size, bits, pixels(bits), header=header, top_down=top_down))
        yield f"{name}-few.bmp", bmp(size, 8, pixels(8), rows_of(rng, 4 * 20), colors=20)
        yield f"{name}-wrong-offset.bmp", bmp(size, 4, pixels(4), rows_of(rng, 64), offset=54)
        for number, (bits, masks) in enumerate((
                (32, (0xFF0000, 0xFF00, 0xFF, 0)), (32, (0xFF000000, 0xFF0000, 0xFF00, 0)),
                (32, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)), (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
                (32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)), (32, (0, 0, 0, 0)),
                (16, (0xF800, 0x7E0, 0x1F, 0)), (16, (0x7C00, 0x3E0, 0x1F, 0)), (24, (0xFF0000, 0xFF00, 0xFF, 0)))):
            for header in (40, 108):
                if header == 40 and masks[3] != 0:
                    continue
                packed = struct.pack("<4I", *masks)
                yield (f"{name}-fields-{number}-{header}.bmp",
                       bmp(size, bits, pixels(bits), compression=3, header=header,
                           masks=packed[:12] if header == 40 else packed))
        runs = b""
        for _ in range(height):
            left = width
            while left:
                count = min(left, rng.randrange(1, 9))
                if count >= 3 and rng.randrange(2):
                    runs += bytes([0, count]) + rows_of(rng, count) + bytes(count % 2)
                else:
                    runs += bytes([count, rng.randrange(256)])
                left -= count
            runs += b"\0\0"
        for top_down in (False, True):
            yield (f"{name}-runs-{top_down:d}.bmp",
                   bmp(size, 8, runs + b"\0\1", rows_of(rng, 1024), compression=1, top_down=top_down))
        short = b"".join(bytes([max(1, width // 2), 7, 0, 0]) for _ in range(height)) + b"\0\1"
        yield f"{name}-short-runs.bmp", bmp(size, 8, short, rows_of(rng, 1024), compression=1)


def raster_files():
    for files in (netpbms, gifs, bmps, tiffs):
        yield from files()


def unsupported_rasters():
    """Files that Pillow accepts and Penstock refuses."""
    rng, size = random.Random(25), (13, 9)
    yield from unsupported_tiffs()
    yield "steps.bmp", bmp(size, 8, b"\0\2\1\1\1\1" + b"\x0d\1\0\0" * 9, rows_of(rng, 1024), compression=1)


def damaged_rasters():
    rng, size = random.Random(26), (21, 14)
    whole = {"netpbm.ppm": saved(picture(size), "PPM"), "plain.pgm": b"P2 3 2 100\n" + b"7 50 100\n99 0 3 ",
             "frame.gif": gif((25, 20), (2, 3, *size), 5, rng, palette=4, transparent=3),
             "interlaced.gif": gif(size, (0, 0, *size), 8, rng, palette=7, interlaced=True),
             "true.bmp": bmp(size, 24, rows_of(rng, 64 * 14)),
             "runs.bmp": bmp(size, 8, b"".join(b"\x15" + rows_of(rng, 1) + b"\0\0" for _ in range(14)) + b"\0\1",
                             rows_of(rng, 1024), compression=1),
             "strips.tiff": tiff(size, 3, 8, 2, rng, rows=5), "lzw.tiff": tiff(size, 3, 8, 2, rng, compression=5),
             "deflated.tiff": tiff(size, 1, 8, 3, rng, compression=8, rows=4, colormap=list(range(0, 65536, 85))[:768]),
             "tiles.tiff": tiff(size, 3, 8, 2, rng, compression=32773, tile=(16, 16))}
    whole.update(damaged_tiffs())
    for name, data in whole.items():
        for cut in sorted({*range(1, min(len(data), 120)), *range(120, len(data), 37)}):
            yield f"cut-{cut}-{name}", data[:cut]
        for number in range(250):
            flipped = bytearray(data)
            at = rng.randrange(min(len(data), 200)) if number % 2 else rng.randrange(len(data))
            flipped[at] ^= 1 << rng.randrange(8)
            yield f"flipped-{number}-{name}", bytes(flipped)
