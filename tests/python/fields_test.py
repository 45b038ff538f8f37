"""Tests tensors beside or instead of images: arrays, tokens, and members of shards, in NumPy and torch, on the
host and, if there is one, on a GPU."""
import io
import json
import os
import pathlib
import tarfile
import unittest

import support

np = support.need("numpy")
torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

PLACES = [("cpu", "auto")]
if torch.cuda.is_available():
    PLACES += [("cuda", "device"), ("cuda", "pinned")]
MIDDLE = [penstock.Resize(40), penstock.CenterCrop(32)]
SAMPLES, LENGTH = 50, 16


def text_of(sample):
    return f"caption of {sample} " * (sample % 3 + 1)


def vector_of(sample):
    return np.arange(4, dtype="float32") + sample


def write_shard(path, photographs):
    """Writes a photograph, its class, a caption, a vector and the bytes of a mask per sample."""
    files = sorted(pathlib.Path(photographs).glob("*/*.jpg"))[:SAMPLES]
    with tarfile.open(path, "w") as shard:
        for sample, file in enumerate(files):
            vector = io.BytesIO()
            np.save(vector, vector_of(sample))
            members = {"jpg": file.read_bytes(), "cls": str(sample % 7).encode(), "txt": text_of(sample).encode(),
                       "clip.npy": vector.getvalue(), "seg.png": b"m" * (sample + 1),
                       "json": json.dumps({"sample": sample}).encode()}
            for extension, content in members.items():
                member = tarfile.TarInfo(f"{sample:05d}.{extension}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


class FieldsTest(support.FeedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = np.random.default_rng(0).integers(0, 50_257, 20 * LENGTH + 1).astype("uint16")
        cls.tokens.tofile(cls.path("tokens.bin"))
        cls.arrays = {"x": np.random.default_rng(1).normal(size=(SAMPLES, 3, 5)).astype("float64"),
                      "h": np.arange(SAMPLES * 2, dtype="uint16").reshape(SAMPLES, 2),
                      "flag": np.arange(SAMPLES) % 2 == 0,
                      "label": np.arange(SAMPLES, dtype="int32") % 5}
        for name, array in cls.arrays.items():
            np.save(cls.path(f"{name}.npy"), array)
        write_shard(cls.path("shard.tar"), cls.photographs)
        cls.tokens_text = f"tokens:{cls.path('tokens.bin')},length={LENGTH}"
        cls.arrays_text = "npy:" + ",".join(f"{name}={cls.path(name + '.npy')}" for name in cls.arrays)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def torch_loader(self, dataset, **keywords):
        loader = penstock.torch.DataLoader(dataset, **{"batch_size": 8, "timeout": 60, **keywords})
        self.addCleanup(loader.close)
        return loader

    def loader(self, dataset, **keywords):
        loader = penstock.Loader(dataset, **{"batch_size": 8, "timeout": 60, **keywords})
        self.addCleanup(loader.close)
        return loader

    def window(self, sample):
        return self.tokens[sample * LENGTH:sample * LENGTH + LENGTH + 1].astype("int64")

    def test_tokens_are_int64_in_torch_and_targets_follow_by_one(self):
        for device, delivery in PLACES:
            with self.subTest(device=device, delivery=delivery):
                seen = []
                for batch in self.torch_loader(self.tokens_text, shuffle=True, seed=3, device=device, delivery=delivery):
                    self.assertEqual(set(batch.keys()), {"tokens", "targets"})
                    self.assertEqual(batch["tokens"].dtype, torch.int64)
                    self.assertEqual(batch["tokens"].device.type, device)
                    for row, sample in enumerate(batch.sample_ids.tolist()):
                        self.assertEqual(batch["tokens"][row].tolist(), self.window(sample)[:-1].tolist())
                        self.assertEqual(batch["targets"][row].tolist(), self.window(sample)[1:].tolist())
                    seen += batch.sample_ids.tolist()
                self.assertEqual(sorted(seen), list(range(20)))

    def test_tokens_in_numpy_are_views_of_what_is_stored(self):
        for batch in self.loader(self.tokens_text, prefetch_factor=4):
            tokens = batch["tokens"]
            self.assertEqual((tokens.dtype, tokens.flags.owndata, tokens.flags.writeable), ("uint16", False, False))
            self.assertEqual(batch["targets"].ctypes.data, tokens.ctypes.data + 2)
            for row, sample in enumerate(batch.sample_ids.tolist()):
                self.assertEqual(tokens[row].tolist(), self.window(sample)[:-1].tolist())
            del batch, tokens

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU: torch sees none")
    def test_tokens_on_a_gpu_without_a_framework_are_strided_arrays(self):
        for batch in self.loader(self.tokens_text, device="cuda"):
            # Older DLPack cannot mark memory as read-only, so torch gets a copy with the same strides.
            targets = torch.from_dlpack(batch["targets"]).cpu()
            for row, sample in enumerate(batch.sample_ids.tolist()):
                self.assertEqual(targets[row].tolist(), self.window(sample)[1:].tolist())

    def test_arrays_keep_their_types_but_those_that_torch_lacks(self):
        for device, delivery in PLACES:
            with self.subTest(device=device, delivery=delivery):
                for batch in self.torch_loader(self.arrays_text, shuffle=True, device=device, delivery=delivery):
                    chosen = batch.sample_ids.numpy()
                    self.assertEqual({name: str(value.dtype) for name, value in batch.items()},
                                     {"x": "torch.float64", "h": "torch.int32", "flag": "torch.bool",
                                      "label": "torch.int64"})
                    for name, array in self.arrays.items():
                        np.testing.assert_array_equal(batch[name].cpu().numpy(), array[chosen])

    def test_some_arrays_are_asked_for_and_cast(self):
        fields = [penstock.Field("x", dtype="float32"), "h"]
        for batch in self.torch_loader(self.arrays_text, fields=fields):
            self.assertEqual(set(batch.keys()), {"x", "h", "label"})
            np.testing.assert_array_equal(batch["x"].numpy(), self.arrays["x"].astype("float32")[batch.sample_ids.numpy()])

    def test_a_short_last_batch_is_short_in_every_tensor(self):
        batches = list(self.torch_loader(self.arrays_text, batch_size=32))
        self.assertEqual([len(batch["x"]) for batch in batches], [32, 18])
        self.assertEqual([len(batch["flag"]) for batch in batches], [32, 18])

    def test_what_a_shard_has_beside_its_images_comes_by_name(self):
        fields = {"txt": 80, "clip.npy": None, "json": 32}
        for device, delivery in PLACES:
            with self.subTest(device=device, delivery=delivery):
                seen = 0
                for batch in self.torch_loader(self.path("shard.tar"), transform=MIDDLE, shuffle=True, fields=fields,
                                               device=device, delivery=delivery):
                    texts, values = batch.texts("txt"), batch.ragged("txt")
                    for row, sample in enumerate(batch.sample_ids.tolist()):
                        self.assertEqual(texts[row].decode(), text_of(sample))
                        self.assertEqual(batch["clip.npy"][row].tolist(), vector_of(sample).tolist())
                        self.assertEqual(json.loads(batch.texts("json")[row])["sample"], sample)
                        self.assertEqual(int(batch["label"][row]), sample % 7)
                        begin, end = values[1][row:row + 2].tolist()
                        self.assertEqual(bytes(values[0][begin:end].tolist()).decode(), text_of(sample))
                    mask = batch.mask("txt")
                    self.assertEqual(mask.sum(1).tolist(), batch["txt_length"].tolist())
                    self.assertFalse(batch["txt"][~mask].any())
                    seen += len(texts)
                self.assertEqual(seen, SAMPLES)

    def test_the_same_in_numpy(self):
        for batch in self.loader(self.path("shard.tar"), transform=MIDDLE, fields={"txt": 80, "clip.npy": None}):
            values, offsets = batch.ragged("txt")
            for row, sample in enumerate(batch.sample_ids.tolist()):
                self.assertEqual(batch.texts("txt")[row].decode(), text_of(sample))
                self.assertEqual(bytes(values[offsets[row]:offsets[row + 1]]).decode(), text_of(sample))
                np.testing.assert_array_equal(batch["clip.npy"][row], vector_of(sample))
            del batch, values

    def test_images_are_those_of_the_photographs_whatever_is_beside_them(self):
        alone = [batch["image"] for batch in self.torch_loader(self.path("shard.tar"), transform=MIDDLE)]
        beside = [batch["image"] for batch in self.torch_loader(self.path("shard.tar"), transform=MIDDLE, fields={"txt": 80})]
        for one, other in zip(alone, beside, strict=True):
            self.assertTrue(torch.equal(one, other))

    def test_what_is_longer_than_asked_for_is_a_bad_sample(self):
        with self.assertRaises(penstock.DataLoss) as raised:
            list(self.torch_loader(self.path("shard.tar"), transform=MIDDLE, fields={"txt": 10}, fail_on_bad_sample=True))
        self.assertIn("too long", str(raised.exception))

    def test_a_mask_beside_a_random_crop_is_refused_unless_wanted_as_it_is_stored(self):
        crop = [penstock.RandomResizedCrop(32)]
        with self.assertRaises(penstock.InvalidArgument) as raised:
            next(iter(self.torch_loader(self.path("shard.tar"), transform=crop, fields={"seg.png": 100})))
        self.assertIn("as_stored", str(raised.exception))
        asked = [penstock.Field("seg.png", 100, as_stored=True)]
        batch = next(iter(self.torch_loader(self.path("shard.tar"), transform=crop, fields=asked)))
        self.assertEqual(batch["seg.png_length"].tolist(), (batch.sample_ids + 1).tolist())

    def test_a_field_that_is_not_there_is_refused_with_those_that_are(self):
        for dataset, fields in ((self.arrays_text, ["y"]), (self.path("shard.tar"), {"wav": 10})):
            with self.subTest(dataset=dataset), self.assertRaises(penstock.InvalidArgument) as raised:
                next(iter(self.torch_loader(dataset, transform=None if "npy" in dataset else MIDDLE, fields=fields)))
            self.assertIn("they have", str(raised.exception))

    def test_requests_that_cannot_be_met_are_refused_in_words(self):
        for fields, words in (({"txt": -1}, "maximum length"), (["txt", "txt"], "twice"), ([3], "penstock.Field"),
                              ([""], "empty name")):
            with self.subTest(fields=fields), self.assertRaises(penstock.InvalidArgument) as raised:
                self.torch_loader(self.arrays_text, fields=fields)
            self.assertIn(words, str(raised.exception))

    def test_a_variable_field_without_a_greatest_length_is_refused(self):
        with self.assertRaises(penstock.InvalidArgument) as raised:
            next(iter(self.torch_loader(self.path("shard.tar"), transform=MIDDLE, fields=["txt"])))
        self.assertIn("at most", str(raised.exception))

    def test_the_dataset_says_what_can_be_asked_for(self):
        fields = self.torch_loader(self.path("shard.tar"), transform=MIDDLE).dataset.fields
        self.assertEqual(fields["txt"], ("uint8", (None,)))
        self.assertEqual(fields["clip.npy"], ("float32", (4,)))


if __name__ == "__main__":
    support.main()
