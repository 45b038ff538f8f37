"""TIFF files of every layout that Penstock decodes, and of some that it refuses. See image_files.py."""
import random
import struct
import zlib

from image_files import picture, saved

SIZES = [(1, 1), (3, 9), (17, 16), (33, 47)]
SHORT, LONG, LONG8 = 3, 4, 16
FORMATS = {SHORT: "H", LONG: "I", LONG8: "Q"}


def rows_of(rng, count):
    return bytes(rng.randrange(256) for _ in range(count))


def packbits(data):
    out = b""
    for at in range(0, len(data), 5):
        part = data[at:at + 5]
        same = len(part) > 2 and at % 3 == 0
        if not same:
            out += bytes([len(part) - 1]) + part
            continue
        out += b"".join(bytes([0, byte]) for byte in part)
    return out


def lzw(data):
    """LZW as TIFF has it: most significant bit first, and codes grow one code early."""
    out, window, held, size, table, prefix = bytearray(), 0, 0, 9, {}, None

    def put(word):
        nonlocal window, held
        window, held = window << size | word, held + size
        while held >= 8:
            held -= 8
            out.append(window >> held & 255)
            window &= (1 << held) - 1

    put(256)
    known = 258
    for byte in data:
        if prefix is None:
            prefix = byte
        elif (prefix, byte) in table:
            prefix = table[prefix, byte]
        else:
            put(prefix)
            table[prefix, byte] = known
            known += 1
            size = max(9, min(12, (known).bit_length()))
            if known == 4094:
                put(256)
                table, known, size = {}, 258, 9
            prefix = byte
    if prefix is not None:
        put(prefix)
        size = max(9, min(12, (known + 1).bit_length()))
    put(257)
    if held:
        out.append(window << 8 - held & 255)
    return bytes(out)

PACKED = {1: bytes, 8: zlib.compress, 32946: zlib.compress, 32773: packbits, 5: lzw}


def tiff_file(tags, pieces, tiled, order="<", big=False):
    """A file with one directory; `pieces` are its stored strips or tiles."""
    head, offset, count = (16, "Q", "Q") if big else (8, "I", "H")
    inline, wide = struct.calcsize(offset), LONG8 if big else LONG
    data, offsets = b"", []
    for piece in pieces:
        offsets.append(head + len(data))
        data += piece + bytes(len(piece) % 2)
    tags = {**tags, (324 if tiled else 273): (wide, offsets), (325 if tiled else 279): (wide, [len(p) for p in pieces])}
    at = head + len(data)
    behind = at + struct.calcsize(order + count) + len(tags) * (4 + 2 * inline) + inline
    entries, values = b"", b""
    for tag in sorted(tags):
        kind, numbers = tags[tag]
        packed = numbers if isinstance(numbers, bytes) else struct.pack(f"{order}{len(numbers)}{FORMATS[kind]}", *numbers)
        if len(packed) > inline:
            where = struct.pack(order + offset, behind + len(values))
            values += packed + bytes(len(packed) % 2)
        else:
            where = packed.ljust(inline, b"\0")
        entries += struct.pack(order + "HH" + offset, tag, kind, len(numbers)) + where
    begin = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if big else 42)
    begin += struct.pack(order + "HHQ", 8, 0, at) if big else struct.pack(order + "I", at)
    return begin + data + struct.pack(order + count, len(tags)) + entries + bytes(inline) + values


