"""Seeds for input that reaches the daemon itself: handshakes, requests, shared memory, state files, YAML."""
import json
import pathlib
import random
import struct

KNOWN_SEED = 11


def handshake():
    """Handshakes, as in common/shm/doorway_wire.h."""
    def shake(version=1, kind=1, client=b"fuzz 1.0", magic=0x524F4F44):
        return struct.pack("<4I", magic, version, kind, 0) + client.ljust(64, b"\0")

    yield "sound", shake()
    yield "older", shake(version=0)
    yield "newer", shake(version=99)
    yield "welcome", shake(kind=2)
    yield "long_name", shake(client=b"\x1b[31m" + b"n" * 59)
    yield "cut", shake()[:40]
    yield "trailing", shake() + b"more"
    yield "other", shake(magic=7)

    def maker(kind, rest, version=1):
        return struct.pack("<4I", 0x524F4F44, version, kind, 0) + bytes(range(16)) + rest

    name = b"host 1.0".ljust(64, b"\0")
    yield "host", maker(8, name)
    yield "host_newer", maker(8, name, version=2)
    yield "host_cut", maker(8, name)[:80]
    yield "host_trailing", maker(8, name + bytes(4))
    for place, start in [(0, 1), (255, 2**32 - 1), (256, 1), (2**32 - 1, 1), (7, 0)]:
        yield f"worker_{place}_{start}", maker(9, struct.pack("<2I", place, start))
    yield "worker_cut", maker(9, bytes(4))
    yield "worker_as_host", maker(8, struct.pack("<2I", 0, 1))


def session_request():
    """JSON, because it is easier to mutate, and one request in protobuf's encoding."""
    crop = {"random_resized_crop": {"height": 32, "width": 32, "scale_min": 0.1, "scale_max": 1.0,
                                    "ratio_min": 0.75, "ratio_max": 1.5},
            "flip_probability": 0.5}
    feed = {"dataset": "flowers", "order": "ORDER_SHUFFLED", "seed": 7, "image": crop}

    def made(**more):
        python = dict({"workers": 4, "digest": "77"}, **more)
        return {"dataset": "python:id=ab01,samples=1000", "order": "ORDER_SHUFFLED", "python": python}

    usual = {"protocol_version": 1, "batch_size": 4, "window": 2, "feed": feed}
    variants = {
        "usual": {},
        "center": {"feed": dict(feed, image={"resize_center_crop": {"resize": 8, "height": 8, "width": 8}})},
        "ranks": {"rank": 3, "world_size": 4, "remainder": "REMAINDER_PAD_RANKS", "epochs": 2},
        "resumed": {"state": {"epoch": 5, "consumed": 17, "seed": 3, "fingerprint": 9}},
        "range": {"feed": dict(feed, range={"first": 10, "count": 5})},
        "windows": {"feed": dict(feed, order="ORDER_SHUFFLED_IN_WINDOWS",
                                 shuffle_window={"shard_samples": 10, "shards": 4})},
        "given": {"feed": dict(feed, order="ORDER_GIVEN", given_order=12, given_by={"rank": 1, "ranks": 2})},
        "fields": {"feed": dict(feed, fields=[{"name": "txt", "max_length": 64}, {"name": "x", "as_stored": True}])},
        "stored": {"feed": {"dataset": "/data/x.npy", "order": "ORDER_SEQUENTIAL"}},
        "python": {"feed": made(max_batch_bytes=1 << 26, timeout_ms=5000, replace_bad_samples=True)},
        "streams": {"batch_size": 1, "feed": dict(made(streams=3), order="ORDER_SEQUENTIAL")},
        "device": {"delivery": "DELIVERY_DEVICE", "device": {"uuid": "AAECAwQFBgcICQoLDA0ODw==", "depth": 3}},
        "huge": {"batch_size": 4294967295, "world_size": 4294967295, "window": 4294967295,
                 "state": {"epoch": "18446744073709551615", "consumed": "18446744073709551615"}},
    }
    for name, more in variants.items():
        yield name, json.dumps(dict(usual, **more)).encode()
    yield "order", json.dumps({"length": 3, "samples": [2, 0, 1]}).encode()
    yield "ids", json.dumps({"dataset": "flowers", "sample_ids": [1, 2, 3]}).encode()
    inner = b"\x0a\x07flowers\x10\x02\x18\x07"
    yield "python_dataset", b"python:id=ab01,samples=1000"
    yield "binary", b"\x08\x01\x12" + bytes([len(inner)]) + inner + b"\x28\x04\x30\x02"


