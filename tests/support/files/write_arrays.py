"""write_arrays.py FOLDER [DATA]: writes arrays as NumPy saves them, and tokens as nanoGPT, llm.c and
Megatron write them. NAME.rows beside each has the expected samples one after another, as NumPy slices them.
With DATA, the tokens are the words of DATA/text, and MNIST's test images from DATA/mnist become arrays too;
without it, tokens are random. Exits with 77 if NumPy is missing.
"""
import gzip
import pathlib
import re
import struct
import sys

try:
    import numpy as np
except ImportError:
    print("SKIPPED: no NumPy for /usr/bin/python3; install python3-numpy")
    sys.exit(77)

LENGTH, SAMPLES = 64, 300
DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]

folder = pathlib.Path(sys.argv[1])
data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
rng = np.random.default_rng(7)


def save_rows(name, rows):
    (folder / f"{name}.rows").write_bytes(b"".join(row.tobytes() for row in rows))


def arrays():
    for dtype in DTYPES:
        array = rng.integers(0, 256, (SAMPLES, 3, 5 * np.dtype(dtype).itemsize), np.uint8)
        array = (array % 2).astype("?")[:, :, :5] if dtype == "?" else array.view(dtype)
        name = np.dtype(dtype).name
        np.save(folder / f"{name}.npy", array)
        save_rows(name, array)
    scalar = rng.standard_normal(SAMPLES)
    np.save(folder / "scalar.npy", scalar)
    save_rows("scalar", scalar)
    np.save(folder / "label.npy", rng.integers(0, 10, SAMPLES, np.int16))
    image = rng.integers(0, 256, (SAMPLES, 8, 9, 3), np.uint8)
    np.save(folder / "image.npy", image)
    save_rows("image", image)


def words(path):
    """Documents of token ids: one per paragraph. Words are numbered by first appearance."""
    ids = {}
    for paragraph in path.read_text().split("\n\n"):
        yield [ids.setdefault(word, len(ids)) for word in re.findall(r"\w+|\S", paragraph)]


def documents():
    if data:
        paragraphs = words(data / "text" / "tinyshakespeare.txt")
        return [np.array(each, np.uint16) for each in paragraphs if each]
    return [rng.integers(0, 50257, size, np.uint16) for size in rng.integers(1, 400, 200)]


def windows(tokens, stride):
    return [tokens[i:i + LENGTH + 1] for i in range(0, len(tokens) - LENGTH, stride)]


def of_document(tokens):
    """Windows that end with their document, so that every token but the first is a target."""
    return [tokens[i:i + LENGTH + 1] for i in range(0, len(tokens) - 1, LENGTH)]


def padded(part):
    return np.concatenate([part, np.zeros(LENGTH + 1 - len(part), part.dtype)])


def llm_c(path, tokens, magic, version):
    header = np.zeros(256, np.int32)
    header[:3] = magic, version, len(tokens)
    path.write_bytes(header.tobytes() + tokens.tobytes())


def megatron(stem, docs):
    """Writes one sequence per document, like IndexedDatasetBuilder."""
    lengths = np.array([len(doc) for doc in docs], np.int32)
    pointers = np.concatenate([[0], np.cumsum(lengths[:-1], dtype=np.int64) * 2]).astype(np.int64)
    (folder / f"{stem}.bin").write_bytes(np.concatenate(docs).tobytes())
    (folder / f"{stem}.idx").write_bytes(
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, len(docs), len(docs) + 1) + lengths.tobytes()
        + pointers.tobytes() + np.arange(len(docs) + 1, dtype=np.int64).tobytes())


def tokens():
    docs = documents()
    flat = np.concatenate(docs)
    flat.tofile(folder / "nanogpt.bin")
    save_rows("nanogpt", windows(flat, LENGTH))
    llm_c(folder / "gpt2.bin", flat, 20240520, 1)
    save_rows("gpt2", windows(flat, 17))
    llm_c(folder / "llama3.bin", flat.astype(np.uint32), 20240801, 7)
    save_rows("llama3", windows(flat.astype(np.uint32), LENGTH))
    np.save(folder / "array.npy", flat.astype(np.int64))
    save_rows("array", windows(flat.astype(np.int64), LENGTH))
    megatron("megatron", docs)
    save_rows("megatron", windows(flat, LENGTH))
    parts = [part for doc in docs for part in of_document(doc)]
    save_rows("documents", map(padded, parts))
    save_rows("tokens.lengths", [np.int32(min(len(part), LENGTH)) for part in parts])
    save_rows("targets.lengths", [np.int32(len(part) - 1) for part in parts])


def mnist():
    for name, header, shape in [("images-idx3", 16, (-1, 28, 28)), ("labels-idx1", 8, (-1,))]:
        packed = (data / "mnist" / f"t10k-{name}-ubyte.gz").read_bytes()
        array = np.frombuffer(gzip.decompress(packed), np.uint8, offset=header).reshape(shape)
        np.save(folder / f"mnist-{name}.npy", array)


arrays()
tokens()
if data:
    mnist()
