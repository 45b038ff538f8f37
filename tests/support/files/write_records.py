"""write_records.py IMAGES FOLDER FILES: writes photographs in class folders as TFRecord files.

Examples are in ImageFolder's order, and use the names of TensorFlow's own ImageNet:
image/encoded, image/class/label, image/class/text, image/height (here the position in the order) and
image/object/bbox/xmin (as many floats as that number modulo 3). FOLDER/train-00000-of-00003 and so on.
The files are assembled here from the documented formats.
"""
import pathlib
import struct
import sys


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(crc_table())


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def feature(name, value):
    if isinstance(value, bytes):
        listed = field(1, field(1, value))
    elif value and isinstance(value[0], int):
        listed = field(3, field(1, b"".join(varint(number) for number in value)))
    else:
        listed = field(2, field(1, struct.pack(f"<{len(value)}f", *value)))
    return field(1, field(1, name.encode()) + field(2, listed))


def example(features):
    return field(1, b"".join(feature(name, value) for name, value in features.items()))


def samples(images):
    classes = sorted(path for path in pathlib.Path(images).iterdir() if path.is_dir())
    number = 0
    for label, folder in enumerate(classes):
        for file in sorted(folder.iterdir()):
            yield example({"image/height": [number], "image/encoded": file.read_bytes(),
                           "image/class/text": f"caption {number}".encode(),
                           "image/object/bbox/xmin": [i + 0.5 for i in range(number % 3)],
                           "image/class/label": [label]})
            number += 1


def main():
    images, folder, files = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    everything = list(samples(images))
    folder.mkdir(parents=True, exist_ok=True)
    for file in range(files):
        part = everything[file * len(everything) // files:(file + 1) * len(everything) // files]
        (folder / f"train-{file:05}-of-{files:05}").write_bytes(b"".join(map(record, part)))


if __name__ == "__main__":
    main()
