"""Erased boxes, MixUp, CutMix and channels_last, as torchvision computes them from what was drawn."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

numpy = support.need("numpy")
torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

CROP = penstock.RandomResizedCrop((40, 32))
NORMALIZE = penstock.Normalize("imagenet")
SEED, ROWS, CLASSES = 9, 25, 10


class EffectsTest(support.FeedTest):
    def loader(self, *steps, **keywords):
        keywords = dict(dict(batch_size=ROWS, shuffle=True, seed=SEED), **keywords)
        loader = penstock.torch.DataLoader(self.photographs, transform=[CROP, *steps], **keywords)
        self.addCleanup(loader.close)
        return loader

    def pairs(self, plain, other):
        """Batches of the same samples."""
        for expected, got in zip(plain, other):
            self.assertEqual(expected.sample_ids.tolist(), got.sample_ids.tolist())
            yield expected, got

    def drawn(self, loader, batch, height=40, width=32):
        position = batch.position
        ids = numpy.array(batch.sample_ids.tolist(), "uint64")
        return loader._effects.drawn(position.epoch, position.first, ids, position.valid_rows, height, width)

    def test_a_box_is_erased_after_normalize_and_nothing_else_changes(self):
        for value, seen in ((0, 0.0), (1.5, 1.5), ("random", None)):
            erasing = penstock.RandomErasing(0.7, (0.05, 0.3), value=value)
            other, erased = self.loader(NORMALIZE, erasing), 0
            for plain, got in self.pairs(self.loader(NORMALIZE), other):
                boxes, _ = self.drawn(other, got)
                for row, (x, y, width, height, _) in enumerate(boxes):
                    expected, image = plain["image"][row].clone(), got["image"][row]
                    box = image[:, y:y + height, x:x + width]
                    if width and seen is not None:
                        self.assertTrue(bool((box == seen).all()))
                    expected[:, y:y + height, x:x + width] = box
                    self.assertTrue(torch.equal(expected, image))
                    erased += width > 0
            self.assertTrue(50 < erased < 90, erased)

    def test_noise_is_normal(self):
        other = self.loader(NORMALIZE, penstock.RandomErasing(1, (0.3, 0.3), (1, 1), "random"))
        noise = [got["image"][row, :, y:y + height, x:x + width].flatten() for got in other
                 for row, (x, y, width, height, _) in enumerate(self.drawn(other, got)[0])]
        noise = torch.cat(noise)
        self.assertLess(abs(float(noise.mean())), 0.02)
        self.assertLess(abs(float(noise.std()) - 1), 0.02)

    def test_mixup_is_torchvisions(self):
        other = self.loader(NORMALIZE, mix=penstock.MixUp(0.4))
        for plain, got in self.pairs(self.loader(NORMALIZE), other):
            kind, share, _ = self.drawn(other, got)[1]
            self.assertEqual(kind.name, "MIXUP")
            image, one_hot = plain["image"], torch.nn.functional.one_hot(plain["label"], CLASSES).float()
            for value, mixed in ((image, got["image"]), (one_hot, got["label"])):
                expected = value.roll(1, 0).mul_(1.0 - share).add_(value.mul(share))
                self.assertTrue(torch.equal(mixed, expected))

    def test_cutmix_is_torchvisions(self):
        other = self.loader(NORMALIZE, mix=penstock.CutMix(1.0))
        for plain, got in self.pairs(self.loader(NORMALIZE), other):
            kind, share, (x, y, width, height) = self.drawn(other, got)[1]
            self.assertEqual(kind.name, "CUTMIX")
            expected, rolled = plain["image"].clone(), plain["image"].roll(1, 0)
            expected[..., y:y + height, x:x + width] = rolled[..., y:y + height, x:x + width]
            self.assertTrue(torch.equal(got["image"], expected))
            self.assertAlmostEqual(share, 1 - width * height / (40 * 32))
            one_hot = torch.nn.functional.one_hot(plain["label"], CLASSES).float()
            self.assertTrue(torch.equal(got["label"], one_hot.roll(1, 0).mul_(1.0 - share).add_(one_hot.mul(share))))

    def test_each_batch_takes_one_of_several_or_none(self):
        other = self.loader(mix=[penstock.MixUp(0.2, p=0.5), penstock.CutMix(p=0.5)], batch_size=2)
        kinds = collections.Counter(self.drawn(other, batch)[1][0].name for _ in range(4) for batch in other)
        self.assertEqual(set(kinds), {"NONE", "MIXUP", "CUTMIX"})
        self.assertTrue(70 < kinds["NONE"] < 130, kinds)

    def test_unmixed_batches_have_one_hot_labels(self):
        plain, got = next(self.pairs(self.loader(), self.loader(mix=penstock.MixUp(p=0))))
        self.assertTrue(torch.equal(got["label"], torch.nn.functional.one_hot(plain["label"], CLASSES).float()))
        self.assertTrue(torch.equal(got["image"], plain["image"]))

    def test_what_is_drawn_depends_on_the_place_in_the_epoch_alone(self):
        steps, mix = (NORMALIZE, penstock.RandomErasing()), penstock.CutMix()
        whole = [batch["image"] for batch in self.loader(*steps, mix=mix)]
        resumed = self.loader(*steps, mix=mix)
        for _, batch in zip(range(2), resumed):
            pass
        state = resumed.state_dict()
        again = self.loader(*steps, mix=mix)
        again.load_state_dict(state)
        self.assertTrue(all(map(torch.equal, whole[2:], [batch["image"] for batch in again])))

    def test_erased_boxes_do_not_depend_on_ranks_and_batches(self):
        def rows(**keywords):
            return {sample: image for batch in self.loader(NORMALIZE, penstock.RandomErasing(), **keywords)
                    for sample, image in zip(batch.sample_ids.tolist(), batch["image"])}

        whole = rows()
        for rank in range(2):
            for sample, image in rows(batch_size=10, rank=rank, world_size=2).items():
                self.assertTrue(torch.equal(whole[sample], image))

    def test_channels_last_is_the_same_tensor_with_other_strides(self):
        for plain, got in self.pairs(self.loader(NORMALIZE), self.loader(NORMALIZE, memory_format=torch.channels_last)):
            self.assertTrue(got["image"].is_contiguous(memory_format=torch.channels_last))
            self.assertEqual(got["image"].shape, plain["image"].shape)
            self.assertTrue(torch.equal(got["image"], plain["image"]))

    def test_arrays_get_them_too(self):
        options = dict(batch_size=ROWS, shuffle=True, seed=SEED, transform=[CROP, NORMALIZE, penstock.RandomErasing()])
        arrays = penstock.Loader(self.photographs, layout="NCHW", mix=penstock.MixUp(), **options)
        self.addCleanup(arrays.close)
        tensors = self.loader(NORMALIZE, penstock.RandomErasing(), mix=penstock.MixUp())
        for array, tensor in zip(arrays, tensors):
            self.assertTrue(numpy.array_equal(array["image"], tensor["image"].numpy()))
            self.assertTrue(numpy.array_equal(array["label"], tensor["label"].numpy()))

    def test_encoded_images_of_python_datasets_get_the_same_boxes(self):
        files = [path for path, _ in penstock.Loader(self.photographs, 1, transform=[CROP]).dataset.samples]

        class Files(torch.utils.data.Dataset):
            def __len__(self):
                return len(files)

            def __getitem__(self, index):
                return penstock.Encoded(pathlib.Path(files[index]).read_bytes()), index

        for layout, steps in (("NCHW", [penstock.RandAugment(), NORMALIZE]), ("NHWC", [NORMALIZE]), ("NCHW", [])):
            steps = [CROP, *steps, penstock.RandomErasing(0.8, value=(1, 2, 3))]
            ours = penstock.torch.DataLoader(Files(), batch_size=ROWS, shuffle=True, seed=SEED, transform=steps, layout=layout)
            native = penstock.torch.DataLoader(self.photographs, batch_size=ROWS, shuffle=True, seed=SEED, transform=steps, layout=layout)
            self.addCleanup(native.close)
            for (images, numbers), batch in zip(ours, native):
                self.assertEqual(numbers.tolist(), batch.sample_ids.tolist())
                self.assertTrue(torch.equal(images, batch["image"]))

    def test_what_cannot_be_is_refused(self):
        Erasing, MixUp = penstock.RandomErasing, penstock.MixUp
        for words, make in (
                ("uint8", lambda: self.loader(dtype="uint8", mix=MixUp())),
                ("is 3, but the dataset has 10", lambda: next(iter(self.loader(mix=MixUp(num_classes=3))))),
                ("num_classes differ", lambda: self.loader(mix=[MixUp(num_classes=3), penstock.CutMix()])),
                ("got 3", lambda: self.loader(mix=3)), ("alpha", lambda: MixUp(alpha=0)), ("value", lambda: Erasing(value="noise")),
                ("scale", lambda: Erasing(scale=(0.5, 0.1))), ("p is 2", lambda: Erasing(p=2)),
                ("comes too late", lambda: self.loader(Erasing(), NORMALIZE, NORMALIZE)), ("scale its noise", lambda: self.loader(Erasing(value="random"), NORMALIZE)),
                ("memory_format", lambda: self.loader(memory_format=torch.preserve_format)),
                ("layout", lambda: self.loader(layout="NHWC", memory_format=torch.channels_last))):
            with self.subTest(words), self.assertRaisesRegex(penstock.InvalidArgument, words):
                make()


if __name__ == "__main__":
    support.main()
