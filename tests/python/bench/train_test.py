"""Tests that `python -m penstock bench --train` trains on each feed and compares them. Sizes are tiny, and no speed is
expected."""
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

torch = support.need("torch")
support.need("numpy")

from penstock.bench import usage  # noqa: E402
from penstock.bench.train import resnet  # noqa: E402

PARAMETERS = {"resnet18": 11_689_512, "resnet50": 25_557_032}  # of torchvision's models
HAS_PILLOW = importlib.util.find_spec("PIL") is not None


class TrainBenchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-bench-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.addClassCleanup(cls.end_daemon)
        cls.photographs = os.path.join(cls.folder, "photographs")
        subprocess.run([support.program("penstock-make-photographs"), cls.photographs, "--images", "24"], check=True,
                       stdout=subprocess.DEVNULL)
        cls.environment = {name: value for name, value in os.environ.items() if name != "PENSTOCK_ADDRESS"}
        cls.environment.update(PENSTOCK_DAEMON=support.program("penstockd"), XDG_RUNTIME_DIR=cls.folder, OMP_NUM_THREADS="1")

    @classmethod
    def end_daemon(cls):
        daemon = usage.daemon_in(cls.folder)
        if daemon is not None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(daemon, signal.SIGTERM)
            support.wait_until(lambda: usage.daemon_in(cls.folder) is None, "the private daemon to end")

    def start(self, *words, **environment):
        return subprocess.Popen([sys.executable, "-m", "penstock", "bench", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**self.environment, **environment})

    def refusal(self, *words):
        process = self.start(*words)
        _, said = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 2, said)
        return said

    def train(self, *words, ranks=1):
        """(the report, what each rank printed)"""
        path = os.path.join(self.folder, "figures.json")
        asked = ["--train", "resnet18", "--data", self.photographs, "--device", "cpu", "--batch-size", "2", "--size", "32", "--seconds",
                 "0.1", "--runs", "1", "--workers", "1", "--json", path, *words]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        processes = [self.start(*asked, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                                MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in range(ranks)]
        printed = []
        for process in processes:
            out, said = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 0, said)
            printed.append(out)
        with open(path, encoding="utf-8") as file:
            return json.load(file), printed

    def test_a_model_is_trained_on_each_feed(self):
        report, (printed,) = self.train("--runs", "2")

        self.assertEqual(list(report["feeds"])[:2], ["synthetic", "Penstock"])
        self.assertEqual(len(report["feeds"]), 3 if HAS_PILLOW else 2)
        for name, feed in report["feeds"].items():
            with self.subTest(feed=name):
                self.assertEqual(len(feed["images_per_second"]), 2)
                self.assertGreater(feed["median"], 0)
                self.assertIn(name, printed)
        self.assertEqual(report["feeds"]["synthetic"]["ratio"], 1)
        self.assertIn(f"≥ {report['limit']}", printed)
        self.assertIn(f"torch {report['machine']['libraries']['torch']}", printed)

    @unittest.skipUnless(torch.distributed.is_available(), "torch is built without torch.distributed")
    def test_several_ranks_train_together_and_the_first_one_prints(self):
        report, (first, second) = self.train(ranks=2)

        self.assertEqual(report["ranks"], 2)
        self.assertIn("Penstock", first)
        self.assertEqual(second, "")

    def test_what_is_missing_is_said(self):
        for words, said in ((("--train", "resnet18"), "--data is None, which is not a folder"),
                            (("--train", "resnet18", "--cases", "all"), "not allowed with")):
            with self.subTest(words=words):
                self.assertIn(said, self.refusal(*words))

    def test_what_cannot_be_is_refused_without_a_traceback(self):
        photographs = "--train", "resnet18", "--data", self.photographs, "--device", "cpu"
        for words, said in ((("--decode", "gpu"), "penstock: decode is 'gpu', but device is 'cpu'"),
                            (("--decode", "gpu", "--gpu-share", "3"), "penstock: gpu_share is 3.0 (float)"),
                            (("--decode", "auto", "--gpu-share", "0.3"), "penstock: --gpu-share is 0.3, but --decode is auto")):
            with self.subTest(words=words):
                refused = self.refusal(*photographs, *words)

                self.assertIn(said, refused)
                self.assertNotIn("Traceback", refused)

    def test_too_few_photographs_for_a_batch_are_said(self):
        process = self.start("--train", "resnet18", "--data", self.photographs, "--device", "cpu", "--batch-size", "25", "--size", "32")
        _, said = process.communicate(timeout=100)

        self.assertEqual(process.returncode, 1)
        self.assertIn("has too few photographs for one batch: got 24, expected 25", said)


class ResnetTest(unittest.TestCase):
    def test_the_models_have_the_size_of_torchvisions(self):
        for name, count in PARAMETERS.items():
            with self.subTest(model=name):
                model = resnet.make(name, 1000)

                self.assertEqual(sum(parameter.numel() for parameter in model.parameters()), count)
                self.assertEqual(model(torch.zeros(2, 3, 32, 32)).shape, (2, 1000))

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "torchvision is not installed")
    def test_they_compute_what_torchvisions_do_with_the_same_weights(self):
        import torchvision
        images = torch.randn(2, 3, 64, 64)
        for name in PARAMETERS:
            with self.subTest(model=name):
                ours, theirs = resnet.make(name, 10).eval(), getattr(torchvision.models, name)(num_classes=10).eval()
                self.assertEqual(list(ours.state_dict()), list(theirs.state_dict()))

                ours.load_state_dict(theirs.state_dict())

                torch.testing.assert_close(ours(images), theirs(images))


if __name__ == "__main__":
    support.main()
