"""Tests that a loader that decodes on the GPU asks CUDA for connections while that has an effect, and else says what is missing."""
import os
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402,F401  (finds the package)

import penstock  # noqa: E402
from penstock._gpu_decoding import connections  # noqa: E402

VARIABLE = "CUDA_DEVICE_MAX_CONNECTIONS"


class Driver:
    """libcuda, initialised or not, with contexts on some of its devices."""

    def __init__(self, initialised=True, contexts=()):
        self.initialised, self.contexts = initialised, contexts

    def cuDeviceGetCount(self, count):
        if not self.initialised:
            return 3
        count._obj.value = len(self.contexts)
        return 0

    def cuDevicePrimaryCtxGetState(self, device, flags, active):
        active._obj.value = self.contexts[device]
        return 0


class ConnectionsTest(unittest.TestCase):
    def asked(self, driver=None, chosen=None):
        """The number in the environment afterwards, and what was said."""
        loaded = {"side_effect": OSError("not loaded")} if driver is None else {"return_value": driver}
        with mock.patch.dict(os.environ), mock.patch.object(connections.ctypes, "CDLL", **loaded), \
                mock.patch.object(connections, "say_once") as said:
            os.environ.pop(VARIABLE, None)
            if chosen is not None:
                os.environ[VARIABLE] = chosen
            connections.ask_for_connections()
            return os.environ.get(VARIABLE), said.call_args.args[0] if said.called else None

    def test_there_are_as_many_as_can_be_where_cuda_is_not_used_yet(self):
        for driver in (None, Driver(initialised=False), Driver(contexts=()), Driver(contexts=(0, 0))):
            self.assertEqual(self.asked(driver), ("32", None))

    def test_what_comes_too_late_is_not_set_but_said(self):
        number, said = self.asked(Driver(contexts=(0, 1)))
        self.assertIsNone(number)
        self.assertIn("used CUDA before it made the loader", said)
        self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS=32", said)

    def test_the_programs_own_number_stays(self):
        self.assertEqual(self.asked(chosen="32"), ("32", None))
        number, said = self.asked(chosen="1")
        self.assertEqual(number, "1")
        self.assertIn("CUDA_DEVICE_MAX_CONNECTIONS is 1", said)

    def test_only_a_loader_that_may_decode_there_asks(self):
        import penstock.loader
        from penstock import _base
        crop = [penstock.RandomResizedCrop(32)]
        with mock.patch.object(_base, "ask_for_connections") as asked:
            for more in ({}, {"device": "cpu"}, {"decode": "auto", "device": "cpu"}):
                penstock.Loader("photographs", transform=crop, **more)
            self.assertFalse(asked.called)
            penstock.Loader("photographs", transform=crop, device="cuda", decode="gpu", gpu_share=0.5)
            self.assertTrue(asked.called)


if __name__ == "__main__":
    unittest.main()
