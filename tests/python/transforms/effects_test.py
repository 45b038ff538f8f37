"""The effects of the finish as the extension offers them, on batches of a daemon: the draws that
server/plan/README.md specifies, applied as torchvision's functions apply them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import support  # noqa: E402

np = support.need("numpy")

import penstock  # noqa: E402
from penstock import _feed, _penstock as native, _take  # noqa: E402

SIDE, CLASSES, SEED = 48, 10, 5
SPECIFIED = support.draw()
STEPS = [penstock.Resize(56), penstock.CenterCrop(SIDE), penstock.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]


def erasing(**fields):
    options = native.EffectOptions()
    options.seed, options.erasing = SEED, native.RandomErasing()
    options.erasing = _with(native.RandomErasing(), step=4, **fields)
    return options


def _with(options, /, **fields):
    for name, field in fields.items():
        setattr(options, name, field)
    return options


def mixing(kind, alpha, **fields):
    options = _with(native.EffectOptions(), seed=SEED, mixes=[native.MixChoice(kind, alpha)], mix_step=5, classes=CLASSES)
    return _with(options, **fields)


class EffectsLoader(penstock.Loader):
    """A loader whose batches are (step, sample ids, images, labels, soft labels), with effects."""

    def __init__(self, *arguments, effects, **keywords):
        self.effects = effects
        super().__init__(*arguments, **keywords)

    def wants_soft(self):
        return self.effects is not None and self.effects.classes > 0

    def _taker(self, session):
        finish = _feed.finish_of(self._settings)
        rows = session.shape[0]

        def take():
            image = np.empty((rows, 3, SIDE, SIDE), "float32")
            label, soft = np.empty(rows, "int64"), np.full((rows, CLASSES), -1, "float32")
            taken = session.take_into(finish, image.ctypes.data, image.nbytes, label.ctypes.data, 0, 20,
                                      effects=self.effects, soft_labels=soft.ctypes.data if self.wants_soft() else 0,
                                      soft_bytes=soft.nbytes)
            if taken is None:
                return None
            step, ids = taken
            values = {"image": image[:step[3]], "label": label[:step[3]], "soft": soft[:step[3]]}
            return _take._batch(values, np.frombuffer(bytearray(ids), "uint64"), _take.Position(*step))

        return take


def key_of(options, batch, row):
    sample = int(batch.sample_ids[row])
    if row >= batch.position.valid_rows or options.by_position:
        return SPECIFIED["draw_number"](batch.position.first + row, sample)
    return sample


def erase(image, x, y, w, h, value):
    """torchvision's own function where it is installed."""
    try:
        import torch
        from torchvision.transforms import functional
    except ImportError:
        image[:, y:y + h, x:x + w] = value
        return image
    return functional.erase(torch.from_numpy(image), y, x, h, w, torch.from_numpy(value)).numpy()