def parts_of(size, rows, tile):
    """Yields (width, height) of each strip or tile in order."""
    width, height = size
    if tile is None:
        return [(width, min(rows or height, height - y)) for y in range(0, height, rows or height)]
    return [tile] * (-(-width // tile[0]) * -(-height // tile[1]))


def tiff(size, samples, bits, photometric, rng, order="<", compression=1, rows=None, tile=None, extra=(), predictor=1,
         planar=1, colormap=None, more=(), big=False, make=None, reverse=False):
    """`make(width, height)` returns a part's bytes before compression; without it they are random."""
    together = samples if planar == 1 else 1
    make = make or (lambda width, height: rows_of(rng, (width * together * bits + 7) // 8 * height))
    pieces = []
    for width, height in parts_of(size, rows, tile) * (samples if planar == 2 else 1):
        packed = PACKED.get(compression, bytes)(make(width, height))
        pieces.append(bytes(int(f"{byte:08b}"[::-1], 2) for byte in packed) if reverse else packed)
    tags = {256: (LONG, [size[0]]), 257: (LONG, [size[1]]), 258: (SHORT, [bits] * samples), 259: (SHORT, [compression]),
            262: (SHORT, [photometric]), 277: (SHORT, [samples])}
    if planar != 1:
        tags[284] = SHORT, [planar]
    if extra:
        tags[338] = SHORT, list(extra)
    if predictor != 1:
        tags[317] = SHORT, [predictor]
    if colormap is not None:
        tags[320] = SHORT, colormap
    if reverse:
        tags[266] = SHORT, [2]
    if tile is None:
        tags[278] = LONG, [rows or size[1]]
    else:
        tags[322], tags[323] = (SHORT, [tile[0]]), (SHORT, [tile[1]])
    tags.update(more)
    return tiff_file(tags, pieces, tile is not None, order, big)


def tiffs():
    rng = random.Random(24)
    for size in SIZES:
        width, height = size
        name = f"{width}x{height}"
        for mode in ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK"):
            image = picture(size, "L").convert("1") if mode == "1" else picture(size, mode)
            for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"):
                yield f"{name}-{mode}-{compression}.tiff", saved(image, "TIFF", compression=compression)
            if mode in ("L", "RGB", "RGBA", "CMYK"):
                for compression in ("tiff_lzw", "tiff_adobe_deflate"):
                    yield (f"{name}-{mode}-{compression}-predicted.tiff",
                           saved(image, "TIFF", compression=compression, tiffinfo={317: 2}))
        for order in "<>":
            which = name + "lb"[order == ">"]
            for photometric in (0, 1):
                for bits in (1, 2, 4, 8):
                    yield f"{which}-gray-{photometric}-{bits}.tiff", tiff(size, 1, bits, photometric, rng, order)
            for bits in (1, 2, 4, 8):
                colors = [rng.randrange(65536) for _ in range(3 << bits)]
                yield f"{which}-colors-{bits}.tiff", tiff(size, 1, bits, 3, rng, order, colormap=colors)
            for extra in ((), (0,), (2,), (999,)):
                yield f"{which}-four-{extra}.tiff", tiff(size, 4, 8, 2, rng, order, extra=extra)
            yield f"{which}-five.tiff", tiff(size, 5, 8, 2, rng, order, extra=(2, 0))
            yield f"{which}-five-inks.tiff", tiff(size, 5, 8, 5, rng, order, extra=(0,))
            for samples, extra in ((3, ()), (4, ()), (4, (0,)), (4, (2,))):
                for compression in (1, 8, 5):
                    yield (f"{which}-16-{samples}-{extra}-{compression}.tiff",
                           tiff(size, samples, 16, 2, rng, order, compression, extra=extra))
            for compression in (1, 5, 8, 32773, 32946):
                for samples, bits, photometric in ((3, 8, 2), (1, 8, 1), (4, 8, 5), (1, 1, 1), (1, 4, 1)):
                    yield (f"{which}-strips-{compression}-{samples}-{bits}.tiff",
                           tiff(size, samples, bits, photometric, rng, order, compression, rows=4))
                    if compression != 1 or bits == 8:
                        yield (f"{which}-tiles-{compression}-{samples}-{bits}.tiff",
                               tiff(size, samples, bits, photometric, rng, order, compression, tile=(16, 32)))
        for files in (deep_tiffs, planar_tiffs, other_tiffs, jpeg_tiffs, bilevel_tiffs) if size != (3, 9) else ():
            yield from files(size, name, rng)
    yield from pages()
    yield "long-words.tiff", tiff((150, 90), 3, 8, 2, rng, compression=5)
    yield "two-pages.tiff", saved(picture((9, 8)), "TIFF", save_all=True, append_images=[picture((5, 4))])

def jpeg_part(rng, mode, **options):
    def make(width, height):
        options.setdefault("quality", 85)
        return saved(picture((width, height), mode, rng.random()), "JPEG", **options)
    return make


def shared_tables(data):
    """Splits a JPEG into its tables and the rest, because TIFF writers share the tables among tiles."""
    from image_files import segments
    tables = b"".join(data[begin:end] for marker, begin, end in segments(data) if marker in (0xDB, 0xC4))
    rest, at = data[:2], 2
    for marker, begin, end in segments(data):
        rest += b"" if marker in (0xDB, 0xC4) else data[begin:end]
        at = end
    return b"\xff\xd8" + tables + b"\xff\xd9", rest + data[at:]


def jpeg_tiffs(size, name, rng):
    width, height = size
    for order in "<>":
        for where, parts in (("strips", dict(rows=16)), ("tiles", dict(tile=(32, 16)))):
            which = f"{name}{'lb'[order == '>']}-jpeg-{where}"
            yield (f"{which}-gray.tiff",
                   tiff(size, 1, 8, 1, rng, order, 7, **parts, make=jpeg_part(rng, "L")))
            for subsampling, sides in (("4:4:4", [1, 1]), ("4:2:2", [2, 1]), ("4:2:0", [2, 2])):
                make = jpeg_part(rng, "RGB", subsampling=subsampling)
                yield (f"{which}-{subsampling.replace(':', '')}.tiff",
                       tiff(size, 3, 8, 6, rng, order, 7, **parts, make=make, more={530: (SHORT, sides)}))
            yield (f"{which}-inks.tiff",
                   tiff(size, 4, 8, 5, rng, order, 7, **parts, make=jpeg_part(rng, "CMYK")))
            yield (f"{which}-planes.tiff",
                   tiff(size, 3, 8, 2, rng, order, 7, **parts, planar=2, make=jpeg_part(rng, "L")))
    parts = [shared_tables(saved(picture((32, 16), "RGB", seed), "JPEG", quality=70, subsampling="4:2:0"))
             for seed in range(len(parts_of(size, None, (32, 16))))]
    rests = iter(parts)
    yield (f"{name}-jpeg-tables.tiff",
           tiff(size, 3, 8, 6, rng, compression=7, tile=(32, 16), make=lambda *_: next(rests)[1],
                more={347: (7, parts[0][0]), 530: (SHORT, [2, 2])}))


def bilevel_tiffs(size, name, _):
    image = picture(size, "L").convert("1")
    inverted = image.point(lambda value: 255 - value)
    for compression in ("group3", "group4", "tiff_ccitt"):
        yield f"{name}-{compression}.tiff", saved(image, "TIFF", compression=compression)
        yield f"{name}-{compression}-white.tiff", saved(inverted, "TIFF", compression=compression, tiffinfo={262: 0})
    yield f"{name}-group3-two.tiff", saved(image, "TIFF", compression="group3", tiffinfo={292: 1})
    yield f"{name}-group4-rows.tiff", saved(image, "TIFF", compression="group4", tiffinfo={278: 5})


def predicted_floats(width, height, rng, order):
    """Rows of floats as predictor 3 stores them: all first bytes, then all second bytes, …; then differences."""
    out = b""
    for _ in range(height):
        row = struct.pack(f">{width}f", *[rng.uniform(-40, 300) for _ in range(width)])
        planes = b"".join(row[i::4] for i in range(4))
        out += bytes((b - a) % 256 for a, b in zip(b"\0" + planes, planes))
    return out


def deep_tiffs(size, name, rng):
    """Grays of 12, 16 and 32 bits near 255, where they are clipped, and above."""
    def numbers(code, low, high, order):
        def make(width, height):
            return struct.pack(f"{order}{width * height}{code}",
                               *[rng.randrange(low, high) if rng.random() < .5 else rng.randrange(0, 300)
                                 for _ in range(width * height)])
        return make

    def floats(order):
        return lambda width, height: struct.pack(f"{order}{width * height}f",
                                                 *[rng.uniform(-40, 300) for _ in range(width * height)])
    kinds = {"unsigned16": (16, 1, "H", 0, 65536), "signed16": (16, 2, "h", -32768, 32768),
             "signed32": (32, 2, "i", -2**31, 2**31)}
    for order in "<>":
        which = name + "lb"[order == ">"]
        for kind, (bits, sample_format, code, low, high) in kinds.items():
            for compression in (1, 5, 8, 32773):
                if compression != 1 and bits == 32 and order == ">":
                    continue
                for parts in (dict(rows=4), dict(tile=(16, 16))):
                    yield (f"{which}-{kind}-{compression}-{'tile' in parts:d}.tiff",
                           tiff(size, 1, bits, 1, rng, order, compression, **parts, make=numbers(code, low, high, order),
                                more={339: (SHORT, [sample_format])}))
        for compression, predictor in ((1, 1), (8, 1), (8, 3), (5, 3)):
            if compression != 1 and order == ">":
                continue
            make = floats(order) if predictor == 1 else lambda w, h: predicted_floats(w, h, rng, order)
            yield (f"{which}-floats-{compression}-{predictor}.tiff",
                   tiff(size, 1, 32, 1, rng, order, compression, rows=5, predictor=predictor, make=make,
                        more={339: (SHORT, [3])}))
        for compression in (5, 8):
            yield (f"{which}-predicted16-gray-{compression}.tiff",
                   tiff(size, 1, 16, 1, rng, order, compression, rows=5, predictor=2))
            yield (f"{which}-predicted16-{compression}.tiff",
                   tiff(size, 3, 16, 2, rng, order, compression, rows=5, predictor=2))
    yield f"{name}-white16.tiff", tiff(size, 1, 16, 0, rng, compression=8, make=numbers("H", 0, 65536, "<"))
    yield f"{name}-inks16.tiff", tiff(size, 4, 16, 5, rng)
    yield f"{name}-inks16-lzw.tiff", tiff(size, 4, 16, 5, rng, compression=5)
    for compression in (1, 8):
        yield f"{name}-twelve-{compression}.tiff", tiff(size, 1, 12, 1, rng, compression=compression, rows=3)


def planar_tiffs(size, name, rng):
    for order in "<>":
        which = name + "lb"[order == ">"]
        for parts in (dict(rows=5), dict(tile=(16, 32))):
            tiled = f"{'tile' in parts:d}"
            yield f"{which}-planes-1-{tiled}.tiff", tiff(size, 3, 8, 2, rng, order, **parts, planar=2)
            for compression in (5, 8, 32773):
                for samples, photometric, extra in ((3, 2, ()), (4, 5, ()), (4, 2, (0,)), (4, 2, (1,)), (4, 2, (2,)),
                                                    (4, 2, ()), (2, 1, (2,))):
                    yield (f"{which}-planes-{compression}-{photometric}-{samples}-{extra}-{tiled}.tiff",
                           tiff(size, samples, 8, photometric, rng, order, compression, **parts, extra=extra, planar=2))
            yield f"{which}-planes16-{tiled}.tiff", tiff(size, 3, 16, 2, rng, order, 8, **parts, planar=2)


def other_tiffs(size, name, rng):
    image = picture(size)
    for compression in ("lzma", "zstd", "webp", "jpeg"):
        for mode in ("L", "RGB", "RGBA", "CMYK"):
            if compression != "webp" or mode[:3] == "RGB":
                yield f"{name}-{mode}-{compression}.tiff", saved(picture(size, mode), "TIFF", compression=compression)
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        yield f"{name}-ycc-{compression}.tiff", saved(image.convert("YCbCr"), "TIFF", compression=compression)
    colors = [rng.randrange(65536) for _ in range(3 << 8)]
    for compression in (1, 8):
        yield (f"{name}-colors-alpha-{compression}.tiff",
               tiff(size, 2, 8, 3, rng, compression=compression, extra=(2,), colormap=colors))
        for samples, extra in ((4, (1,)), (5, (1, 0)), (6, (1, 0, 0))):
            yield (f"{name}-multiplied-{samples}-{compression}.tiff",
                   tiff(size, samples, 8, 2, rng, compression=compression, extra=extra))
        for photometric in (0, 1):
            for bits in (1, 2, 4, 8) if photometric == 1 or compression != 1 else (1, 2, 4):  # Pillow has no mode "L;IR"
                yield (f"{name}-reversed-{photometric}-{bits}-{compression}.tiff",
                       tiff(size, 1, bits, photometric, rng, compression=compression, reverse=True))
        yield (f"{name}-reversed-colors-{compression}.tiff",
               tiff(size, 1, 8, 3, rng, compression=compression, colormap=colors, reverse=True))
        yield f"{name}-reversed-rgb-{compression}.tiff", tiff(size, 3, 8, 2, rng, compression=compression, reverse=True)
        yield f"{name}-reversed16-{compression}.tiff", tiff(size, 1, 16, 1, rng, compression=compression, reverse=True)
    for order in "<":
        for compression in (1, 5, 8):
            for parts in (dict(rows=4), dict(tile=(16, 16))):
                yield (f"{name}-big-{compression}-{'tile' in parts:d}.tiff",
                       tiff(size, 3, 8, 2, rng, order, compression, **parts, big=True))


def turned_tiffs():
    """Pillow opens them upright. Told to apply the orientation, Pillow 9.4 turns them again; later versions do not."""
    rng, size = random.Random(28), (21, 14)
    for orientation in range(10):
        for compression in (1, 8):
            yield (f"turned-{orientation}-{compression}.tiff",
                   tiff(size, 3, 8, 2, rng, compression=compression, more={274: (SHORT, [orientation])}))


def pages():
    for compression in (None, "jpeg", "group4", "tiff_lzw"):
        mode = "1" if compression == "group4" else "RGB"
        images = [picture(size, "L" if mode == "1" else mode).convert(mode) for size in ((9, 8), (5, 4), (30, 20))]
        yield f"pages-{compression}.tiff", saved(images[0], "TIFF", save_all=True, append_images=images[1:],
                                                 compression=compression)


def unsupported_tiffs():
    """Files that Pillow accepts and Penstock refuses."""
    rng, size = random.Random(25), (13, 9)
    yield "words.tiff", saved(picture((33, 47), "L").convert("1"), "TIFF", compression="tiff_raw_16")
    yield "lab.tiff", tiff(size, 3, 8, 8, rng)
    yield "planes16.tiff", tiff(size, 3, 16, 2, rng, planar=2)
    yield "ycc-turned.tiff", saved(picture(size).convert("YCbCr"), "TIFF", compression="tiff_lzw", tiffinfo={274: 6})
    yield "floats-of-another-order.tiff", tiff(size, 1, 32, 1, rng, ">", 8, more={339: (SHORT, [3])})
    yield "more-strips-than-needed.tiff", tiff_file(
        {256: (LONG, [4]), 257: (LONG, [2]), 258: (SHORT, [8]), 262: (SHORT, [1]), 278: (LONG, [2])},
        [rows_of(rng, 8), rows_of(rng, 8)], False)
    yield "one-plane-of-two-bits.tiff", tiff(size, 1, 2, 1, rng, planar=2)


def damaged_tiffs():
    """Intact files by name, to be cut short and to have bits flipped."""
    rng, size = random.Random(27), (21, 14)
    two = picture(size, "L").convert("1")
    return {"jpeg.tiff": tiff(size, 3, 8, 6, rng, compression=7, rows=8, more={530: (SHORT, [2, 2])},
                              make=jpeg_part(rng, "RGB", subsampling="4:2:0")),
            "fax.tiff": saved(two, "TIFF", compression="group4"), "fax3.tiff": saved(two, "TIFF", compression="group3"),
            "big.tiff": tiff(size, 3, 8, 2, rng, compression=8, rows=5, big=True),
            "planes.tiff": tiff(size, 4, 8, 5, rng, compression=5, planar=2, rows=6),
            "raw-planes.tiff": tiff(size, 3, 8, 2, rng, planar=2, rows=6),
            "deep.tiff": tiff(size, 1, 16, 1, rng, compression=8, predictor=2, tile=(16, 16)),
            "floats.tiff": tiff(size, 1, 32, 1, rng, compression=5, predictor=3, more={339: (SHORT, [3])},
                                make=lambda w, h: predicted_floats(w, h, rng, "<")),
            "ycc.tiff": saved(picture(size).convert("YCbCr"), "TIFF", compression="tiff_lzw"),
            "zstd.tiff": saved(picture(size), "TIFF", compression="zstd"),
            "webp.tiff": saved(picture(size), "TIFF", compression="webp"),
            "lzma.tiff": saved(picture(size), "TIFF", compression="lzma")}