def steps(layout, kinds, numbers, count):
    """Lists of steps, each packed by `layout`: an action, an offset and a number."""
    rng = random.Random(KNOWN_SEED)
    for length in (1, 5, 40, count):
        yield f"steps{length}", b"".join(
            struct.pack(layout, rng.choice(kinds), rng.randrange(1 << 16), rng.choice(numbers))
            for _ in range(length))


NUMBERS = [0, 1, 2, 3, 4, 255, 256, 2**31, 2**32 - 1, 2**63, 2**64 - 1]


def control_page():
    yield from steps("<BHQ", range(8), NUMBERS, 300)
    honest = b"".join(struct.pack("<BHQ", 4, 0, 0) * 4 + struct.pack("<BHQ", 2, 0, n % 8)
                      + struct.pack("<BHQ", 3, 0, n - 1) + struct.pack("<BHQ", 7, 0, 0) for n in range(1, 30))
    yield "honest", honest


def worker_channel():
    yield from steps("<BIQ", range(8), NUMBERS, 300)
    honest = b"".join(struct.pack("<BIQ", 3, 0, n) + struct.pack("<BIQ", 5, 1, 0) + struct.pack("<BIQ", 7, 0, 0)
                      for n in range(100))
    yield "honest", honest


def worker_requests():
    """Two bytes of choices, then a channel as in server/workers/queue/channel.h."""
    spec = struct.pack("<IIII", 0, 32, 32, 32)
    for name, sizes in [("sound", (0, 100, 0, 32 * 32 * 3)), ("outside", (4000, 4000, 8000, 3072)),
                        ("huge", (2**64 - 1, 2, 2**64 - 1, 3072))]:
        request = struct.pack("<5QII", 1, *sizes, 1, 0) + spec.ljust(88, b"\0")
        ring = struct.pack("<Q", 3).ljust(128, b"\0") + request * 3
        yield name, bytes([1, 1]) + bytes(256) + ring
        yield name + "_header", bytes([1, 0]) + struct.pack("<QIIQQ", 0x454E414C4E455053, 7, 0, 4096, 1) + ring


def manifest():
    """One byte of choices, then a manifest as in server/source/images/manifest.h."""
    for name, samples in [("small", 2), ("larger", 20)]:
        paths, names = b"/data/flowersrose", b"".join(b"%02d.jpg" % n for n in range(samples))
        header = b"PSTKMFST" + struct.pack("<II8Q", 2, 0, samples, 2, len(paths), len(names), 1, 0, 3, 0)
        records = b"".join(struct.pack("<IIQ", 6 * n, 100, 9) for n in range(samples))
        root = struct.pack("<QIIQQqQQQ", 0, 13, 2**32 - 1, 0, 1, 5, 0, 1, 2)
        rose = struct.pack("<QIIQQqQQQ", 13, 4, 0, 0, samples, 5, 0, 1, 3)
        yield name, b"\1" + header + records + struct.pack("<IIQ", 0, 0, 0) + root + rose + paths + names


def shard_manifest():
    """One byte of choices, then a manifest as in server/source/shards/shard_manifest.h."""
    text = b"/data/0.tar/data/1.tarjpgtxt"
    header = b"PSTKSHRD" + struct.pack("<II10Q", 3, 1, 7, 2, 4, 2, 8, len(text), 4, 1, 0, 0)
    shards = b"".join(struct.pack("<4QQII", 1, 1, 1, 1, first, 11 * i, 11) for i, first in enumerate((0, 2)))
    samples = b"".join(struct.pack("<QiI", 2 * n, n % 3, 0) for n in range(5))
    kinds = struct.pack("<QIIII10I", 0, 22, 3, 0, 1, *[0] * 10)
    kinds += struct.pack("<QIIII10I", 0, 25, 3, 1, 1, 2, 1, 4, *[0] * 7)
    members = b"".join(struct.pack("<III", n, 100, n % 2) for n in range(8))
    yield "tar", b"\1" + header + shards + samples + kinds + members + text
    header = b"PSTKSHRD" + struct.pack("<II10Q", 3, 0, 7, 2, 4, 0, 0, 22, 4, 1, 0, 0)
    yield "records", b"\1" + header + shards + samples + text[:22]


