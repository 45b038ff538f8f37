"""Tests processes: forked, spawned, interrupted and ended ones, and ranks under torchrun."""
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap

import support

torch = support.need("torch")

import penstock  # noqa: E402
import penstock.torch  # noqa: E402

CROP = [penstock.RandomResizedCrop(32)]

PRELUDE = """
import os, sys, time
import penstock, penstock.torch
def loader(**keywords):
    keywords.setdefault("transform", [penstock.RandomResizedCrop(32)])
    return penstock.torch.DataLoader(sys.argv[1], **{"batch_size": 10, "shuffle": True, **keywords})
def ids(batches):
    return [int(sample) for batch in batches for sample in batch.sample_ids[:batch.valid_rows]]
def forked(work):
    child = os.fork()
    if child:
        return child
    try:
        work()
    except Exception as error:
        print(error, file=sys.stderr)
        os._exit(1)
    sys.exit(0)
def ended(child):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hung"
def assert_refused(work):
    def child():
        try:
            work()
        except penstock.FailedPrecondition as error:
            print(error, flush=True)
            assert "fork" in str(error), error
            return
        raise AssertionError("was not refused")
    status = ended(forked(child))
    assert status == 0, status
"""


def take_one(loader):
    return next(iter(loader)).sample_ids.tolist()


