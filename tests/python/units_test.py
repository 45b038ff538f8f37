"""Tests that need no daemon: ranks, transforms, lengths, settings."""
import os
import pathlib
import tempfile
import unittest

import support

import penstock
from penstock import _patience, _place, _settings, _where, ranks


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
                        self.assertEqual(_place.batches(left, batch_size, rank, world_size, "partial"), takes[rank])
                        self.assertEqual(_place.batches(left, batch_size, rank, world_size, "drop"), whole)
                        for padded in ("pad_ranks", "pad_batch"):
                            self.assertEqual(_place.batches(left, batch_size, rank, world_size, padded), max(takes))


class PatienceTest(unittest.TestCase):
    """What is tried again in an opening. A client whose address nobody listens at stands for a daemon that is gone."""

    gone = type("Client", (), {"address": "/nowhere/penstock.sock"})()
    unavailable, not_found = penstock.Unavailable("gone"), penstock.NotFound("nobody")

    def test_a_daemon_that_was_never_there_is_not_waited_for(self):
        for addressed in (True, False):
            opening = _patience.Opening(served=False, addressed=addressed)
            self.assertFalse(opening.may_pass(self.not_found, None))
        self.assertFalse(opening.may_pass(self.unavailable, None))  # the private daemon does not start

    def test_an_address_at_which_no_daemon_ever_welcomes_is_not_waited_for(self):
        opening = _patience.Opening(served=False, addressed=True)
        self.assertTrue(opening.may_pass(self.unavailable, None))
        self.assertFalse(opening.may_pass(self.unavailable, None))

    def test_a_daemon_that_ends_during_its_welcome_is_waited_for(self):
        opening = _patience.Opening(served=False, addressed=True)
        for error in (self.unavailable, self.not_found, self.not_found, self.unavailable, self.unavailable):
            self.assertTrue(opening.may_pass(error, None))

    def test_a_daemon_that_does_not_answer_is_asked_once_more_and_waited_for_if_it_is_gone_then(self):
        silent = penstock.DeadlineExceeded("silent")
        for client in (None, self.gone):
            opening = _patience.Opening(served=False, addressed=True)
            self.assertEqual([opening.may_pass(silent, client) for _ in range(2)], [True, False])
            for gone in (self.unavailable, self.not_found):
                opening = _patience.Opening(served=False, addressed=True)
                self.assertTrue(all(opening.may_pass(error, None) for error in (silent, gone, gone, silent, gone)))

    def test_a_daemon_that_went_away_is_waited_for_but_not_a_dataset_that_is_not_there(self):
        for served in (True, False):
            opening = _patience.Opening(served=served, addressed=True)
            for error in (self.unavailable, self.unavailable, penstock.DeadlineExceeded("silent")):
                self.assertTrue(opening.may_pass(error, self.gone))
            self.assertFalse(opening.may_pass(self.not_found, self.gone))

    def test_a_time_limit_of_the_clients_own_ends_as_unavailable(self):
        def attempt():
            raise penstock.DeadlineExceeded("it did not answer within 5000 ms")

        with self.assertRaisesRegex(penstock.Unavailable, "5000 ms"):
            _patience.while_gone(attempt, 0, lambda error: True)


class SettingsTest(unittest.TestCase):
    def test_a_batch_size_beyond_the_daemons_limit_is_refused_with_the_limit(self):
        for size in (65_537, 2**32, 2**70):
            with self.assertRaisesRegex(ValueError, f"batch_size is {size}; .* at most 65536"):
                _settings.make("a", batch_size=size, rank=0, world_size=1)

    def test_types_that_contradict_are_refused(self):
        for transform, dtype, words in (([penstock.Normalize("imagenet")], "uint8", "fractions"), (None, "float64", "dtype is")):
            with self.subTest(words=words), self.assertRaisesRegex(penstock.InvalidArgument, words):
                _settings.make("x", transform=transform, dtype=dtype)

    def test_the_usual_type_is_what_nobody_changed(self):
        made = _settings.make("x", usual=("uint8", "NHWC"))

        self.assertEqual((made.dtype, made.layout), ("uint8", "NHWC"))
        self.assertEqual(_settings.make("x", usual=("uint8", "NHWC"), dtype="float16").dtype, "float16")

    def test_last_batches(self):
        for drop_last, last_batch, world_size, expected in (
                (False, None, 1, "partial"), (False, None, 2, "pad_ranks"), (True, None, 2, "drop"),
                (False, "pad_batch", 2, "pad_batch"), (True, "drop", 1, "drop")):
            self.assertEqual(_settings.remainder_of(drop_last, last_batch, world_size), expected)
        with self.assertRaisesRegex(penstock.InvalidArgument, "pad_ranks"):
            _settings.remainder_of(False, "pad", 2)


class WhereTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        os.mkdir("val")

    def test_names_paths_and_texts_are_told_apart(self):
        here, home = os.getcwd(), os.path.expanduser("~")
        for given, meant in (("imagenet-train", "imagenet-train"), ("./x", here + "/x"), ("/a/../b", "/b"), (".", here),
                             ("..", os.path.dirname(here)), ("~", home), ("~/data", home + "/data"),
                             (pathlib.Path("val"), here + "/val"), (pathlib.Path("~/x"), home + "/x"),
                             ("train-{000..146}.tar", here + "/train-{000..146}.tar"), ("my photos", here + "/my photos"),
                             ("file:///data/a%20b", "/data/a b"), ("file://localhost/data", "/data"),
                             ("tokens:/data/train.bin,length=8", "tokens:/data/train.bin,length=8")):
            with self.subTest(given=given):
                self.assertEqual(_where.where_of(given), (meant, ""))

    def test_urls_of_stores_are_passed_on(self):
        for given, meant in (("s3://bucket/train.tar", "s3://bucket/train.tar"), ("S3://Bucket/x.tar", "s3://Bucket/x.tar"),
                             ("gs://b/t-{00..07}.tar", "gs://b/t-{00..07}.tar"),
                             ("https://example.org/train.tar", "https://example.org/train.tar")):
            with self.subTest(given=given):
                self.assertEqual(_where.where_of(given), (meant, ""))
        for secret in ("https://example.org/train.tar?key=hunter2", "http://me:hunter2@example.org/train.tar"):
            with self.assertRaisesRegex(penstock.InvalidArgument, "names of datasets are logged") as caught:
                _where.where_of(secret)
            self.assertNotIn("hunter2", str(caught.exception))

    def test_a_name_that_is_here_too_may_be_either(self):
        self.assertEqual(_where.where_of("val"), ("val", os.path.abspath("val")))

    def test_what_lies_elsewhere_is_refused(self):
        for url in ("hdfs://host/x", "az://container/x", "ftp://host/x.tar"):
            with self.subTest(url=url), self.assertRaisesRegex(penstock.InvalidArgument, "copy what is there to a disk"):
                _where.where_of(url)
        for url in ("file://data/train", "file://data"):
            with self.subTest(url=url), self.assertRaisesRegex(penstock.InvalidArgument, "three slashes"):
                _where.where_of(url)

    def test_a_torch_dataset_is_refused_with_its_root(self):
        class ImageFolder:
            root = "/data/train"

        with self.assertRaisesRegex(penstock.InvalidArgument, "for this ImageFolder: '/data/train'"):
            _where.where_of(ImageFolder())
        for nothing in ("", b"/data", None):
            with self.assertRaises(penstock.InvalidArgument):
                _where.where_of(nothing)


if __name__ == "__main__":
    support.main()
