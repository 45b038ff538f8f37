"""Tests that loops outlast a daemon that dies and returns: while they open, between epochs, and before a slow batch."""
import os
import subprocess
import sys
import tempfile
import threading
import time

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from loader_fixture import LoaderFixture, ids  # noqa: E402


class Loop(threading.Thread):
    """Reads an epoch of a loader in a thread of its own."""

    def __init__(self, loader):
        super().__init__()
        self._loader, self._ids, self._error = loader, None, None
        self.start()

    def run(self):
        try:
            self._ids = ids(self._loader)
        except Exception as error:
            self._error = error

    def read(self):
        self.join(60)
        if self._error is not None:
            raise self._error
        return self._ids


class RestartTest(LoaderFixture):
    def setUp(self):
        self.assertIsNone(self.daemon.process.poll())

    def restart(self, away=0.0):
        self.daemon.kill()
        time.sleep(away)
        self.daemon.start()

    def restart_meanwhile(self, away):
        """Kills the daemon now, and starts it after `away` seconds."""
        self.daemon.kill()
        starter = threading.Timer(away, self.daemon.start)
        starter.start()
        self.addCleanup(starter.join)
        return starter

    # While a loader opens

    def test_a_daemon_that_dies_while_it_welcomes_a_loader_is_waited_for(self):
        self.daemon.freeze()
        loop = Loop(self.loader(batch_size=10))
        time.sleep(2)  # the loader waits for the welcome, also on a busy machine
        self.restart(away=0.5)

        self.assertEqual(loop.read(), list(range(100)))

    def test_a_daemon_that_dies_during_the_first_opening_is_waited_for(self):
        loader = self.loader(batch_size=10)
        self.assertEqual(len(loader), 10)  # connects
        self.daemon.freeze()
        loop = Loop(loader)
        time.sleep(2)  # the loader waits for its session
        self.restart(away=0.5)

        self.assertEqual(loop.read(), list(range(100)))

    def test_a_daemon_that_was_never_there_is_not_waited_for(self):
        self.daemon.kill()
        begun = time.monotonic()
        with self.assertRaisesRegex(penstock.NotFound, "no daemon at .*start penstockd"):
            next(iter(self.loader(batch_size=10)))
        self.assertLess(time.monotonic() - begun, 10)
        self.daemon.start()

    def test_a_daemon_that_is_not_there_yet_is_waited_for_when_asked(self):
        self.daemon.kill()
        starter = threading.Timer(1.0, self.daemon.start)
        starter.start()
        self.addCleanup(starter.join)

        self.assertEqual(ids(self.loader(batch_size=10, connect_timeout=60)), list(range(100)))

    def test_a_wait_for_a_daemon_that_does_not_come_ends(self):
        self.daemon.kill()
        begun = time.monotonic()
        with self.assertRaisesRegex(penstock.NotFound, "no daemon at .* yet"):
            next(iter(self.loader(batch_size=10, connect_timeout=0.7)))
        self.assertGreaterEqual(time.monotonic() - begun, 0.7)
        self.daemon.start()

    def test_where_no_program_is_as_in_a_container_the_daemon_is_what_is_missing(self):
        if os.path.exists("/run/penstock/penstock.sock"):
            self.skipTest("this machine has a daemon")
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, PENSTOCK_DAEMON="/none/penstockd", XDG_RUNTIME_DIR=folder)
            environment.pop("PENSTOCK_ADDRESS", None)
            ran = subprocess.run([sys.executable, "-c", "import penstock; next(iter(penstock.Loader('photographs')))"],
                                 env=environment, text=True, capture_output=True, timeout=60)

        self.assertRegex(ran.stderr, "NotFound: no daemon at /run/penstock/penstock.sock yet, and a private one cannot be "
                                     "started: .*/none/penstockd.*connect_timeout")

    def test_what_the_daemon_refuses_is_not_tried_again(self):
        loader = self.loader(batch_size=10, sampler=[1])
        list(loader)
        loader.sampler[0] = 100
        begun = time.monotonic()
        with self.assertRaisesRegex(ValueError, "100"):
            list(loader)
        with self.assertRaises(penstock.NotFound):
            list(self.loader(dataset="/nowhere/at/all"))
        self.assertLess(time.monotonic() - begun, 10)

    # Between epochs

    def test_with_a_sampler_the_next_epoch_begins_when_the_daemon_is_back(self):
        for name, sampler in (("own", list(range(99, -1, -1))), ("weighted", penstock.WeightedSampler([1] * 100, 100))):
            with self.subTest(sampler=name):
                undisturbed = self.loader(batch_size=10, sampler=sampler)
                expected = [ids(undisturbed) for _ in range(2)]
                loader = self.loader(batch_size=10, sampler=sampler)
                first = ids(loader)
                starter = self.restart_meanwhile(away=1.0)

                self.assertEqual([first, ids(loader)], expected)
                starter.join()

    def test_a_loader_that_was_closed_opens_again_when_the_daemon_is_back(self):
        loader = self.loader(batch_size=10)
        list(loader)
        loader.close()
        starter = self.restart_meanwhile(away=1.0)

        self.assertEqual(ids(loader), list(range(100)))
        starter.join()

    def test_a_daemon_that_stays_away_is_waited_for_as_long_as_reconnect_says(self):
        loader = self.loader(batch_size=10, sampler=list(range(100)), reconnect=1)
        list(loader)
        self.daemon.kill()
        begun = time.monotonic()
        with self.assertRaises(ConnectionError):
            list(loader)
        waited = time.monotonic() - begun
        self.daemon.start()

        self.assertGreater(waited, 1)
        self.assertLess(waited, 10)

    # Before a slow batch

    def test_without_a_timeout_a_batch_may_take_long_after_a_restart(self):
        loader = self.loader(batch_size=6000, sampler=[n % 100 for n in range(12000)], prefetch_factor=1)
        iterator = iter(loader)
        next(iterator)
        self.restart()
        begun = time.monotonic()

        batch = next(iterator)

        print(f"the batch after the restart took {time.monotonic() - begun:.1f} s")
        self.assertEqual(len(batch.sample_ids), 6000)


if __name__ == "__main__":
    support.main()