def index_file():
    """One byte of choices, then an index as in server/source/shards/index_file.h."""
    texts = b"image= label=cls" + b"#key" + b"etag" + b"jpg" + b"npy"
    header = b"PSTKSIDX" + struct.pack("<II9QIIIIQQ", 1, 1, 8192, 2, 4, 2, 1, 4, 2, 1, 9, 1, 16, 4, 0, len(texts), 0)
    kinds = struct.pack("<IIQQQQQ", 1, 0, 0, 0, 0, 0, 3) + struct.pack("<IIQQQQQ", 0, 1, 0, 0, 0, 0, 3)
    samples = struct.pack("<QiI", 0, 3, 0) + struct.pack("<QiI", 2, 0, 0)
    members = b"".join(struct.pack("<III", 2 * n + 1, (100, 138)[n % 2], n % 2 + (128 << 12) * (n % 2)) for n in range(4))
    array = struct.pack("<II8I", 1, 1, 10, *[0] * 7)
    numbers = struct.pack("<4I", 0, 1, 0, 1)
    yield "tar", b"\1" + header + struct.pack("<I", 4) + kinds + samples + members + array + numbers + texts
    texts = b"image=image/encoded no label" + b"etag" + b"image/encoded"
    header = b"PSTKSIDX" + struct.pack("<II9QIIIIQQ", 1, 2, 232, 2, 0, 1, 0, 0, 2, 0, 9, 1, 28, 0, 0, len(texts), 0)
    kinds = struct.pack("<IIQQQQQ", 1, 0, 0, 2, 1, 1, 13)
    samples = struct.pack("<QiI", 0, 0, 100) + struct.pack("<QiI", 116, 0, 100)
    yield "records", b"\2" + header + struct.pack("<I", 4) + kinds + samples + texts


def quarantine():
    """One byte of choices, then the file without its checksum."""
    head = b"penstock-quarantine 3\ndataset 0123456789abcdef\nversion 3\n"
    entry = b'17 %d 1700000000000 2 00000000000000ff 1000,1001 "/data/a\\nb.jpg"\n'
    yield "none", b"\1" + head
    for fault in (1, 5, 12, 99):
        yield f"fault{fault}", b"\1" + head + (entry % fault) * 2
    yield "whole", b"\0" + head + b"checksum 0000000000000000\n"
    yield "older", b"\0penstock-quarantine 2\n"


def config():
    folder = pathlib.Path(__file__).resolve().parents[2] / "deploy/config"
    for path in sorted(folder.glob("*.yaml")):
        yield path.name, path.read_bytes()
    yield "aliases", b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    yield "datasets", (b"datasets:\n- {name: a, folder: /a, groups: [g]}\n- name: b\n  tokens: {files: [/t.bin], "
                       b"length: 8}\n- {name: c, mixture: {parts: [{dataset: a, weights: [1, 2]}]}}\n")
    yield "endless", b"\n, *a~\nc:"
    yield "nested", b"[" * 2000
    yield "units", b"pool: {max: 99999999999TiB, segment: -1B}\nworkers: {max_cores: 101%, start_timeout: 9999999h}\n"


def store_answer():
    """Answers of stores and of servers that give keys, and files with keys: a letter for the kind, and the text."""
    keys = {"Code": "Success", "AccessKeyId": "AKIA", "SecretAccessKey": "a/b+c", "Token": "t==",
            "Expiration": "2026-01-31T10:00:00Z"}
    yield "keys", b"j" + json.dumps(keys).encode()
    yield "keys_escaped", b'j{"AccessKeyId":"\\u0041\\/","SecretAccessKey":"b\\n","x":1.5e3,"y":null}'
    yield "no_keys", b'j{"Code":"AssumeRoleUnauthorizedAccess"}'
    yield "sts", (b"x<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>b&amp;c</SecretAccessKey><SessionToken>t"
                  b"</SessionToken><Expiration>2026-01-31T10:00:00.5Z</Expiration></Credentials>")
    yield "profiles", b"p# x\n[default]\naws_access_key_id = a\ns3 =\n  region = x\n[profile other]\nregion=eu\n"
    yield "listing", (b"a<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>"
                      b"<EncodingType>url</EncodingType><Contents><Key>folder/a%20b</Key></Contents></ListBucketResult>")
    yield "error", b"a<Error><Code>PermanentRedirect</Code><Message>m\n</Message><Region>eu</Region><Endpoint>e</Endpoint></Error>"
    yield "range", b"abytes 1-2/3"


SEEDS = {"config": config, "control_page": control_page, "handshake": handshake, "manifest": manifest,
         "quarantine": quarantine, "session_request": session_request, "shard_manifest": shard_manifest, "index_file": index_file,
         "store_answer": store_answer,
         "worker_channel": worker_channel, "worker_requests": worker_requests}
