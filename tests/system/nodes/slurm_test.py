"""deploy/slurm's scripts, with stand-ins for srun, scontrol and torchrun that record how they are called; and, where
Slurm is installed, with Slurm: slurm_test.py [-v] SOURCE."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import slurm

SOURCE = pathlib.Path(sys.argv.pop()).resolve()
SLURM = SOURCE / "deploy/slurm"

# Runs the command once for each node of the job, as srun does with a task a node.
SRUN = """#!/bin/bash
[[ $1 == --kill-on-bad-exit=1 ]] || exit 9
shift
for node in 0 1 2; do SLURM_NODEID=$node "$@" || exit; done
"""
SCONTROL = """#!/bin/bash
[[ $* == 'show hostnames node[1-3]' ]] || exit 9
printf '%s\\n' node1 node2 node3
"""
TORCHRUN = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["RECORD"], "a") as out:
    print(json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ),
                      "mode": os.stat(os.environ["XDG_RUNTIME_DIR"]).st_mode & 0o777}), file=out)
sys.exit(int(os.environ.get("FAIL", "0")))
"""


class ScriptTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="penstock-slurm-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("torchrun", TORCHRUN)):
            self.program(name, text)
        self.record = self.folder / "record"

    def program(self, name, text):
        (self.folder / "bin").mkdir(exist_ok=True)
        file = self.folder / "bin" / name
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def submit(self, *arguments, **environment):
        """As sbatch: a copy of the script, with the job's variables."""
        copy = self.folder / "slurm_script"
        shutil.copy(SLURM / "penstock.sbatch", copy)
        found = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PENSTOCK", "XDG"))}
        return subprocess.run(["bash", copy, *arguments], text=True, capture_output=True, timeout=60, env={
            **found, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "RECORD": str(self.record),
            "SLURM_SUBMIT_DIR": str(SLURM), "SLURM_JOB_ID": "41234", "SLURM_JOB_NODELIST": "node[1-3]",
            "SLURM_JOB_NUM_NODES": "3", "SLURM_GPUS_ON_NODE": "8", "TMPDIR": str(self.folder), **environment})

    def runs(self):
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def test_each_node_starts_its_ranks_and_all_meet_at_the_first(self):
        done = self.submit("s3://b/train-{000..146}.tar", "--checkpoint", "/shared/x.pt")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = self.runs()
        self.assertEqual(len(runs), 3)
        for run in runs:
            arguments = run["arguments"]
            for wanted in ("--nnodes=3", "--nproc-per-node=8", "--rdzv-id=41234", "--rdzv-backend=c10d",
                           "--rdzv-endpoint=node1:21234"):
                self.assertIn(wanted, arguments)
            script = next(each for each in arguments if not each.startswith("--"))
            self.assertTrue(pathlib.Path(script).samefile(SOURCE / "deploy/nodes/train.py"))
            self.assertEqual(arguments[arguments.index(script) + 1:],
                             ["--data", "s3://b/train-{000..146}.tar", "--checkpoint", "/shared/x.pt"])

    def test_each_node_has_a_daemon_of_its_own_and_a_cache_on_its_disk(self):
        self.submit("s3://b/x.tar", PENSTOCK_ADDRESS="/run/other.sock")
        runs = self.runs()
        folders = {run["environment"]["XDG_RUNTIME_DIR"] for run in runs}
        self.assertEqual(len(folders), 3)
        for run in runs:
            self.assertEqual(run["mode"], 0o700)
            self.assertNotIn("PENSTOCK_ADDRESS", run["environment"])
            self.assertEqual(run["environment"]["PENSTOCK_STORE_CACHE"], f"{self.folder}/penstock-cache-{os.getuid()}")
            self.assertLess(len(run["environment"]["XDG_RUNTIME_DIR"] + "/penstock/penstock.sock"), 100)
        for folder in folders:
            self.assertFalse(os.path.exists(folder), "removed at the end")

    def test_variables_say_what_differs(self):
        self.submit("imagenet", PENSTOCK_RANKS_PER_NODE="2", PENSTOCK_TRAIN="/my/train.py", PENSTOCK_STORE_CACHE="/nvme/c",
                    PENSTOCK_STORE_CACHE_MAX="1TiB", PENSTOCK_RENDEZVOUS_PORT="1234", PENSTOCK_MAX_RESTARTS="7")
        run = self.runs()[0]
        for wanted in ("--nproc-per-node=2", "/my/train.py", "--rdzv-endpoint=node1:1234", "--max-restarts=7"):
            self.assertIn(wanted, run["arguments"])
        self.assertEqual(run["environment"]["PENSTOCK_STORE_CACHE"], "/nvme/c")
        self.assertEqual(run["environment"]["PENSTOCK_STORE_CACHE_MAX"], "1TiB")

    def test_a_node_that_fails_fails_the_job(self):
        self.assertEqual(self.submit("imagenet", FAIL="3").returncode, 3)

    def test_what_is_missing_is_said(self):
        done = self.submit()
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: sbatch", done.stderr)
        done = self.submit("imagenet", SLURM_SUBMIT_DIR=str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("PENSTOCK_SLURM_FOLDER", done.stderr)


class SlurmTest(unittest.TestCase):
    """Slurm's own sbatch, srun and scontrol, with three daemons on this machine that stand for nodes."""

    def test_the_job_runs_on_three_nodes(self):
        with tempfile.TemporaryDirectory(prefix="penstock-slurm-") as folder:
            folder = pathlib.Path(folder)
            try:
                cluster = slurm.Cluster(folder)
            except slurm.Missing as missing:
                self.skipTest(str(missing))
            with cluster:
                (folder / "bin").mkdir()
                torchrun = folder / "bin/torchrun"
                torchrun.write_text(TORCHRUN)
                torchrun.chmod(0o755)
                record = folder / "record"
                done = cluster.run("sbatch", "--wait", f"--output={folder}/job.log", "--nodes=3",
                                   str(SLURM / "penstock.sbatch"), "s3://b/x.tar", "--epochs", "1",
                                   cwd=SLURM, PATH=f"{folder}/bin:{os.environ['PATH']}", RECORD=str(record),
                                   PENSTOCK_RANKS_PER_NODE="2", TMPDIR=str(folder))
                log = folder / "job.log"
                self.assertEqual(done.returncode, 0, done.stderr + (log.read_text() if log.exists() else ""))
                runs = [json.loads(line) for line in record.read_text().splitlines()]
                self.assertEqual({run["environment"]["SLURM_NODEID"] for run in runs}, {"0", "1", "2"})
                self.assertEqual(len({next(each for each in run["arguments"] if "endpoint" in each) for run in runs}), 1)
                for run in runs:
                    self.assertIn("--nnodes=3", run["arguments"])
                    self.assertEqual(run["arguments"][-4:], ["--data", "s3://b/x.tar", "--epochs", "1"])


if __name__ == "__main__":
    unittest.main()
