"""Tests how the first argument is resolved (a configured dataset, a local path, or neither), and arrays of floats."""
import os
import pathlib
import subprocess

import support

torch = support.need("torch")
numpy = support.need("numpy")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

MIDDLE = [penstock.Resize(40), penstock.CenterCrop(32)]
CONFIG = """
server: {{socket: {folder}/d/penstock.sock, group: "", state_dir: {folder}/state}}
pool: {{max: 256MiB}}
datasets:
  - name: both
    folder: {folder}/configured
"""


class NamesTest(support.FeedTest):
    """Has a daemon with a configured dataset `both`, a local folder of that name, a local folder `val` that is not
    configured, and this user's private daemon, which accepts paths."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, images in (("configured", 30), ("here/both", 20), ("here/val", 10)):
            subprocess.run([support.program("penstock-make-photographs"), os.path.join(cls.folder, name), "--images",
                            str(images), "--classes", "2"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.join(cls.folder, "here"))
        os.environ["HOME"] = os.path.join(cls.folder, "here")
        config = pathlib.Path(cls.folder, "penstock.yaml")
        config.write_text(CONFIG.format(folder=cls.folder), encoding="utf-8")
        cls.configured = os.path.join(cls.folder, "d/penstock.sock")
        with open(os.path.join(cls.folder, "log"), "wb") as log:
            daemon = subprocess.Popen([support.program("penstockd"), "--config", str(config)], stderr=log)
        cls.addClassCleanup(daemon.wait)
        cls.addClassCleanup(daemon.terminate)
        support.wait_until_serving(daemon, pathlib.Path(cls.folder, "log"))

    def samples(self, dataset, address=None):
        loader = penstock.torch.DataLoader(dataset, batch_size=8, transform=MIDDLE, address=address or "")
        with loader:
            count = sum(len(labels) for _, labels in loader)
            self.assertEqual(count, len(loader.dataset))
            return count

    def test_a_folder_here_is_found_by_its_name(self):
        for name in ("val", "./val", "val/", "~/val", f"file://{self.folder}/here/val", pathlib.Path("val"),
                     os.path.join(self.folder, "here/val")):
            with self.subTest(name=name):
                self.assertEqual(self.samples(name), 10)

    def test_a_configured_dataset_comes_first_and_says_so(self):
        with self.assertLogs("penstock", "INFO") as logs:
            self.assertEqual(self.samples("both", self.configured), 30)

        self.assertIn("'both' is the daemon's dataset of that name; for the one in this folder give './both'", "".join(logs.output))

    def test_where_the_daemon_has_none_it_is_what_is_here(self):
        self.assertEqual(self.samples("both"), 20)  # from the private daemon

    def test_a_name_that_is_neither_is_not_found(self):
        with self.assertRaisesRegex(LookupError, "nowhere"):
            self.samples("nowhere", self.configured)
        with self.assertRaisesRegex((LookupError, ValueError), "nowhere"):
            self.samples("nowhere")

    def test_a_loader_that_was_pickled_stays_where_it_was(self):
        import pickle
        with penstock.torch.DataLoader("val", batch_size=8, transform=MIDDLE) as loader:
            pickled = pickle.dumps(loader)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir("/")

        with pickle.loads(pickled) as loader:
            self.assertEqual(len(loader.dataset), 10)


class FloatArraysTest(support.FeedTest):
    """Images of floats are delivered as stored. Options that would finish images of bytes are refused instead of
    ignored."""

    def array(self, dtype):
        path = os.path.join(self.folder, f"{dtype}.npy")
        numpy.save(path, numpy.arange(6 * 4 * 5 * 3).reshape(6, 4, 5, 3).astype(dtype))
        return f"npy:image={path}"

    def batch(self, dataset, make=penstock.torch.DataLoader, **keywords):
        with make(dataset, batch_size=6, **keywords) as loader:
            return next(iter(loader))

    def test_they_come_as_they_are_stored(self):
        for dtype in ("float32", "float16", "int16"):
            image = self.batch(self.array(dtype))["image"]
            self.assertEqual(image.tolist(), numpy.arange(360).reshape(6, 4, 5, 3).tolist())
            self.assertEqual(str(image.dtype), f"torch.{dtype}")

    def test_what_is_said_of_images_of_bytes_is_refused(self):
        for words, keywords in (("Normalize", {"transform": [penstock.Normalize("imagenet")]}), ("dtype", {"dtype": "float16"}),
                                ("layout", {"layout": "NHWC"})):
            for make in (penstock.torch.DataLoader, penstock.Loader):
                with self.subTest(words=words, make=make), self.assertRaisesRegex(penstock.InvalidArgument, words):
                    self.batch(self.array("float32"), make, **keywords)

    def test_steps_to_a_tensor_are_said_of_images_of_bytes_too(self):
        class ToTensor:
            """Stands in for torchvision's class, by name."""

        ToTensor.__module__ = "torchvision.transforms.transforms"
        with self.assertRaisesRegex(penstock.InvalidArgument, "a step to a tensor"):
            self.batch(self.array("float32"), transform=[ToTensor()])
        self.assertEqual(self.batch(self.array("uint8"), transform=[ToTensor()])["image"].dtype, torch.float32)

    def test_normalize_has_as_many_numbers_as_channels(self):
        path = os.path.join(self.folder, "gray.npy")
        numpy.save(path, numpy.zeros((6, 4, 5, 1), "uint8"))

        with self.assertRaisesRegex(penstock.InvalidArgument, "1 channel;"):
            self.batch(f"npy:image={path}", transform=[penstock.Normalize("imagenet")])
        image = self.batch(f"npy:image={path}", transform=[penstock.Normalize(0.5, 0.5)])["image"]
        self.assertEqual((tuple(image.shape), float(image.max())), ((6, 1, 4, 5), -1.0))

    def test_images_of_bytes_are_finished(self):
        image = self.batch(self.array("uint8"), transform=[penstock.Normalize([0.5] * 3, [0.25] * 3)])["image"]
        self.assertEqual(tuple(image.shape), (6, 3, 4, 5))
        self.assertEqual(float(image[0, 1, 0, 0]), (numpy.float32(1) / numpy.float32(255) - numpy.float32(0.5)) / numpy.float32(0.25))

    def test_a_type_of_fields_is_asked_for_by_the_field(self):
        image = self.batch(self.array("float64"), fields=[penstock.Field("image", dtype="float32")])["image"]

        self.assertEqual(image.dtype, torch.float32)


if __name__ == "__main__":
    support.main()
