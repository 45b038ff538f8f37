"""Tests private daemons: started once, shared, outliving who started them, one for each view of the files."""
import os
import pty
import signal
import subprocess
import sys
import textwrap
import unittest

import support

support.need("torch")

PRELUDE = """
import os, sys
import penstock, penstock.torch
def loader():
    return penstock.torch.DataLoader(sys.argv[1], batch_size=10, shuffle=True, transform=[penstock.RandomResizedCrop(32)])
def ids(batches):
    return [int(sample) for batch in batches for sample in batch.sample_ids[:batch.valid_rows]]
"""

COUNT = PRELUDE + "print(len(ids(loader())), flush=True)"


class PrivateDaemonTest(support.FeedTest):
    def script(self, text, **keywords):
        return support.script(PRELUDE + textwrap.dedent(text), self.photographs, **keywords)

    def test_where_no_daemon_answers_one_is_started_and_shared(self):
        runtime = os.path.join(self.folder, "runtime")
        os.mkdir(runtime, 0o700)
        environ = {**os.environ, "XDG_RUNTIME_DIR": runtime, "PENSTOCK_DAEMON": support.program("penstockd")}
        del environ["PENSTOCK_ADDRESS"]

        said = self.script("""
            import contextlib, io, subprocess
            with contextlib.redirect_stderr(io.StringIO()) as words:
                first, second = loader(), loader()
                assert ids(first) == ids(second)
            import signal
            pid = int(subprocess.run(["pgrep", "-f", os.environ["XDG_RUNTIME_DIR"]], stdout=subprocess.PIPE,
                                     text=True).stdout.split()[0])
            os.kill(pid, signal.SIGTERM)
            print(words.getvalue())
            """, env=environ)

        self.assertEqual(said.count("private daemon"), 1, said)

    def test_a_private_daemon_outlives_the_terminal_of_the_trainer_that_started_it(self):
        runtime = os.path.join(self.folder, "runtime-of-a-terminal")
        os.mkdir(runtime, 0o700)
        environ = {**os.environ, "XDG_RUNTIME_DIR": runtime, "PENSTOCK_DAEMON": support.program("penstockd")}
        del environ["PENSTOCK_ADDRESS"]
        self.addCleanup(subprocess.run, ["pkill", "-f", runtime])
        trainer, terminal = pty.fork()
        if trainer == 0:
            os.execve(sys.executable, [sys.executable, "-c", COUNT + "\nimport time; time.sleep(600)", self.photographs], environ)
        said = b""
        while b"100" not in said.splitlines():
            said += os.read(terminal, 4096)
        daemon = self.daemons_of(runtime)

        os.close(terminal)

        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(trainer, 0)[1]), -signal.SIGHUP)
        second = subprocess.run([sys.executable, "-c", COUNT, self.photographs], text=True, env=environ,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(second.stdout, "100\n", second.stderr)
        self.assertEqual(self.daemons_of(runtime), daemon)
        self.assertEqual(len(daemon), 1)

    def daemons_of(self, runtime):
        """The PIDs of penstockd processes that use the folder."""
        found = subprocess.run(["pgrep", "-f", f"penstockd .*{runtime}"], stdout=subprocess.PIPE, text=True)
        return found.stdout.split()

    @unittest.skipUnless(os.geteuid() == 0, "mounting wants root")
    def test_who_sees_other_files_at_a_path_is_not_given_the_first_ones(self):
        runtime = os.path.join(self.folder, "runtime-of-two-namespaces")
        os.mkdir(runtime, 0o700)
        other = os.path.join(self.folder, "other-photographs")
        subprocess.run([support.program("penstock-make-photographs"), other, "--images", "30", "--classes", "3"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        environ = {**os.environ, "XDG_RUNTIME_DIR": runtime, "PENSTOCK_DAEMON": support.program("penstockd")}
        del environ["PENSTOCK_ADDRESS"]
        count = COUNT
        first = subprocess.Popen([sys.executable, "-c", count + "\nsys.stdin.read()", self.photographs], text=True,
                                 env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(subprocess.run, ["pkill", "-f", runtime])
        self.addCleanup(first.communicate, timeout=60)
        self.assertEqual(first.stdout.readline().strip(), "100")

        mounted = f'mount --bind "{other}" "{self.photographs}" && exec "$0" "$@"'
        second = subprocess.run(["unshare", "--mount", "sh", "-c", mounted, sys.executable, "-c", count,
                                 self.photographs], text=True, env=environ, stdout=subprocess.PIPE, timeout=120)

        self.assertEqual(second.stdout.strip(), "30")


if __name__ == "__main__":
    support.main()
