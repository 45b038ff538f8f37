"""Tests that a native dataset's samples, read and decoded in Python, are those of the native feed."""
import io
import os
import pathlib
import pickle
import shutil
import tarfile

from slots import support

numpy = support.need("numpy")
torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from penstock import _penstock as native  # noqa: E402
from penstock._pydata.images.draws import key_of  # noqa: E402
from penstock._pydata.images.encoded import decode_all, decoding_of  # noqa: E402
from penstock._pydata.images.native_samples import native_samples  # noqa: E402

SEED = 11
STEPS = [penstock.RandomResizedCrop(40), penstock.HorizontalFlip()]
NORMALIZE = penstock.Normalize("imagenet")


def shards(folder, photographs, count):
    """Writes tar shards with the photographs of each class, and returns their folder."""
    folder.mkdir()
    files = sorted(pathlib.Path(photographs).rglob("*.*"))
    classes = sorted({file.parent.name for file in files})
    for shard in range(count):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for at, file in enumerate(files[shard::count]):
                for name, data in ((f"{at:04}.jpg", file.read_bytes()), (f"{at:04}.cls", b"%d" % classes.index(file.parent.name))):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return folder


class NativeSamplesTest(support.FeedTest):
    def setUp(self):
        self.client = native.Client.connect(address=self.daemon.address)

    def check_equal(self, dataset, steps, within=None, given=None, **loader):
        """Compares all batches of the native loader with the samples. `given`: the order, if the program draws it."""
        samples, decoding = native_samples(self.client, str(dataset), within), decoding_of(steps)
        first, seen = within[0] if within else 0, 0
        order = {"shuffle": True} if given is None else {"sampler": given}
        with penstock.torch.DataLoader(str(dataset), 20, seed=SEED, transform=STEPS + [NORMALIZE], **order, **loader) as feed:
            self.assertEqual(len(samples), len(feed.dataset))
            for epoch in range(2):
                rows = (row for batch in feed for row in zip(batch["image"], batch["label"], batch.sample_ids.tolist()))
                for index, (image, label, sample) in enumerate(rows):
                    key = key_of(SEED, epoch, index, sample - first, None if given else len(samples))
                    own = decode_all(samples[sample - first], decoding, key)

                    self.assertEqual(own["label"], int(label))
                    self.assertTrue(torch.equal(own["image"], image), f"sample {sample} in epoch {epoch}")
                    seen += 1
        self.assertEqual(seen, 2 * (len(given) if given else len(samples)))

    def test_a_folders_rows_are_the_native_ones(self):
        self.check_equal(self.photographs, STEPS + [NORMALIZE])

    def test_a_function_that_changes_nothing_changes_nothing(self):
        for kind in ("array", "tensor"):
            self.check_equal(self.photographs, [*STEPS, penstock.Python(lambda image: image, kind), NORMALIZE])

    def test_shards_rows_are_the_native_ones(self):
        folder = shards(pathlib.Path(self.folder, "shards"), self.photographs, 3)
        self.check_equal(folder, STEPS + [NORMALIZE])
        self.check_equal(folder / "001.tar", STEPS + [NORMALIZE])

    def test_a_parts_samples_keep_their_numbers(self):
        self.check_equal(self.photographs, STEPS + [NORMALIZE], within=(30, 40), range=(30, 70))

    def test_each_occurrence_in_a_given_order_is_drawn_anew(self):
        self.check_equal(self.photographs, STEPS + [NORMALIZE], given=[3, 3, 7, 99, 3, 0])

    def test_they_are_a_dataset(self):
        samples = native_samples(self.client, self.photographs)
        again = pickle.loads(pickle.dumps(samples))

        self.assertEqual(len(again), 100)
        self.assertEqual(again[-1]["image"].data, samples[99]["image"].data)
        self.assertEqual(set(samples[0]), {"image", "label"})
        for wrong in (100, -101):
            with self.assertRaisesRegex(IndexError, "the dataset|has 100 samples"):
                samples[wrong]

    def test_two_trainers_have_the_same_dataset(self):
        text = ("import sys\nfrom penstock import _penstock as native\nfrom penstock._pydata import identity\n"
                "from penstock._pydata.images import encoded, native_samples\n"
                "samples = native_samples.native_samples(native.Client.connect(address=sys.argv[1]), sys.argv[2])\n"
                "if sys.argv[4] == 'used': samples[0]\n"
                "decoding = encoded.decoding_of(None, sys.argv[3])\n"
                "if sys.argv[4] == 'used': decoding.spec\n"
                "print(identity.identify(dataset=samples, decoding=decoding))")
        one, two, other = (support.script(text, self.daemon.address, self.photographs, dtype, used)
                           for dtype, used in (("float32", "used"), ("float32", "new"), ("float16", "new")))

        self.assertIn("digest='", one)
        self.assertEqual(one, two)
        self.assertNotEqual(one, other)

    def test_names_that_are_no_text_are_read(self):
        folder = os.path.join(os.fsencode(self.folder), b"odd")
        os.makedirs(os.path.join(folder, b"class\n"))
        source = next(pathlib.Path(self.photographs).rglob("*.*"))
        shutil.copy(source, os.path.join(folder, b"class\n", b"a\xfe.jpg"))

        self.assertEqual(native_samples(self.client, os.fsdecode(folder))[0]["image"].data, source.read_bytes())

    def test_files_that_changed_are_refused(self):
        folder = pathlib.Path(self.folder, "changing")
        shutil.copytree(self.photographs, folder)
        samples = native_samples(self.client, str(folder))
        files = sorted(folder.rglob("*.*"))
        files[0].write_bytes(files[0].read_bytes()[:-1])
        files[1].unlink()

        with self.assertRaisesRegex(penstock.DataLoss, "changed since it was indexed: got .* bytes, expected"):
            samples[0]
        with self.assertRaisesRegex(penstock.DataLoss, "cannot be read: No such file"):
            samples[1]

        shard = shards(pathlib.Path(self.folder, "cut"), self.photographs, 1) / "000.tar"
        samples = native_samples(self.client, str(shard))
        with open(shard, "r+b") as file:
            file.truncate(shard.stat().st_size // 2)
        with self.assertRaisesRegex(penstock.DataLoss, "changed since it was indexed: it ends before byte"):
            samples[99]

    def test_a_bad_image_is_named(self):
        folder = pathlib.Path(self.folder, "bad")
        (folder / "a").mkdir(parents=True)
        (folder / "a/broken.jpg").write_bytes(b"\xff\xd8\xff\xdb")

        with self.assertRaisesRegex(penstock.DataLoss, "sample 0, '.*/a/broken.jpg': the image of 4 bytes cannot be decoded: trunc"):
            decode_all(native_samples(self.client, str(folder))[0], decoding_of(None), key_of(0, 0, 0, 0, 1))

    def test_datasets_without_encoded_images_are_refused(self):
        file = pathlib.Path(self.folder, "rows.npy")
        numpy.save(file, numpy.zeros((10, 4, 4, 3), numpy.uint8))

        with self.assertRaisesRegex(penstock.InvalidArgument, "stores npy rows.*needs encoded images"):
            native_samples(self.client, str(file))


if __name__ == "__main__":
    support.main()
