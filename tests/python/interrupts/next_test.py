"""Interrupts, errors and states while a loader hands out a batch: no sample is lost or comes twice."""
import itertools
import pathlib
import signal
import sys
import threading
import unittest
from unittest import mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import support  # noqa: E402

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402
from loader_fixture import LoaderFixture, ids  # noqa: E402
from penstock._place import Place  # noqa: E402


def interrupt(error=KeyboardInterrupt):
    raise error


class NextTest(LoaderFixture):
    def test_a_batch_that_an_interrupt_keeps_from_the_loop_comes_again(self):
        """By the same iterator, and from a state, wherever the interrupt comes behind the taking."""
        for method in ("_give", "_taken"):
            for at, resumes in itertools.product((0, 2, 3), (False, True)):
                loader = self.loader(batch_size=32, shuffle=True)
                with self.subTest(method=method, at=at, resumes=resumes):
                    iterator = iter(loader)
                    given = list(itertools.islice(iterator, at))
                    before = loader.state_dict() if at else None
                    whole = getattr(loader, method)
                    with mock.patch.object(loader, method, lambda *batch, whole=whole: (whole(*batch), interrupt())):
                        self.assertRaises(KeyboardInterrupt, next, iterator)
                    state = loader.state_dict()
                    self.assertEqual((state["epoch"], state["consumed"]), (0, 32 * at))
                    if at:
                        self.assertEqual(state, before)
                    if resumes:
                        loader.close()
                        iterator = loader = self.loader(batch_size=32, shuffle=True)
                        loader.load_state_dict(state)
                    given.extend(iterator)
                    self.assertEqual(sorted(ids(given)), list(range(100)))
                    self.assertEqual(loader.epoch, 1)
                    self.assertEqual(sorted(ids(loader)), list(range(100)))

    def test_a_signal_handler_may_close_the_loader_whatever_it_does(self):
        for method in ("_connected", "_begin", "_open", "_options", "_taken"):
            for behind in (False, True):
                with self.subTest(method=method, behind=behind):
                    loader = self.loader(batch_size=32, shuffle=True)
                    whole = getattr(loader, method)

                    def closing(*arguments, whole=whole, loader=loader, behind=behind):
                        if not behind:
                            loader.close()
                        result = whole(*arguments)
                        if behind:
                            loader.close()
                        return result

                    iterator = iter(loader)
                    with mock.patch.object(loader, method, closing):
                        try:
                            next(iterator)
                        except penstock.Error as error:
                            self.assertIn("the loader was closed", str(error))
                    self.assertRaisesRegex(penstock.Error, "the loader was closed", next, iterator)
                    self.assertEqual(sorted(ids(loader))[-1], 99)
                    self.assertEqual(sorted(ids(loader)), list(range(100)))

    def test_a_state_does_not_count_a_batch_that_is_on_its_way(self):
        """As a signal handler sees it, or another thread."""
        loader, states = self.loader(batch_size=40, shuffle=True), []
        give = loader._give

        def observed(batch):
            states.append(loader.state_dict())
            return give(batch)

        with mock.patch.object(loader, "_give", observed):
            for _ in loader:
                self.assertEqual(states[-1]["consumed"], 40 * (len(states) - 1))
                after = loader.state_dict()
                self.assertEqual((after["epoch"], after["consumed"]), ((0, 40 * len(states)) if len(states) < 3 else (1, 0)))

    def test_an_interrupt_at_the_first_batch_of_a_state_goes_back_to_it(self):
        loader = self.loader(batch_size=40, shuffle=True)
        first = next(iter(loader))
        state = loader.state_dict()
        loader.load_state_dict(state)
        with mock.patch.object(loader, "_give", lambda batch: interrupt()):
            self.assertRaises(KeyboardInterrupt, next, iter(loader))
        self.assertEqual(loader.state_dict(), state)
        self.assertEqual(sorted(ids([first, *loader])), list(range(100)))

    def test_after_an_error_behind_the_taking_the_batch_comes_again_unless_collate_fn_refused_it(self):
        for method, given in (("_taken", range(100)), ("_give", [*range(32), *range(64, 100)])):
            loader = self.loader(batch_size=32)
            iterator = iter(loader)
            batches, whole = [next(iterator)], getattr(loader, method)
            with mock.patch.object(loader, method, lambda *batch, whole=whole: (whole(*batch), interrupt(TimeoutError))):
                self.assertRaises(TimeoutError, next, iterator)
            self.assertEqual(ids([*batches, *iterator]), list(given))

    def test_an_iterator_that_is_interrupted_at_its_end_has_ended(self):
        loader = self.loader(batch_size=32)
        iterator = iter(loader)
        self.assertEqual(len([next(iterator) for _ in range(4)]), 4)
        with mock.patch.object(loader, "_end_epoch", interrupt):
            self.assertRaises(KeyboardInterrupt, next, iterator)
        self.assertEqual(list(iterator), [])
        self.assertEqual(ids(loader), list(range(100)))

    def test_where_a_handler_moves_the_loader_to_it_stays(self):
        """Even if the handler raises."""
        for method in ("_taken", "_give"):
            loader = self.loader(batch_size=32, shuffle=True)
            iterator = iter(loader)
            next(iterator)
            state, whole = loader.state_dict(), getattr(loader, method)
            for move, place in ((lambda: loader.load_state_dict(state), (0, 32)), (lambda: loader.set_epoch(7), (7, 0))):  # noqa: B023
                next(iterator)
                with mock.patch.object(loader, method, lambda *batch, whole=whole, move=move: (whole(*batch), move(), interrupt())):
                    self.assertRaises(KeyboardInterrupt, next, iterator)
                self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["consumed"]), place)

    def test_a_state_that_another_thread_begins_before_a_batch_is_taken_does_not_count_it(self):
        loader = self.loader(batch_size=32)
        iterator = iter(loader)
        next(iterator)
        states, at = [], Place.at.fget

        def waits_once(place):
            if threading.current_thread() is thread and not begun.is_set():
                begun.set()
                taken.wait()
            return at(place)

        def gives_later(batch):
            taken.set()
            thread.join()
            return batch

        begun, taken = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: states.append(loader.state_dict()))
        with mock.patch.object(Place, "at", property(waits_once)), mock.patch.object(loader, "_give", gives_later):
            thread.start()
            begun.wait()
            next(iterator)
        self.assertEqual(states[0]["consumed"], 32)

    def test_a_thread_that_is_refused_changes_nothing(self):
        loader = self.loader(batch_size=50)
        iterator, states = iter(loader), []

        def refused(batch):
            thread = threading.Thread(target=lambda: self.assertRaises(penstock.Error, next, iterator))
            thread.start()
            thread.join()
            states.append(loader.state_dict()["consumed"])
            raise KeyboardInterrupt

        taken = loader._taken
        with mock.patch.object(loader, "_taken", lambda: refused(taken())):
            self.assertRaises(KeyboardInterrupt, next, iterator)
        self.assertEqual(states, [0])
        self.assertEqual(ids(iterator), list(range(100)))

    def test_an_interrupt_as_late_as_any_loses_nothing(self):
        """As CPython 3.10 and older may raise it: after all is done, and before the batch is returned."""
        loader = self.loader(batch_size=32, shuffle=True)
        iterator = iter(loader)
        given, whole, errors = [next(iterator)], penstock._turn.end_taking, [KeyboardInterrupt]

        def ended(*arguments):
            whole(*arguments)
            if errors:
                raise errors.pop()

        with mock.patch.object(penstock._turn, "end_taking", ended):
            self.assertRaises(KeyboardInterrupt, next, iterator)
        self.assertEqual(loader.state_dict()["consumed"], 32)
        given.extend(iterator)
        self.assertEqual(sorted(ids(given)), list(range(100)))

    def test_a_state_that_a_handler_loads_while_a_session_opens_is_where_it_goes_on(self):
        loader = self.loader(batch_size=32, shuffle=True)
        whole = list(loader)
        loader.set_epoch(0)
        iterator = iter(loader)
        next(iterator)
        state, options, states = loader.state_dict(), loader._options, []

        def moved(*arguments):
            if not states:
                states.append(state)
                loader.load_state_dict(state)
            return options(*arguments)

        loader.set_epoch(0)
        with mock.patch.object(loader, "_options", moved):
            given = list(loader)
        self.assertEqual(ids(given), ids(whole[1:]))

    def test_a_signal_ends_the_wait_for_a_daemons_answer(self):
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        loader = self.loader(batch_size=40)
        next(iter(loader))
        self.daemon.freeze()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            self.assertRaises(KeyboardInterrupt, loader.stats)
        finally:
            self.daemon.thaw()
        self.assertTrue(loader.stats()["daemon_answered"])

    def test_real_signals_lose_nothing(self):
        """At moments that are spread over the time in which batches are handed out. Of a signal between two bytecodes of the loop
        itself nothing is lost either: it only appends."""
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        interrupted = 0
        for i in range(60):
            loader, given = self.loader(batch_size=4, shuffle=True), []
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0004 * i)
                for batch in loader:
                    given.append(batch)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
                state = loader.state_dict()
                loader.close()
                loader = self.loader(batch_size=4, shuffle=True)
                loader.load_state_dict(state)
                given.extend(loader if state["epoch"] == 0 else [])
            with self.subTest(i=i):
                self.assertEqual(sorted(ids(given)), list(range(100)))
            loader.close()
        self.assertGreater(interrupted, 5)


class PythonDatasetTest(unittest.TestCase):
    """Sources of a Python dataset don't go backwards: what an interrupt keeps from the loop is lost, as with torch's loader."""

    def test_an_iterator_that_is_interrupted_at_its_end_has_ended(self):
        loader = penstock.torch.DataLoader(torch.utils.data.TensorDataset(torch.arange(8)), batch_size=4)
        iterator = iter(loader)
        next(iterator)
        with mock.patch.object(loader, "_give", lambda batch: interrupt()):
            self.assertRaises(KeyboardInterrupt, next, iterator)
        self.assertEqual(list(iterator), [])
        self.assertEqual([int(i) for batch in loader for i in batch[0]], list(range(8)))


if __name__ == "__main__":
    support.main()
