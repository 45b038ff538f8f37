"""Seeds for the fuzz targets: seeds.py NAME FOLDER writes those for one target.

A format adds a function to SEEDS that yields (file name, bytes). Images need Pillow."""
import io
import pathlib
import random
import struct
import sys
import tarfile

import daemon_seeds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support/files"))


def small_images():
    import image_files
    for name, data in image_files.all_files():
        if len(data) < 3000:
            yield name, data


def image():
    """Eight bytes from which image_fuzz.cc makes the spec, then the image file."""
    rng = random.Random(3)
    for name, data in small_images():
        yield name, bytes(rng.randrange(256) for _ in range(8)) + data


def exif():
    import image_files
    yield from image_files.oriented()
    for orientation in range(1, 9):
        for order in "<>":
            yield f"{orientation}{'lb'[order == '>']}.tiff", image_files.exif(orientation, order)


def idx():
    for name, sizes in [("labels", [5]), ("images", [5, 4, 3]), ("channels", [5, 4, 3, 3]),
                        ("none", [0, 4, 3]), ("huge", [2**32 - 1] * 3)]:
        for kind in (8, 9, 13):
            yield f"{name}{kind}", struct.pack(f">4B{len(sizes)}I", 0, 0, kind, len(sizes), *sizes)


def npy_file(literal, data=b"", major=1):
    text = (literal + "\n").encode()
    return (b"\x93NUMPY" + bytes([major, 0]) + struct.pack("<H" if major == 1 else "<I", len(text))
            + text + data)


def npy():
    for descr in ["|b1", "<u2", "<f4", "<f8", ">i4", "|O", "<U5", "<c8", "<M8[ns]", "|V2"]:
        for shape in ["()", "(3,)", "(3, 4)", "(3, 4, 5)", "(0,)", "(4294967296, 4294967296)"]:
            for order in (False, True):
                literal = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
                yield f"{descr[:2]}{shape}{order}".replace("|", "_"), npy_file(literal)
    yield "records", npy_file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}")
    yield "version3", npy_file("{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}", b"", 3)


def tokens():
    yield "raw", struct.pack("<20H", *range(90, 110))
    for name, magic, version, data in [("gpt2", 20240520, 1, struct.pack("<4H", 1, 2, 3, 100)),
                                       ("llama3", 20240801, 7, struct.pack("<4I", 1, 2, 3, 100)),
                                       ("questions", 20240522, 1, b"")]:
        yield name, struct.pack("<256i", magic, version, 4, *[0] * 253) + data
    literal = "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"
    yield "array", npy_file(literal, struct.pack("<4q", 1, 2, 3, -4))


def megatron():
    """Four bytes with the size of the .bin, then the index."""
    for name, code, token, lengths in [("one", 8, 2, [30]), ("documents", 4, 4, [3, 0, 1, 20, 9]),
                                       ("small", 1, 1, [5] * 20)]:
        starts = [token * sum(lengths[:i]) for i in range(len(lengths))]
        count = len(lengths)
        index = (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, count, count + 1)
                 + struct.pack(f"<{count}i{count}q{count + 1}q", *lengths, *starts, *range(count + 1)))
        size = struct.pack("<I", token * sum(lengths))
        yield name, size + index
        yield name + "_modes", size + index + bytes(count)


def cifar():
    """A batch of one image, and pickles that CIFAR's files never have."""
    def text(word):
        return b"U" + bytes([len(word)]) + word + b"q\1"
    array = (b"cnumpy.core.multiarray\n_reconstruct\nq\7cnumpy\nndarray\nq\x08K\0\x85q\x09U\1b\x87q\x0aRq\x0b(K\1K\1M\0\x0c\x86"
             b"q\x0ccnumpy\ndtype\nq\x0dU\2u1K\0K\1\x87Rq\x0e(K\3U\1|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89"
             b"T\0\x0c\0\0" + bytes(range(256)) * 12 + b"tb")
    yield "ten", b"\x80\2}q\0(" + text(b"labels") + b"]q\2K\6a" + text(b"data") + array + b"u."
    yield "hundred", (b"\x80\2}q\0(" + text(b"fine_labels") + b"](K\x63e" + text(b"coarse_labels") + b"](K\x13e"
                      + text(b"data") + array + b"u.")
    yield "call", b"\x80\2cos\nsystem\nU\4true\x85R."
    yield "nested", b"\x80\2)" + b"\x85" * 1000 + b"."