class EffectsTest(support.FeedTest):
    def batches(self, effects, **keywords):
        loader = EffectsLoader(self.photographs, effects=effects, transform=STEPS, batch_size=32, seed=SEED, shuffle=True,
                               dtype="float32", layout="NCHW", timeout=20, **keywords)
        self.addCleanup(loader.close)
        for epoch in range(2):
            for batch in loader:
                yield epoch, batch

    def plain(self, **keywords):
        return self.batches(None, **keywords)

    def expect_erased(self, effects, **keywords):
        boxes = 0
        for (epoch, erased), (_, plain) in zip(self.batches(effects, **keywords), self.plain(**keywords)):
            np.testing.assert_array_equal(erased.sample_ids, plain.sample_ids)
            operation = SPECIFIED["operation_of"](effects.view, 4)
            for row, image in enumerate(plain["image"]):
                key = SEED, epoch, key_of(effects, plain, row)
                box = SPECIFIED["erased_box"](SIDE, SIDE, key, operation)
                if box is not None:
                    x, y, w, h, noise_key = box
                    boxes += w * h > 0
                    if effects.erasing.fill == native.EraseFill.NOISE:
                        image[:, y:y + h, x:x + w] = erased["image"][row][:, y:y + h, x:x + w]
                        for place in range(min(w * h, 50)):  # no more, because this is slow in Python
                            line, column = y + place // w, x + place % w
                            image[:, line, column] = SPECIFIED["noise"](noise_key, line * SIDE + column)[:3]
                    else:
                        image = erase(image, x, y, w, h, np.reshape(effects.erasing.value, (3, 1, 1)).astype("float32"))
                np.testing.assert_array_equal(erased["image"][row], image, err_msg=f"row {row}, {box}")
        return boxes

    def test_boxes_are_those_of_the_specification(self):
        boxes = self.expect_erased(erasing(value=(1.5, 0, -2)))

        self.assertTrue(60 < boxes < 140, boxes)

    def test_noise_is_that_of_the_specification(self):
        self.assertTrue(self.expect_erased(erasing(fill=native.EraseFill.NOISE)) > 60)

    def test_a_repeated_sample_and_padding_get_boxes_of_their_own(self):
        self.expect_erased(_with(erasing(), by_position=True, view=2), last_batch="pad_batch")
        self.expect_erased(erasing(), last_batch="pad_batch")

    def mix_of(self, effects, epoch, batch, kind):
        key = SEED, epoch, batch.position.first
        choices = [(kind, effects.mixes[0].alpha, 1.0)]
        return SPECIFIED["mix_of_batch"](SIDE, SIDE, key, SPECIFIED["operation_of"](0, 5), choices,
                                         effects.mix_probability)

    def expect_mixed(self, effects, kind):
        """As torchvision.transforms.v2's MixUp and CutMix compute: roll(1, 0), mul, add, each rounded to float32."""
        kinds = []
        for (epoch, mixed), (_, plain) in zip(self.batches(effects), self.plain()):
            drawn, share, box = self.mix_of(effects, epoch, plain, kind)
            kinds.append(drawn)
            own, partner = plain["image"], np.roll(plain["image"], 1, 0)
            of_row, of_partner = np.float32(share), np.float32(1.0 - share)
            expected = own
            if drawn == "mixup":
                expected = partner * of_partner + own * of_row
            elif drawn == "cutmix":
                x, y, w, h = box
                expected[:, :, y:y + h, x:x + w] = partner[:, :, y:y + h, x:x + w]
            np.testing.assert_array_equal(mixed["image"], expected)
            one_hot = np.eye(CLASSES, dtype="float32")[plain["label"]]
            soft = np.roll(one_hot, 1, 0) * of_partner + one_hot * of_row
            np.testing.assert_array_equal(mixed["soft"], soft if drawn != "none" else one_hot)
            np.testing.assert_array_equal(mixed["label"], plain["label"])
        return kinds

    def test_mixup_is_torchvisions_of_the_specified_share(self):
        self.assertEqual(self.expect_mixed(mixing(native.MixKind.MIXUP, 0.4), "mixup"), ["mixup"] * 8)

    def test_cutmix_is_torchvisions_of_the_specified_box(self):
        self.assertEqual(self.expect_mixed(mixing(native.MixKind.CUTMIX, 1.0), "cutmix"), ["cutmix"] * 8)

    def test_batches_that_are_not_mixed_have_one_hot_labels(self):
        kinds = self.expect_mixed(mixing(native.MixKind.MIXUP, 1.0, mix_probability=0.5), "mixup")

        self.assertEqual(set(kinds), {"none", "mixup"})

    def test_drawn_shows_what_a_batch_gets(self):
        effects = _with(erasing(), mixes=[native.MixChoice(native.MixKind.CUTMIX, 1.0)], mix_step=5)
        ids = np.arange(8, dtype="uint64")

        boxes, (kind, share, box) = effects.drawn(epoch=1, first=64, sample_ids=ids, valid_rows=8, height=SIDE, width=SIDE)

        key, operation = (SEED, 1, 64), SPECIFIED["operation_of"](0, 5)
        self.assertEqual(("cutmix", share, box), SPECIFIED["mix_of_batch"](SIDE, SIDE, key, operation, [("cutmix", 1.0, 1)]))
        self.assertEqual(kind, native.MixKind.CUTMIX)
        for row, drawn in enumerate(boxes):
            specified = SPECIFIED["erased_box"](SIDE, SIDE, (SEED, 1, row), SPECIFIED["operation_of"](0, 4))
            self.assertEqual(drawn[:4], specified[:4] if specified else (0, 0, 0, 0))

    def test_wrong_parameters_are_named_before_a_batch_is_taken(self):
        for effects, words in ((erasing(probability=2.0), "probability: got 2, expected 0 to 1"),
                               (erasing(scale_min=0.5, scale_max=0.1), "scale: got 0.5 to 0.1"),
                               (mixing(native.MixKind.MIXUP, 0.0), "alpha: got 0, expected 1e-9 to 1e9")):
            with self.subTest(words), self.assertRaisesRegex(penstock.Error, words):
                effects.check()


if __name__ == "__main__":
    unittest.main()
