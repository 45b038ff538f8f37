"""write_shards.py FORMAT IMAGES FOLDER SHARDS: writes photographs in class folders as WebDataset shards.

Samples are in ImageFolder's order: key class/name, members jpg, cls (the class's number), txt and
json. Python's tarfile writes FORMAT ustar, gnu and pax; webdataset.TarWriter writes webdataset, and
the running Python must have it. Writes only FOLDER/shard-000.tar and so on.
"""
import io
import json
import pathlib
import sys
import tarfile

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def samples(images):
    classes = sorted(path for path in pathlib.Path(images).iterdir() if path.is_dir())
    number = 0
    for label, folder in enumerate(classes):
        for file in sorted(folder.iterdir()):
            key = f"{folder.name}/{file.stem}"
            yield key, {"jpg": file.read_bytes(), "cls": label, "txt": f"caption {number} of {key}",
                        "json": {"number": number}}
            number += 1


def write_plain(path, part, form):
    with tarfile.open(path, "w", format=form) as tar:
        for key, members in part:
            for extension, value in members.items():
                data = value if isinstance(value, bytes) else (
                    json.dumps(value) if extension == "json" else str(value)).encode()
                info = tarfile.TarInfo(f"{key}.{extension}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def write_webdataset(path, part):
    import webdataset
    with webdataset.TarWriter(str(path)) as writer:
        for key, members in part:
            writer.write({"__key__": key, **members})


def main():
    form, images, folder, shards = sys.argv[1:]
    everything, count = list(samples(images)), int(shards)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for shard in range(count):
        part = everything[shard * len(everything) // count:(shard + 1) * len(everything) // count]
        path = pathlib.Path(folder) / f"shard-{shard:03}.tar"
        if form == "webdataset":
            write_webdataset(path, part)
        else:
            write_plain(path, part, FORMATS[form])


if __name__ == "__main__":
    main()
