"""A batch unpacks like torch's, is a dict, and keeps its attributes when it is moved. Needs no daemon."""
import copy
import pickle
import unittest

import support

torch = support.need("torch")

from penstock._batch import Batch, Position  # noqa: E402
from penstock._torch_batch import TensorBatch, add_row_info  # noqa: E402


def batch_of(rows=4, valid_rows=3):
    batch = TensorBatch({"image": torch.arange(rows * 2.0).reshape(rows, 2), "label": torch.arange(rows)})
    batch._step, batch._sample_ids = (5, 6, 7, rows, valid_rows, False), torch.arange(10, 10 + rows).numpy().tobytes()
    return batch


class PlacesTest(unittest.TestCase):
    def test_it_unpacks_into_its_tensors(self):
        batch = batch_of()

        images, labels = batch

        self.assertIs(images, batch["image"])
        self.assertIs(labels, batch["label"])

    def test_idioms_of_lists_of_tensors(self):
        batch = batch_of()
        for name, got in (("list", list(batch)), ("tuple", tuple(batch)), ("comprehension", [each for each in batch]),
                          ("map", list(map(lambda tensor: tensor, batch))), ("star", [*batch]), ("slice", batch[:2]),
                          ("places", [batch[0], batch[1]]), ("from the end", [batch[-2], batch[-1]]),
                          ("reversed", list(reversed(batch))[::-1]),
                          ("enumerate", [each for _, each in enumerate(batch)])):
            with self.subTest(name):
                self.assertEqual(len(got), 2)
                self.assertTrue(all(a is b for a, b in zip(got, batch.values())))
        self.assertEqual(len(batch), 2)
        with self.assertRaises(IndexError):
            batch[2]

    def test_a_place_can_be_assigned(self):
        batch = batch_of()

        batch[0] = batch[0] * 2

        self.assertEqual(list(batch.keys()), ["image", "label"])
        self.assertEqual(batch["image"][0, 1], 2)

    def test_it_is_a_dict_by_its_names(self):
        batch = batch_of()
        names = ["image", "label"]

        def keywords(**given):
            return list(given)

        for name, got in (("keys", list(batch.keys())), ("items", [key for key, _ in batch.items()]),
                          ("dict", list(dict(batch))), ("star star", keywords(**batch)),
                          ("merged", list({**batch})), ("update", list({} | dict(batch))),
                          ("rebuilt", list(type(batch)(batch).keys())),
                          ("of pairs", list(type(batch)(list(batch.items())).keys()))):
            with self.subTest(name):
                self.assertEqual(got, names)
        plain = {}
        plain.update(batch)
        self.assertEqual(list(plain), names)
        self.assertTrue("image" in batch and "pixels" not in batch and batch.get("pixels") is None)
        with self.assertRaises(KeyError):
            batch["pixels"]

    def test_batches_without_torch_are_alike(self):
        image, label = Batch(image=[[1]], label=[2])

        self.assertEqual((image, label), ([[1]], [2]))


class KnowledgeTest(unittest.TestCase):
    def check(self, batch):
        self.assertEqual(batch.position, Position(5, 6, 7, 4, 3, False))
        self.assertEqual(batch.valid_rows, 3)
        self.assertEqual(batch.sample_ids.tolist(), [10, 11, 12, 13])
        self.assertEqual(batch.valid.tolist(), [True, True, True, False])
        images, labels = batch
        self.assertEqual(tuple(images.shape), (4, 2))
        self.assertEqual(labels.tolist(), [0, 1, 2, 3])

    def test_moves_and_copies_keep_it(self):
        batch = batch_of()
        for name, moved in (("to", batch.to("cpu")), ("to, as Lightning asks", batch.to(torch.device("cpu"), non_blocking=True)),
                            ("cpu", batch.cpu()), ("copy", batch.copy()), ("copy.copy", copy.copy(batch)),
                            ("deepcopy", copy.deepcopy(batch)), ("pickle", pickle.loads(pickle.dumps(batch)))):
            with self.subTest(name):
                self.assertIs(type(moved), TensorBatch)
                self.check(moved)

    def test_to_moves_every_tensor(self):
        moved = batch_of().to("meta")

        self.assertEqual({value.device.type for value in moved}, {"meta"})

    def test_a_type_is_no_device(self):
        with self.assertRaisesRegex(ValueError, "several types"):
            batch_of().to(torch.float16)

    def test_frameworks_that_move_by_to_keep_it(self):
        """Lightning and Accelerate first look for a `to` method, and rebuild collections only without one."""
        def move(data, device):
            if hasattr(data, "to"):
                return data.to(device)
            if isinstance(data, dict):
                return type(data)({key: move(value, device) for key, value in data.items()})
            return type(data)(move(value, device) for value in data)

        self.check(move([batch_of()], "cpu")[0])

    def test_who_rebuilds_it_is_told_what_is_lost(self):
        batch = batch_of()
        rebuilt = type(batch)({key: value.double() for key, value in batch.items()})

        self.assertEqual(rebuilt["image"].dtype, torch.float64)
        for name in ("valid_rows", "position", "sample_ids", "valid"):
            with self.subTest(name), self.assertRaisesRegex(AttributeError, "row_info=True"):
                getattr(rebuilt, name)

    def test_rows_may_carry_it_themselves(self):
        batch = batch_of()

        add_row_info(batch)
        rebuilt = {key: value.flip(0) for key, value in batch.items()}  # only row info in the dict survives this

        self.assertEqual(rebuilt["sample_id"].tolist(), [13, 12, 11, 10])
        self.assertEqual(rebuilt["valid"].tolist(), [False, True, True, True])


if __name__ == "__main__":
    support.main()
