"""What needs no daemon: ranks, transforms, lengths, settings."""
import os
import unittest

import support

import penstock
from penstock import _lengths, _settings, ranks, transforms


class RanksTest(unittest.TestCase):
    def test_arguments_come_first(self):
        found = ranks.find(1, 3, {"RANK": "0", "WORLD_SIZE": "8"})

        self.assertEqual((found.rank, found.world_size), (1, 3))

    def test_launchers_are_known_by_their_variables(self):
        for who, environ in (
                ("torchrun", {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}),
                ("Slurm", {"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_LOCALID": "3"}),
                ("Open MPI", {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8",
                              "OMPI_COMM_WORLD_LOCAL_RANK": "3"})):
            with self.subTest(who=who):
                found = ranks.find(environ=environ)

                self.assertEqual((found.rank, found.world_size, found.found), (3, 8, who))
                self.assertEqual(ranks.local_rank(environ), 3)

    def test_without_any_it_is_alone(self):
        self.assertEqual(str(ranks.find(environ={})), "0 of 1 (alone)")
        self.assertIsNone(ranks.local_rank({}))

    def test_an_environment_that_cannot_be_is_refused(self):
        for environ in ({"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"}):
            with self.assertRaises(penstock.InvalidArgument):
                ranks.find(environ=environ)


class LengthsTest(unittest.TestCase):
    def test_they_are_what_taking_run_after_run_gives(self):
        for left in range(0, 40):
            for batch_size in (1, 3, 8):
                for world_size in (1, 2, 5):
                    takes = [0] * world_size
                    short = [0] * world_size
                    for run, begin in enumerate(range(0, left, batch_size)):
                        takes[run % world_size] += 1
                        short[run % world_size] += begin + batch_size > left
                    whole = left // (batch_size * world_size)
                    for rank in range(world_size):
                        self.assertEqual(_lengths.batches(left, batch_size, rank, world_size, "partial"), takes[rank])
                        self.assertEqual(_lengths.batches(left, batch_size, rank, world_size, "drop"), whole)
                        self.assertEqual(_lengths.batches(left, batch_size, rank, world_size, "pad"), max(takes))


class TransformsTest(unittest.TestCase):
    def test_torchvisions_are_read_as_ours(self):
        try:
            from torchvision import transforms as theirs
        except ImportError as error:
            self.skipTest(f"torchvision is not installed ({error})")
        train = theirs.Compose([theirs.RandomResizedCrop(64, scale=(0.2, 1)), theirs.RandomHorizontalFlip(0.25),
                                theirs.ToTensor(), theirs.Normalize([0.5] * 3, [0.25] * 3)])
        test = theirs.Compose([theirs.Resize(73), theirs.CenterCrop((64, 60)), theirs.ToTensor()])

        self.assertEqual(transforms.plan_of(train), transforms.plan_of(
            [penstock.RandomResizedCrop((64, 64), (0.2, 1)), penstock.HorizontalFlip(0.25),
             penstock.Normalize([0.5] * 3, [0.25] * 3)]))
        self.assertEqual(transforms.plan_of(test),
                         transforms.plan_of([penstock.Resize(73), penstock.CenterCrop((64, 60))]))

    def test_what_of_torchvisions_is_not_done_is_said(self):
        try:
            from torchvision import transforms as theirs
        except ImportError as error:
            self.skipTest(f"torchvision is not installed ({error})")
        bicubic = theirs.InterpolationMode.BICUBIC
        for words, transform in (("ColorJitter", theirs.ColorJitter(0.4)),
                                 ("interpolation", theirs.RandomResizedCrop(8, interpolation=bicubic)),
                                 ("CenterCrop", theirs.Compose([theirs.Resize((8, 8)), theirs.CenterCrop(8)])),
                                 ("max_size", theirs.Resize(8, max_size=9))):
            with self.subTest(words=words), self.assertRaisesRegex(penstock.InvalidArgument, words):
                transforms.plan_of(transform)


class SettingsTest(unittest.TestCase):
    def test_names_and_paths_are_told_apart(self):
        for given, meant in (("imagenet-train", "imagenet-train"), ("./x", os.path.abspath("x")), ("/a/../b", "/b"),
                             (".", os.getcwd())):
            self.assertEqual(_settings.dataset_of(given), meant)

    def test_a_torch_dataset_is_refused_with_its_root(self):
        class ImageFolder:
            root = "/data/train"

        with self.assertRaisesRegex(penstock.InvalidArgument, "for this ImageFolder: '/data/train'"):
            _settings.dataset_of(ImageFolder())


if __name__ == "__main__":
    support.main()
