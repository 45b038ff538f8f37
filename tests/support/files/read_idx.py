"""read_idx.py IMAGES LABELS OUT: writes each image's bytes followed by its label, as read by Python's
own gzip and struct."""
import gzip
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    count = struct.unpack(">I", data[:4])[0] & 0xFF
    return struct.unpack(f">{count}I", data[4:4 + 4 * count]), data[4 + 4 * count:]


(count, *sides), images = read(sys.argv[1])
_, labels = read(sys.argv[2])
row = len(images) // count
with open(sys.argv[3], "wb") as out:
    for i in range(count):
        out.write(images[i * row:(i + 1) * row] + labels[i:i + 1])
