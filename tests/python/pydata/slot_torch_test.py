"""Tests of tensors in a slot, and that a structure comes out as torch's own DataLoader hands it over from a worker."""
import collections
import dataclasses
import unittest
import warnings

from slots import features, support, through_slot

torch = support.need("torch")
numpy = support.need("numpy")

import penstock  # noqa: E402
from penstock._pydata import slot  # noqa: E402

Pair = collections.namedtuple("Pair", "image label")


@dataclasses.dataclass
class Sample:
    image: object
    label: int


class Boxes(torch.Tensor):
    """A subclass with attributes, as torchvision's."""


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def from_torchs_worker(value):
    """What torch's DataLoader with one worker gives for a batch."""
    return next(iter(torch.utils.data.DataLoader(Rows([value]), batch_size=None, num_workers=1, collate_fn=first)))


def first(value):
    return value


def with_format(boxes):
    boxes.format = "xyxy"
    return boxes


def dtypes():
    return sorted({value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str)


class TensorsTest(unittest.TestCase):
    def check(self, value):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = through_slot(value)
            self.assertEqual(features(got), features(value))
        return got

    def test_all_types(self):
        tried = 0
        for dtype in dtypes():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tensor = torch.arange(6).to(dtype).reshape(2, 3)
                    tensor.to(torch.complex128 if dtype.is_complex else torch.float64).tolist()
            except (RuntimeError, NotImplementedError, ValueError, TypeError):
                continue  # a type that this torch names and cannot make
            with self.subTest(dtype=dtype):
                self.check(tensor)
                tried += 1
        self.assertGreaterEqual(tried, 12)

    def test_all_shapes(self):
        for shape in ((), (0,), (3, 0, 2), (1,), (1, 1, 1), (2, 3, 4, 5, 6)):
            with self.subTest(shape=shape):
                self.check(torch.ones(shape))

    def test_memory_formats_are_kept(self):
        image = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
        last = image.to(memory_format=torch.channels_last)

        got = self.check(last)

        self.assertTrue(got.is_contiguous(memory_format=torch.channels_last))
        self.check(image.permute(3, 0, 1, 2))
        self.check(torch.zeros(2, 1, 4, 4).to(memory_format=torch.channels_last))
        video = self.check(torch.zeros(2, 3, 4, 4, 4).to(memory_format=torch.channels_last_3d))
        self.assertTrue(video.is_contiguous(memory_format=torch.channels_last_3d))

    def test_gaps_are_not_stored(self):
        image = torch.arange(24.0).reshape(4, 6)
        for view in (image[:, ::2], image[1:3, 2:5], image.t()[::3], image.unfold(1, 3, 1)):
            got = through_slot(view)
            self.assertEqual(got.tolist(), view.tolist())
            self.assertLess(slot.measure(view).nbytes, 64 + 4 * view.numel() + 64 + 300)

    def test_an_expanded_tensor_is_stored_once(self):
        tensor = torch.arange(4.0).expand(1000, 4)

        self.check(tensor)
        self.assertLess(slot.measure(tensor).nbytes, 1000)
        self.check(torch.ones(()).expand(3, 0))
        self.check(torch.ones(1, 1).expand(2, 3))

    def test_conjugates_are_computed(self):
        tensor = torch.tensor([1 + 2j, 3 - 4j])
        for lazy in (tensor.conj(), tensor.conj().imag):
            self.assertEqual(through_slot(lazy).tolist(), lazy.tolist())

    def test_gradients_as_torch(self):
        leaf = torch.ones(3, requires_grad=True)
        parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)

        got = through_slot([leaf, parameter, torch.nn.Parameter(torch.ones(2))])

        self.assertEqual([each.requires_grad for each in got], [True, False, True])
        self.assertEqual([type(each) for each in got], [torch.Tensor, torch.nn.Parameter, torch.nn.Parameter])
        self.assertTrue(all(each.is_leaf for each in got))
        with self.assertRaisesRegex(penstock.InvalidArgument, "not a leaf"):
            slot.measure({"x": leaf * 2})

    def test_subclasses_keep_class_and_attributes(self):
        boxes = with_format(torch.ones(3, 4).as_subclass(Boxes))

        got = self.check([boxes, boxes])

        self.assertEqual((type(got[0]), got[0].format), (Boxes, "xyxy"))
        self.assertIs(got[0], got[1])
        self.assertEqual(slot.measure(boxes).buffers, 1)

    def test_sparse_tensors_come_by_their_parts(self):
        dense = torch.eye(1000)
        for sparse, parts in ((dense.to_sparse(), 2), (dense.to_sparse_csr(), 3)):
            with self.subTest(layout=sparse.layout):
                self.check(sparse)
                self.assertEqual(slot.measure(sparse).buffers, parts)

    def test_quantised_tensors_are_pickled(self):
        tensor = torch.quantize_per_tensor(torch.arange(4.0), 0.5, 1, torch.quint8)

        got = self.check(tensor)

        self.assertEqual((got.q_scale(), got.q_zero_point()), (0.5, 1))

    @unittest.skipUnless(hasattr(torch.Tensor, "has_names"), "this torch has no named tensors")
    def test_names_are_refused_as_by_torch(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named = torch.ones(2, names=("a",))
        with self.assertRaisesRegex(penstock.InvalidArgument, "[Nn]amed tensors"):
            slot.measure(named)

    def test_the_same_tensor_twice_is_one(self):
        tensor = torch.ones(1000)

        got = through_slot({"a": tensor, "b": (tensor, tensor.view(10, 100))})

        self.assertIs(got["a"], got["b"][0])
        self.assertNotEqual(got["a"].data_ptr(), got["b"][1].data_ptr())
        self.assertEqual(slot.measure([tensor, tensor]).buffers, 1)

    def test_tensors_are_views_of_the_slot(self):
        memory = bytearray(8192)
        slot.write({"a": torch.zeros(5), "b": torch.zeros(3, dtype=torch.uint8)}, memory)

        slot.read(memory)["a"][2] = 7

        self.assertEqual(slot.read(memory)["a"].tolist(), [0, 0, 7, 0, 0])

    def test_read_only_memory_is_read_without_a_warning(self):
        memory = bytearray(8192)
        slot.write(torch.arange(5), memory)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = slot.read(memoryview(memory).toreadonly())

        self.assertEqual(got.tolist(), [0, 1, 2, 3, 4])

    def test_a_type_that_this_torch_lacks_is_named(self):
        from penstock._pydata import slot_format, slot_torch
        entry = slot_format.Entry(slot_format.TENSOR, 99, 8, 64, 64, (8,), (1,))
        with self.assertRaisesRegex(slot.SlotDamaged, "99, which this torch"):
            slot_torch.tensor_at(memoryview(bytes(200)), entry)


class AsTorchTest(unittest.TestCase):
    """Side by side with torch's DataLoader."""

    def test_structures_are_those_of_torchs_workers(self):
        image = torch.arange(48.0).reshape(1, 3, 4, 4)
        structures = {
            "dict": {"image": image, "label": torch.tensor(3), "name": ["a", "b"], "weight": 0.5, "none": None},
            "list": [image, [1, 2], (3, "x")], "tuple": (image, torch.ones(2)),
            "namedtuple": Pair(image, 1), "dataclass": [dataclasses.astuple(Sample(image, 2))],
            "ordered": collections.OrderedDict(b=image, a=1), "numpy": {"a": numpy.arange(6).reshape(2, 3).T},
            "channels_last": image.to(memory_format=torch.channels_last), "permuted": image.permute(0, 2, 3, 1),
            "expanded": torch.ones(1, 3).expand(4, 3), "empty": torch.empty(0, 5), "scalar": torch.tensor(True),
            "half": image.to(torch.bfloat16), "complex": torch.ones(2, dtype=torch.complex64),
            "parameter": torch.nn.Parameter(torch.ones(2)), "leaf": torch.ones(2, requires_grad=True),
            "subclass": with_format(torch.ones(2).as_subclass(Boxes)), "bytes": b"abc", "number": numpy.float64(2.5),
        }
        try:
            structures["image"] = __import__("PIL.Image").Image.new("RGB", (3, 2), (4, 5, 6))
        except ImportError:
            pass
        for name, structure in structures.items():
            with self.subTest(name=name):
                self.assertEqual(features(through_slot(structure)), features(from_torchs_worker(structure)))

    def test_what_default_collate_gives(self):
        collate = torch.utils.data.dataloader.default_collate
        samples = [{"image": numpy.full((2, 2), n, "float32"), "label": n, "name": str(n), "pair": Pair(torch.ones(1), 2.5),
                    "ok": True} for n in range(4)]
        batch = collate(samples)

        got = through_slot(batch)

        self.assertEqual(features(got), features(batch))
        self.assertEqual((got["image"].dtype, got["label"].dtype, got["pair"].label.dtype),
                         (torch.float32, torch.int64, torch.float64))
        converted = torch.utils.data._utils.collate.default_convert(samples)
        self.assertEqual(features(through_slot(converted)), features(converted))

    def test_boxes_of_torchvision(self):
        try:
            from torchvision import tv_tensors
        except ImportError as error:
            self.skipTest(f"no torchvision with tv_tensors ({error})")
        boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(10, 20))
        image = tv_tensors.Image(torch.zeros(3, 4, 4, dtype=torch.uint8))

        got = through_slot({"boxes": boxes, "image": image})

        self.assertEqual((type(got["boxes"]), got["boxes"].format, got["boxes"].canvas_size, got["boxes"].tolist()),
                         (type(boxes), boxes.format, boxes.canvas_size, boxes.tolist()))
        self.assertEqual((type(got["image"]), got["image"].shape), (type(image), image.shape))


if __name__ == "__main__":
    support.main()