def lists():
    yield "headed", b'path,label,x\r\n"a ""b"".jpg",cat,1\r\n\r\nc.jpg,dog,2.5\r\n'
    yield "plain", b"a.jpg,3,-1\nb.png,0,9223372036854775807\n"
    yield "tabs", b"\xef\xbb\xbfpath\tlabel\nd/a.jpg\t7\n"
    yield "json", b'{"path": "a.jpg", "label": "x", "n": 1e3, "z": [null, {"a": 1}]}\n{"z": 0, "n": 2, "label": "y", "path": "b"}'
    yield "nested", b"[" * 300
    yield "quotes", b'a.jpg,"b\n'


def coco():
    persons = (b'"categories": [{"id": 1, "name": "person", "keypoints": ["nose", "left_eye", "right_eye"]}, '
              b'{"id": 7, "name": "cat"}]')
    images = b'"images": [{"id": 9, "file_name": "s/b.jpg", "height": 4}, {"file_name": "a.jpg", "id": 2}]'
    one = (b'{"id": 1, "image_id": 9, "category_id": 1, "bbox": [1, 2.5, 3, 4], "area": 12, "iscrowd": 0, '
           b'"segmentation": [[1, 2, 3, 4]], "keypoints": [1, 2, 2, 3, 4, 1, 0, 0, 0]}')
    two = (b'{"id": 2, "image_id": 2, "category_id": 7, "bbox": [0, 0, 1e1, 1], "area": 1.5, "iscrowd": 1, '
           b'"segmentation": {"counts": [1, 2], "size": [3, 4]}}')
    yield "both", b'{"info": {}, "annotations": [' + one + b", " + two + b"], " + images + b", " + persons + b"}"
    yield "images_only", b"{" + images + b', "annotations": []}'
    yield "nested", b'{"images": ' + b"[" * 300


def notes():
    yield "yolo", b"0 0.5 0.5 1 1\r\n\n12 0.25 1e-2 0 .125"
    yield "polygon", b"0 0.1 0.1 0.2 0.1 0.2 0.2\n"
    box = b"<bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>"
    yield "voc", (b'<?xml version="1.0"?><annotation><size><width>9</width></size><object><name>cat</name>'
                  b"<part><name>head</name>" + box + b"</part><difficult>1</difficult><truncated>0</truncated>"
                  + box + b"</object></annotation>")
    yield "doctype", b'<!DOCTYPE a [<!ENTITY b "c">]><annotation>&b;</annotation>'
    yield "batch", struct.pack("<QQII", 1, 3, 2, 9) + b"dog" + b"/a" + b"0 0 0 0 0"
    yield "lines", b"2007_000032\nb c\n"
    yield "yaml_list", b"train: x\nnames: [a, 'b c', \"d\"] # three\nnc: 3\n"
    yield "yaml_numbers", b"names:\n  0: person\n  1: bicycle\n"


def array_text():
    yield "pairs", b"pairs:images=/i,masks=/m,image_suffix=.jpg,mask_suffix=_x.png,split=/s.txt,missing=skip"
    yield "coco", b"coco:annotations=/a.json,images=/i,empty=skip,labels=contiguous,crowd=skip"
    yield "voc", b"voc:/d/VOC2012,split=train,set=Main,names=/n.txt"
    yield "yolo", b"yolo:images=/d/images/train,labels=/l,names=/data.yaml"
    yield "npy", b"npy:image=/data/x.npy,label=/data/y.npy"
    yield "tokens", (b"tokens:/a.bin,/b.bin,length=1024,stride=512,dtype=uint16,vocabulary=50257,"
                     b"format=llm.c,documents=false")
    yield "list", b"list:/d/x.csv,path=0,label=l,root=/r,header=no,labels=texts,reals=float32"
    yield "folder", b"folder:/d,label=(.*)_[0-9]+[.]jpg"
    yield "documents", b"tokens:/a.idx,length=8,format=megatron,documents=true"


