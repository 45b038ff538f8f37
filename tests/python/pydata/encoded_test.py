"""Tests that encoded images in samples become what Pillow, torchvision and native feeds give. No daemon runs."""
import collections
import copy
import dataclasses
import io
import os
import pathlib
import pickle
import threading
import time
import unittest

from slots import support

numpy = support.need("numpy")
torch = support.need("torch")
support.need("PIL.Image")
if not any(pathlib.Path(__import__("penstock").__file__).parent.glob("_decode*.so")):
    support.skip("the extension penstock._decode is not built")

import PIL  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402

import penstock  # noqa: E402
from penstock import _decode  # noqa: E402
from penstock._pydata.images import encoded  # noqa: E402
from penstock._pydata.images.draws import Key, draw_number, key_of  # noqa: E402
from penstock._pydata.images.encoded import Decoding, decode_all, decoding_of  # noqa: E402

DRAW = support.draw()
BILINEAR = getattr(Image, "Resampling", Image).BILINEAR
SEED, EPOCH = 11, 3


def picture(height, width, seed=0):
    """A smooth image with noise, as an array."""
    random = numpy.random.default_rng((height, width, seed))
    coarse = random.integers(0, 256, (height // 16 + 2, width // 16 + 2, 3), dtype=numpy.uint8)
    smooth = numpy.asarray(Image.fromarray(coarse).resize((width, height), BILINEAR), dtype=numpy.int16)
    return numpy.clip(smooth + random.integers(-9, 10, smooth.shape), 0, 255).astype(numpy.uint8)


def encode(image, kind="JPEG", **options):
    file = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(file, kind, **options)
    return file.getvalue()


def photographs(most=40):
    """Encoded images: real photographs if there are any, else generated ones."""
    folder = support.DATA and pathlib.Path(support.DATA, "imagenet-sample")
    if folder and folder.is_dir():
        return [path.read_bytes() for path in sorted(folder.rglob("*.JPEG"))[:most]]
    return [encode(picture(100 + 37 * i % 300, 90 + 53 * i % 300, i), quality=60 + i) for i in range(most)]


def opened(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def made(data, transform=None, sample=0, **loader):
    return decode_all(penstock.Encoded(data), decoding_of(transform, **loader), Key(SEED, EPOCH, sample))


def bytes_of(data, transform=None, sample=0):
    return made(data, transform, sample, dtype="uint8", layout="NHWC").numpy()


def reference(data, size, sample, p=0.5):
    """Pillow's crop and resize of the box that server/plan/README.md specifies."""
    key = (SEED, EPOCH, sample)
    image = opened(data)
    x, y, width, height = DRAW["crop"](*image.size, key)
    image = image.crop((x, y, x + width, y + height)).resize((size, size), BILINEAR)
    return numpy.asarray(image.transpose(Image.FLIP_LEFT_RIGHT) if DRAW["flip"](key, p) else image)


class RowsTest(unittest.TestCase):
    def setUp(self):
        if int(PIL.__version__.split(".")[0]) >= 13:
            self.skipTest(f"Pillow {PIL.__version__} resizes some tall pictures upright first; up to 12 it is the reference")

    def test_random_crops_are_pillows_under_the_native_draw(self):
        for sample, data in enumerate(photographs()):
            numpy.testing.assert_array_equal(
                bytes_of(data, [penstock.RandomResizedCrop(96), penstock.HorizontalFlip()], sample),
                reference(data, 96, sample))

    def test_the_middle_is_pillows(self):
        for data in photographs(10):
            image = opened(data)
            width, height = image.size
            short = min(width, height)
            width, height = 80 * width // short, 80 * height // short
            image = image.resize((width, height), BILINEAR)
            left, top = round((width - 64) / 2), round((height - 64) / 2)

            numpy.testing.assert_array_equal(bytes_of(data, [penstock.Resize(80), penstock.CenterCrop(64)]),
                                             numpy.asarray(image.crop((left, top, left + 64, top + 64))))

    def test_without_a_crop_an_image_comes_as_it_is(self):
        kinds = {"JPEG": {"quality": 90}, "PNG": {}, "WEBP": {"quality": 80}, "BMP": {}, "GIF": {}, "TIFF": {}, "PPM": {}}
        for kind, options in kinds.items():
            for sides in ((1, 1), (1, 50), (50, 1), (7, 300), (300, 7), (61, 61), (123, 77)):
                data = encode(picture(*sides), kind, **options)

                numpy.testing.assert_array_equal(bytes_of(data), numpy.asarray(opened(data)), f"{kind} {sides}")

    def test_photographs_come_as_they_are(self):
        for data in photographs(10):
            numpy.testing.assert_array_equal(bytes_of(data), numpy.asarray(opened(data)))

    def test_a_whole_image_is_turned_upright_mirrored_and_gray(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        data = encode(picture(40, 70), exif=exif.tobytes(), quality=90)
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))

        numpy.testing.assert_array_equal(bytes_of(data, penstock.ExifTranspose()), numpy.asarray(upright))
        self.assertEqual(bytes_of(data).shape, (40, 70, 3))
        numpy.testing.assert_array_equal(bytes_of(data, penstock.HorizontalFlip(1.0)), numpy.asarray(opened(data))[:, ::-1])
        numpy.testing.assert_array_equal(bytes_of(data, penstock.Grayscale())[:, :, 0], numpy.asarray(opened(data).convert("L")))

    def test_only_seed_epoch_and_sample_decide(self):
        data, transform = photographs(1)[0], [penstock.RandomResizedCrop(32), penstock.HorizontalFlip()]
        row = bytes_of(data, transform, 5)

        numpy.testing.assert_array_equal(row, bytes_of(data, transform, 5))
        self.assertTrue((row != bytes_of(data, transform, 6)).any())
        fixed = decode_all(penstock.Encoded(data, sample=5), decoding_of(transform, "uint8", "NHWC"), Key(SEED, EPOCH, 99))
        numpy.testing.assert_array_equal(row, fixed.numpy())


    def test_draws_are_keyed_as_in_native_feeds(self):
        self.assertEqual(draw_number(7, 3), DRAW["draw_number"](7, 3))
        self.assertEqual(key_of(1, 2, 5, 9, 100).number(), 9)
        self.assertEqual(key_of(1, 2, 100, 9, 100).number(), DRAW["draw_number"](100, 9))  # padding
        self.assertEqual(key_of(1, 2, 5, 9, None).number(), DRAW["draw_number"](5, 9))
        self.assertEqual(key_of(1, 2, 5, numpy.int64(9), None).number(50), DRAW["draw_number"](5, 50))
        for key in ("name", (1, 2), -1):
            self.assertEqual(key_of(1, 2, 5, key, 100).number(), 5)


class FinishTest(unittest.TestCase):
    def test_floats_are_torchvisions(self):
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
        for sides in ((1, 1), (3, 5), (64, 64), (33, 129)):
            data = encode(picture(*sides), "PNG")
            scaled = torch.from_numpy(bytes_of(data)).permute(2, 0, 1).to(torch.float32).div(255)
            normalized = scaled.sub(mean).div(std)

            self.assertTrue(torch.equal(made(data), scaled))
            self.assertTrue(made(data).is_contiguous())
            self.assertTrue(torch.equal(made(data, penstock.Normalize("imagenet")), normalized))
            for dtype in ("float16", "bfloat16"):
                self.assertTrue(torch.equal(made(data, penstock.Normalize("imagenet"), dtype=dtype),
                                            normalized.to(getattr(torch, dtype))))
            self.assertTrue(torch.equal(made(data, penstock.Normalize("imagenet"), layout="NHWC"), normalized.permute(1, 2, 0)))
            self.assertTrue(torch.equal(made(data, dtype="uint8"), torch.from_numpy(bytes_of(data)).permute(2, 0, 1)))

    def test_one_number_serves_all_channels(self):
        data = encode(picture(20, 30), "PNG")

        self.assertTrue(torch.equal(made(data, penstock.Normalize(0.5, 0.25)), made(data).sub(0.5).div(0.25)))
        gray = made(data, [penstock.Grayscale(), penstock.Normalize(0.5, 0.25)])
        self.assertEqual(gray.shape, (1, 20, 30))

    def test_torchvisions_steps_set_type_and_scale(self):
        transforms = support.need("torchvision.transforms").transforms
        data = encode(picture(20, 30), "PNG")

        self.assertEqual(made(data, transforms.PILToTensor()).dtype, torch.uint8)
        if hasattr(transforms, "v2"):
            unscaled = made(data, [transforms.v2.ToImage(), transforms.v2.ToDtype(torch.float32)])
            self.assertTrue(torch.equal(unscaled, made(data, dtype="uint8").to(torch.float32)))


Pair = collections.namedtuple("Pair", "image label")


@dataclasses.dataclass(frozen=True)
class Sample:
    image: object
    label: int


class StructureTest(unittest.TestCase):
    def setUp(self):
        self.data = encode(picture(30, 40))
        self.tensor = made(self.data)
        self.decoding = decoding_of(None)

    def all(self, sample):
        return decode_all(sample, self.decoding, Key(SEED, EPOCH, 0))

    def test_it_finds_images_wherever_collate_functions_look(self):
        one = penstock.Encoded(self.data)

        self.assertTrue(torch.equal(self.all(one), self.tensor))
        self.assertTrue(torch.equal(self.all((one, 3))[0], self.tensor))
        self.assertTrue(torch.equal(self.all([3, one])[1], self.tensor))
        self.assertTrue(torch.equal(self.all({"a": [{"b": one}]})["a"][0]["b"], self.tensor))
        pair = self.all(Pair(one, 3))
        self.assertEqual((type(pair), pair.label), (Pair, 3))
        self.assertTrue(torch.equal(pair.image, self.tensor))
        self.assertTrue(torch.equal(self.all(Sample(one, 3)).image, self.tensor))
        ordered = self.all(collections.OrderedDict(a=one, b=2))
        self.assertEqual((type(ordered), list(ordered)), (collections.OrderedDict, ["a", "b"]))
        self.assertTrue(torch.equal(self.all(collections.UserDict(a=one))["a"], self.tensor))

    def test_the_datasets_own_containers_stay_as_they_are(self):
        one = penstock.Encoded(self.data)
        inner = [one]
        for sample in ({"a": inner}, [inner], Sample(inner, 1), collections.OrderedDict(a=inner)):
            before = copy.copy(sample)
            self.all(sample)

            self.assertEqual(sample, before)
            self.assertIs(inner[0], one)

    def test_samples_without_images_come_back_themselves(self):
        penstock.Encoded(self.data)
        for sample in ({"a": [1, (2, "x")]}, (torch.zeros(1), 3), [b"bytes"], Pair(1, 2), Sample(1, 2), None, 3, numpy.zeros(3)):
            self.assertIs(self.all(sample), sample)

    def test_an_image_may_have_its_own_transform(self):
        loader = decoding_of([penstock.RandomResizedCrop(16), penstock.Normalize("imagenet")], dtype="float16")
        mask = [penstock.Resize(20), penstock.CenterCrop(16)]
        image, own = decode_all((penstock.Encoded(self.data), penstock.Encoded(self.data, mask)), loader, Key(1, 2, 3))

        self.assertEqual((image.dtype, image.shape), (torch.float16, (3, 16, 16)))
        self.assertTrue(torch.equal(own, made(self.data, mask, dtype="float16")))

    def test_all_kinds_of_bytes(self):
        array = numpy.frombuffer(self.data, numpy.uint8)
        for data in (bytearray(self.data), memoryview(self.data), array, memoryview(array)):
            self.assertTrue(torch.equal(self.all(penstock.Encoded(data)), self.tensor))
        for wrong in ("text", 3, None, array[::2]):
            with self.assertRaisesRegex(penstock.InvalidArgument, "Encoded: the data are .*expected contiguous bytes"):
                penstock.Encoded(wrong)

    def test_images_and_decodings_survive_pickling_and_copies(self):
        self.assertTrue(self.decoding.spec.is_whole)  # which is cached, and cannot be pickled
        one = penstock.Encoded(memoryview(self.data), [penstock.RandomResizedCrop(8)], sample=4)
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
            self.assertTrue(torch.equal(self.all(again), self.all(one)))
        self.assertEqual(pickle.loads(pickle.dumps(self.decoding)), self.decoding)
        self.assertIsInstance(copy.deepcopy(self.decoding), Decoding)


class FunctionsTest(unittest.TestCase):
    def setUp(self):
        self.data = encode(picture(60, 80))
        self.crop = penstock.RandomResizedCrop(32)
        self.row = bytes_of(self.data, self.crop)

    def test_a_function_gets_what_it_asks_for(self):
        got = []
        steps = [self.crop, lambda image: got.append(image) or image]
        for kind in ("pil", "tensor", "array"):
            steps.append(penstock.Python(lambda image: got.append(image) or image, kind))
        tensor = made(self.data, [*steps, penstock.Normalize("imagenet")])

        self.assertEqual([type(value) for value in got], [numpy.ndarray, Image.Image, torch.Tensor, numpy.ndarray])
        numpy.testing.assert_array_equal(got[0], self.row)
        numpy.testing.assert_array_equal(numpy.asarray(got[1]), self.row)
        numpy.testing.assert_array_equal(got[2].permute(1, 2, 0).numpy(), self.row)
        self.assertTrue(torch.equal(tensor, made(self.data, [self.crop, penstock.Normalize("imagenet")])))

    def test_its_bytes_are_finished_natively(self):
        def darken(image):
            image //= 2  # the array is the function's own
            return image

        expected = torch.from_numpy(self.row // 2).permute(2, 0, 1).to(torch.float32).div(255).sub(0.5).div(0.5)
        self.assertTrue(torch.equal(made(self.data, [self.crop, darken, penstock.Normalize("half")]), expected))

    def test_gray_images_have_a_channel_and_pillows_mode(self):
        modes = []
        gray = made(self.data, [penstock.Grayscale(), self.crop, lambda image: image[:, :, 0],
                                penstock.Python(lambda image: modes.append(image.mode) or image, "pil")])

        self.assertEqual((gray.shape, modes), ((1, 32, 32), ["L"]))

    def test_floats_are_the_result(self):
        tensor = made(self.data, [self.crop, lambda image: image[::-1].astype(numpy.float64)], dtype="float16")

        self.assertTrue(torch.equal(tensor, torch.from_numpy(self.row[::-1].copy()).to(torch.float16)))
        for after, dtype in ((penstock.Normalize("half"), None), (None, "uint8")):
            steps = [self.crop, lambda image: image.astype(numpy.float32), *([after] if after else [])]
            with self.assertRaisesRegex(penstock.InvalidArgument, "returned an array of float32.*needs bytes"):
                made(self.data, steps, dtype=dtype)

    def test_what_is_no_image_is_refused(self):
        for wrong in (None, 3, "text", numpy.zeros((3, 3), numpy.int32), numpy.zeros((0, 3, 3), numpy.uint8),
                      Image.new("RGBA", (3, 3)), torch.zeros(3, dtype=torch.uint8)):
            with self.assertRaisesRegex(penstock.InvalidArgument, "returned .*expected an image of bytes"):
                made(self.data, [self.crop, lambda _, wrong=wrong: wrong])
        with self.assertRaisesRegex(penstock.InvalidArgument, "wants input='pil', but .* returned an array of float32"):
            made(self.data, [lambda image: image.astype(numpy.float32), penstock.Python(lambda image: image, "pil")])

    def test_steps_in_a_wrong_place_are_refused(self):
        torchvision = support.need("torchvision.transforms").transforms
        for steps, words in (([penstock.Normalize("half"), len], "Normalize comes before len, which gets bytes"),
                             ([len, self.crop], "a crop comes behind len"),
                             ([len, penstock.HorizontalFlip()], "HorizontalFlip comes behind len"),
                             ([len, penstock.Grayscale(), len], "Grayscale stands between Python functions"),
                             ([torchvision.ToTensor(), len], "float32 tensor comes before len"),
                             ([len, penstock.RandAugment()], "a step that changes images comes behind len"),
                             ([penstock.RandomErasing(), len], "RandomErasing comes before len"),
                             ([penstock.RandomResizedCrop], "has the class RandomResizedCrop; give an object"),
                             ([penstock.Resize(9), len], "different sizes")):
            with self.assertRaisesRegex(penstock.InvalidArgument, words):
                decoding_of(steps)
        with self.assertRaisesRegex(penstock.InvalidArgument, "only penstock.torch.DataLoader runs"):
            penstock.transforms.plan_of([penstock.Python(len)])
        with self.assertRaisesRegex(penstock.InvalidArgument, "input is 'jpeg'"):
            penstock.Python(len, "jpeg")


class FaultsTest(unittest.TestCase):
    def test_a_bad_image_raises_the_daemons_words(self):
        data, png = encode(picture(50, 60)), encode(picture(50, 60), "PNG")
        for bad, fault in ((data[:len(data) // 2], "truncated"), (b"", "empty"), (b"not an image", "not an image"),
                           (b"\x00\x00\x00\x0cjP  \r\n\x87\n" + bytes(99), "unsupported kind"),
                           (png[:30] + bytes(1) + png[31:], "corrupt")):
            for transform in (None, penstock.RandomResizedCrop(8)):
                with self.assertRaisesRegex(penstock.DataLoss, f"Encoded: the image of {len(bad)} bytes cannot be decoded: "
                                                               f"{fault}; "):
                    made(bad, transform)

    def test_limits_hold(self):
        data, whole = encode(picture(50, 60)), _decode.Spec.whole()
        self.assertEqual(_decode.Decoder(len(data) - 1, 10**6, 10).shape(data, whole), "too many bytes")
        self.assertEqual(_decode.Decoder(10**6, 2999, 10).shape(data, whole), "too many pixels")
        progressive = encode(picture(50, 60), progressive=True)
        row = numpy.empty(50 * 60 * 3, numpy.uint8)
        self.assertEqual(_decode.Decoder(10**6, 3000, 2).decode_row(progressive, whole, 0, 0, 0, row), "too many scans")
        self.assertIsNone(_decode.Decoder(10**6, 3000, 20).decode_row(progressive, whole, 0, 0, 0, row))

    def test_wrong_numbers_are_refused(self):
        data, whole = encode(picture(5, 6)), _decode.Spec.whole()
        decoder = _decode.Decoder(10**6, 10**6, 10)
        with self.assertRaisesRegex(ValueError, "size is not the row's"):
            decoder.decode_row(data, whole, 0, 0, 0, numpy.empty(89, numpy.uint8))
        with self.assertRaisesRegex(ValueError, "resize"):
            _decode.Spec.center_crop(10, 20, 20)
        with self.assertRaisesRegex(ValueError, "unknown type"):
            _decode.finish(bytes(90), (5, 6, 3), "int8", "NCHW", [], [], numpy.empty(90, numpy.uint8))
        with self.assertRaises(ValueError):
            _decode.finish(bytes(89), (5, 6, 3), "uint8", "NCHW", [], [], numpy.empty(90, numpy.uint8))
        with self.assertRaises(TypeError):
            decoder.decode_row(data, whole, 0, 0, 0, bytes(90))  # not writable


class ThreadsTest(unittest.TestCase):
    def test_threads_decode_at_the_same_time(self):
        data, transform = photographs(1)[0], decoding_of(penstock.RandomResizedCrop(64), "uint8", "NHWC")
        expected = [decode_all(penstock.Encoded(data), transform, Key(0, 0, i)) for i in range(20)]
        wrong = []

        def work():
            for i, row in enumerate(expected):
                if not torch.equal(decode_all(penstock.Encoded(data), transform, Key(0, 0, i)), row):
                    wrong.append(i)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_forked_child_decodes(self):
        data = photographs(1)[0]
        made(data)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(made(data), made(data)) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class CostTest(unittest.TestCase):
    def test_samples_without_images_cost_nothing_while_there_are_none(self):
        sample, decoding, key = (1, 2), decoding_of(None), Key(0, 0, 0)
        existed, encoded._exists = encoded._exists, False
        try:
            begin = time.process_time()
            for _ in range(100_000):
                decode_all(sample, decoding, key)
            each = (time.process_time() - begin) * 10  # µs
        finally:
            encoded._exists = existed

        print(f"a sample without images: {each:.2f} µs")
        self.assertLess(each, 1.0)


if __name__ == "__main__":
    support.main()