class ProcessTest(support.FeedTest):
    def loader(self, **keywords):
        loader = penstock.torch.DataLoader(self.photographs, **{"batch_size": 10, "transform": CROP, **keywords})
        self.addCleanup(loader.close)
        return loader

    def script(self, text, **keywords):
        return support.script(PRELUDE + textwrap.dedent(text), self.photographs, **keywords)

    # Forked and spawned processes

    def test_a_forked_child_is_told_so(self):
        loader = self.loader()
        iterator = iter(loader)
        next(iterator)

        def child(pipe):
            try:
                next(iterator)
                pipe.send("a batch")
            except penstock.FailedPrecondition as error:
                pipe.send(str(error))

        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
        process.start()
        words = ours.recv()
        process.join()

        self.assertIn("fork", words)
        self.assertEqual(process.exitcode, 0)
        self.assertEqual(next(iterator).position.first, 10)  # the parent continues

    def test_a_torch_worker_process_is_told_so(self):
        loader = self.loader()
        next(iter(loader))

        class Wrapped(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(loader)

        with self.assertRaisesRegex(Exception, "fork"):
            list(torch.utils.data.DataLoader(Wrapped(), batch_size=None, num_workers=1))

    def test_a_loader_made_in_a_forked_child_is_refused_and_the_parent_goes_on(self):
        said = self.script("""
            l = loader()
            it = iter(l)
            next(it)
            for turn in range(4):
                for use in (len, lambda l: next(iter(l)), lambda l: l.dataset):
                    assert_refused(lambda: use(loader()))
                    next(it)
                assert len(ids(l)) == 100
                if turn == 2:
                    l.close()
                    l = loader()
                it = iter(l)
                next(it)
            """)

        self.assertIn("spawn or forkserver", said)

    def test_a_child_forked_before_the_first_loader_connects(self):
        self.script("""
            def child():
                assert len(ids(loader())) == 100
                assert_refused(lambda: len(loader()))  # its own child
            assert ended(forked(child)) == 0
            assert len(ids(loader())) == 100
            """)

    def test_a_forked_child_does_not_wait_for_its_parents_threads(self):
        """At the fork another thread of the parent has the session's lock. In the child nobody would release it."""
        text = PRELUDE + textwrap.dedent("""
            import threading
            l = loader()
            it = iter(l)
            next(it)
            print("waiting", flush=True)
            sys.stdin.readline()
            threading.Thread(target=list, args=(it,), daemon=True).start()
            time.sleep(0.5)
            for turn in range(5):
                assert_refused(lambda: next(it))
                for use in (l.close, l.stats, l.state_dict):
                    assert ended(forked(use)) in (0, 1)  # done or refused
                time.sleep(0.02)
            print("answered", flush=True)
            os._exit(0)
            """)
        process = subprocess.Popen([sys.executable, "-c", text, self.photographs], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "waiting\n")
        self.addCleanup(self.daemon.thaw)
        self.daemon.freeze()  # so that the thread waits
        process.stdin.write("\n")
        process.stdin.flush()

        lines = process.stdout.read()

        self.assertIn("answered", lines)

    def test_children_that_use_nothing_of_penstock_may_come_and_go(self):
        self.script("""
            import gc, torch
            l = loader()
            batches = iter(l)
            batch = next(batches)
            def collect():
                global l, batches, batch
                l = batches = batch = None
                gc.collect()
            for turn in range(5):
                children = [forked(collect), forked(lambda: sys.exit(0)), forked(lambda: os._exit(0))]
                other = torch.utils.data.DataLoader(torch.arange(8), batch_size=2, num_workers=2,
                                                    multiprocessing_context="fork")
                for theirs in other:
                    batch = next(batches)
                assert [ended(child) for child in children] == [0, 0, 0]
                l.close()
                l = loader()
                batches = iter(l)
                next(batches)
            assert len(ids(l)) == 100
            """)

    def test_a_spawned_child_has_a_connection_of_its_own(self):
        loader = self.loader()
        next(iter(loader))

        with multiprocessing.get_context("spawn").Pool(1) as pool:
            got = pool.apply(take_one, (loader,))

        self.assertEqual(got, list(range(10, 20)))  # continues at the pickled position

    # Interrupts and exits

    def test_ctrl_c_ends_a_wait(self):
        text = PRELUDE + textwrap.dedent("""
            l = loader()
            it = iter(l)
            next(it)
            print("waiting", flush=True)
            try:
                while True:
                    for batch in l:
                        pass
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """)
        process = subprocess.Popen([sys.executable, "-c", text, self.photographs], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "waiting\n")
        self.addCleanup(self.daemon.thaw)
        self.daemon.freeze()  # so that the trainer waits
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            pass

        process.send_signal(signal.SIGINT)

        self.assertEqual(process.stdout.readline(), "interrupted\n")
        self.daemon.thaw()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=10), 0)

    def test_an_interpreter_ends_with_everything_open(self):
        for last in ("it = iter(l); b = next(it)", "raise SystemExit(0)", "import threading; keep = list(l)"):
            with self.subTest(last=last):
                self.script(f"""
                    l = loader()
                    it = iter(l)
                    b = next(it)
                    {last}
                    """)

        self.assertEqual(self.sessions(), 0)

    def test_an_interpreter_ends_while_a_thread_iterates(self):
        for wait in (0.3, 0.31, 0.32, 0.33):
            with self.subTest(wait=wait):
                self.script(f"""
                    import threading, penstock
                    def iterate():
                        l = penstock.Loader(sys.argv[1], batch_size=2, transform=[penstock.RandomResizedCrop(32)])
                        while True:
                            for batch in l:
                                pass
                    for thread in range(3):
                        threading.Thread(target=iterate, daemon=True).start()
                    time.sleep({wait})
                    """)

        self.assertEqual(self.sessions(), 0)

    def test_an_interpreter_ends_while_a_thread_waits(self):
        text = PRELUDE + textwrap.dedent("""
            import threading
            l = loader()
            next(iter(l))
            def wait():
                while True:
                    for batch in l:
                        pass
            print("waiting", flush=True)
            sys.stdin.readline()
            threading.Thread(target=wait, daemon=True).start()
            time.sleep(0.5)
            sys.exit(7)
            """)
        process = subprocess.Popen([sys.executable, "-c", text, self.photographs], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "waiting\n")
        self.addCleanup(self.daemon.thaw)
        self.daemon.freeze()
        process.stdin.write("\n")
        process.stdin.flush()

        said = process.stderr.read()

        self.assertEqual((process.wait(timeout=20), said), (7, ""))

    def test_an_exception_ends_a_program_as_it_should(self):
        with self.assertRaisesRegex(AssertionError, "ZeroDivisionError"):
            self.script("""
                for batch in loader():
                    1 / 0
                """)

        self.assertEqual(self.sessions(), 0)

    def sessions(self):
        """Waits until no sessions are open, because the daemon notices an ended process late; returns their
        number."""
        def count():
            listing = subprocess.run([support.program("penstockctl"), "--address", self.daemon.address, "-o", "json",
                                      "sessions"], check=True, stdout=subprocess.PIPE, text=True).stdout
            return listing.count('"session_id"') + listing.count('"sessionId"') + listing.count('"id":')
        support.wait_until(lambda: count() == 0, "no open sessions", seconds=10)
        return count()

    def test_threads_with_loaders_of_their_own_do_not_meet(self):
        self.script("""
            import threading
            results = [None] * 4
            def run(i): results[i] = ids(loader(seed=1))
            threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
            [t.start() for t in threads]; [t.join() for t in threads]
            assert all(result == results[0] and len(result) == 100 for result in results), results
            """)

    # Ranks

    def test_ranks_of_a_process_group_are_found_and_share_the_epoch(self):
        if not torch.distributed.is_available():
            support.skip("this torch has no distributed")
        text = PRELUDE + textwrap.dedent("""
            import torch.distributed
            before = repr(loader())
            assert "(torchrun)" in before, before
            torch.distributed.init_process_group("gloo")
            l = loader(last_batch="drop")
            assert "(torch.distributed)" in repr(l), repr(l)
            count = sum(1 for batch in l)
            mine = ids(l)
            out = [None, None]
            torch.distributed.all_gather_object(out, (count, len(l), mine))
            (a, la, x), (b, lb, y) = out
            assert a == b == la == lb == 5, out
            assert len(set(x + y)) == 100, out
            torch.distributed.destroy_process_group()
            """)
        # The variables that torchrun sets. Debian 12's torchrun cannot start processes with its Python.
        shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "WORLD_SIZE": "2",
                  "LOCAL_WORLD_SIZE": "2"}
        ranks = [subprocess.Popen([sys.executable, "-c", text, self.photographs], stderr=subprocess.PIPE, text=True,
                                  env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(2)]
        said = [rank.communicate(timeout=100)[1] for rank in ranks]

        self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)


if __name__ == "__main__":
    support.main()