def shards():
    """Small tar shards in every header format that Python writes: (name, bytes, members)."""
    samples = [("a/one", "jpg", b"\xff\xd8" + bytes(700)), ("a/one", "cls", b"7"),
               ("a/two", "jpg", b"x" * 512), ("a/two", "cls", b"8"), ("a/.hidden", "jpg", b"no"),
               ("long/" + "d" * 90 + "/" + "k" * 120, "txt", b"a caption"), ("\u00fc", "json", b"{}")]
    for name, form in [("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT),
                       ("pax", tarfile.PAX_FORMAT)]:
        file, members = io.BytesIO(), []
        with tarfile.open(fileobj=file, mode="w", format=form) as tar:
            folder = tarfile.TarInfo("a")
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
            for key, extension, data in samples:
                info = tarfile.TarInfo(f"{key}.{extension}")
                if form == tarfile.USTAR_FORMAT and len(info.name) > 155:
                    continue
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        with tarfile.open(fileobj=io.BytesIO(file.getvalue())) as tar:
            members = [(member.name, member.offset_data, member.size) for member in tar
                       if member.isreg()]
        yield name, file.getvalue(), members


def tar():
    for name, data, _ in shards():
        yield name, data[:8192]


def wds_index():
    """Four bytes with the shard's size, then the index as written by DALI's wds2idx."""
    for name, data, members in shards():
        lines, last = [], None
        for path, offset, size in members:
            dot = path.find(".", path.rfind("/") + 1)
            key, extension = path[:dot], path[dot + 1:]
            if key.endswith("/"):
                continue
            if key != last:
                lines.append([])
            last = key
            lines[-1] += [extension, str(offset), str(size), path]
        text = f"v1.2 {len(lines)}\n" + "".join(" ".join(line) + "\n" for line in lines)
        yield name, struct.pack("<I", len(data)) + text.encode()


def tfrecord():
    """Files of records, and messages alone."""
    from write_records import example, field, record, varint
    examples = {"usual": {"image/encoded": b"\xff\xd8" + bytes(300), "image/class/label": [7]},
                "numbers": {"ints": [1, -1, 2**62], "floats": [1.5, -2.0], "empty": []}, "none": {}}
    for name, features in examples.items():
        yield name, example(features)
        yield name + "_file", record(example(features)) * 2
    alone = field(1, field(1, b"i") + field(2, field(3, varint(1 << 3) + varint(5))))
    yield "not_packed", field(1, alone)
    yield "empty_record", record(b"")


def worker_input():
    """Eight bytes for the request, a recipe (server/unpack/recipe.cc), and records with their checksums."""
    from write_records import example, record
    fields = [(3, 9, 0, b"ints", 2, 0, 0), (2, 12, 1, b"floats", 4, 64, 1024), (1, 2, 1, b"text", 8, 128, 1100)]
    features = {"ints": [1, -1], "floats": [1.5], "text": b"hi", "image": b"P6 2 2 255\n" + bytes(12)}
    whole = record(example(features))[12:]
    samples = {"one": [whole], "two": [whole, whole], "gap": [whole, b"", whole], "damaged": [whole[:-1] + b"x"],
               "none": [record(example({}))[12:]], "short": [b"abc"]}
    for name, records in samples.items():
        for image in (b"", b"image") if len(records) == 1 else (b"",):
            recipe = struct.pack("<4I", 1, len(fields), len(records), len(image))
            for kind, dtype, variable, field, most, values, lengths in fields:
                recipe += struct.pack("<4I3Q", kind, dtype, variable, len(field), most, values, lengths)
            recipe += struct.pack(f"<{len(records)}Q", *map(len, records)) + image
            recipe += b"".join(field[3] for field in fields)
            yield f"{name}{len(image)}", struct.pack("<HHI", len(recipe), len(image), 2048) + recipe + b"".join(records)
    yield "image_alone", struct.pack("<HHI", 0, 1, 2048) + features["image"]


def http_request():
    for method in ("GET", "HEAD", "POST"):
        for end in ("\r\n", "\n"):
            head = end.join([f"{method} /metrics HTTP/1.1", "Host: localhost:9477", "Accept: text/plain", "", ""])
            yield f"{method}{len(end)}", head.encode()
    yield "query", b"GET /metrics?a=b HTTP/1.0\r\n\r\n"
    yield "sample", b"GET /bad-sample?dataset=a%20b%2f&sample=12 HTTP/1.1\r\n\r\n"
    yield "elsewhere", b"GET / HTTP/1.1\r\n\r\n"
    yield "long", b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 5000
    yield "half", b"GET /metr"
    yield "tls", b"\x16\x03\x01\x02\x00\x01\x00\n"
    yield "http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def http2():
    def frame(kind, flags, stream, payload=b""):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    yield "settings", frame(4, 0, 0) + frame(4, 1, 0) + frame(4, 0, 0, bytes(6))
    yield "call", frame(1, 4, 1, b"headers") + frame(0, 1, 1, b"message") + frame(3, 0, 1, bytes(4))
    yield "pieces", frame(1, 0, 1, b"head") + frame(9, 0, 1, b"e") + frame(9, 4, 1, b"rs") + frame(0, 0, 1, b"x") * 9
    yield "pings", frame(6, 0, 0, bytes(8)) * 20 + frame(6, 1, 0, bytes(8))
    yield "calls", b"".join(frame(1, 4, 2 * n + 1) for n in range(70))
    yield "resets", b"".join(frame(1, 4, 2 * n + 1) + frame(3, 0, 2 * n + 1, bytes(4)) for n in range(70))
    yield "long", frame(1, 4, 1, b"x" * 70000)
    yield "preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(8, 0, 0, bytes(4)) + frame(77, 0, 9)
    yield "no_preface", b"POST / HTTP/1.1\r\n\r\n"


def indexer_answer():
    """An outcome; a shard with one sample, as written by server/indexer/wire/results.cc; pieces of an index."""
    yield "error", struct.pack("<II", 3, 4) + b"text"
    head = struct.pack("<8Q", 1, 2, 1, 1, 2, 1, 0, 7)
    extension = struct.pack("<II5Q", 1, 1, 0, 1, 1, 1, 3) + b"npy"
    samples = struct.pack("<QiI", 0, 3, 0)
    members = struct.pack("<6I", 1, 512, 0, 3, 512, 0)
    array = struct.pack("<10I", 2, 1, 4, *[0] * 7)
    yield "shard", head + struct.pack("<II", 0, 0) + extension + samples + members + array + struct.pack("<II", 1, 0)
    objects = struct.pack("<3Q4I", 1, 5, 1, 2, 1, 0, 0) + struct.pack("<I", 0) + struct.pack("<qII", 9, 5, 1) + b"a.jpg"
    yield "annotations", (objects + struct.pack("<I", 3) + b"cat" + struct.pack("<I4f", 0, 1, 2, 3, 4)
                          + struct.pack("<Iq", 1, 7))
    yield "megatron", struct.pack("<IIQQ", 4, 0, 9, 2) + struct.pack("<QIIQII", 0, 5, 0, 10, 5, 1) + bytes(8)


SEEDS = {"array_text": array_text, "cifar": cifar, "coco": coco, "exif": exif, "http2": http2, "http_request": http_request, "idx": idx,
         "indexer_answer": indexer_answer, "image": image, "list": lists, "megatron": megatron, "notes": notes, "npy": npy,
         "tar": tar, "tfrecord": tfrecord, "tokens": tokens, "wds_index": wds_index,
         "worker_input": worker_input,
         **daemon_seeds.SEEDS}


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
