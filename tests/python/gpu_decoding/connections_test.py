"""Tests that importing the package asks CUDA for connections while that has an effect, and that a loader says what is missing."""
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

import penstock  # noqa: E402
from penstock import _settings  # noqa: E402
from penstock._gpu_decoding import connections  # noqa: E402
from penstock._gpu_decoding.connections import VARIABLE  # noqa: E402

CROP = [penstock.RandomResizedCrop(32)]


class Driver:
    """libcuda."""

    def __init__(self, initialised):
        self.cuDeviceGetCount = lambda count: 0 if initialised else 3


class ConnectionsTest(unittest.TestCase):
    def asked(self, driver=None, chosen=None):
        """Whether it was too late, and the number in the environment afterwards."""
        loaded = {"side_effect": OSError("not loaded")} if driver is None else {"return_value": driver}
        with mock.patch.dict(os.environ), mock.patch("ctypes.CDLL", **loaded):
            os.environ.pop(VARIABLE, None)
            if chosen is not None:
                os.environ[VARIABLE] = chosen
            return connections.ask(), os.environ.get(VARIABLE)

    def said(self, too_late=False, chosen="32", **more):
        with mock.patch.dict(os.environ, {VARIABLE: chosen}), mock.patch.object(connections, "_too_late", too_late), \
                mock.patch.object(_settings, "say_once") as said:
            _settings.make("photographs", transform=CROP, **{"device": "cuda", "decode": "gpu", **more})
        return said.call_args.args[0] if said.called else None

    def test_there_are_as_many_as_can_be_where_cuda_is_not_used_yet(self):
        self.assertEqual(self.asked(), (False, "32"))
        self.assertEqual(self.asked(Driver(initialised=False)), (False, "32"))

    def test_what_would_be_too_late_is_not_set(self):
        self.assertEqual(self.asked(Driver(initialised=True)), (True, None))

    def test_the_programs_own_number_stays(self):
        self.assertEqual(self.asked(Driver(initialised=False), chosen="1"), (False, "1"))
        self.assertEqual(self.asked(Driver(initialised=True), chosen="32"), (False, "32"))

    def test_importing_the_package_asks(self):
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        ran = subprocess.run([sys.executable, "-c", f"import os, penstock; print(os.environ['{VARIABLE}'])"],
                             env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True)
        self.assertEqual(ran.stdout.strip(), "32")

    def test_a_loader_that_may_decode_there_says_what_is_missing(self):
        self.assertIn("used CUDA before it imported penstock; start the program with CUDA_DEVICE_MAX_CONNECTIONS=32", self.said(too_late=True))
        self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS is 1", self.said(chosen="1"))
        self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS is 1", self.said(chosen="1", decode="auto"))
        self.assertIsNone(self.said())

    def test_other_loaders_say_nothing(self):
        for more in ({"decode": "cpu"}, {"decode": "cpu", "device": "cpu"}, {"decode": "auto", "device": "cpu"}):
            self.assertIsNone(self.said(too_late=True, chosen="1", **more))


if __name__ == "__main__":
    unittest.main()
