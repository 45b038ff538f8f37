"""A Slurm cluster on this machine: Slurm's controller, and three slurmd that stand for nodes. Needs root, and Debian's
slurm-wlm and munge, installed or unpacked below $PENSTOCK_SLURM_ROOT."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

NODES = 3
START_S = 30
CONFIG = """
ClusterName=penstock
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
{plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=all Nodes=node[0-{last}] Default=YES State=UP
"""


class Missing(Exception):
    """Why there can be no cluster here."""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Cluster:
    def __init__(self, folder):
        self.folder, self.processes = pathlib.Path(folder), []
        self.root = pathlib.Path(os.environ.get("PENSTOCK_SLURM_ROOT", "/"))
        self.path = ":".join(str(self.root / each) for each in ("usr/sbin", "usr/bin"))
        if os.geteuid() != 0:
            raise Missing("slurmd needs root")
        for name in ("slurmctld", "slurmd", "sbatch", "srun", "munged"):
            if not self.find(name):
                raise Missing(f"there is no {name}: Debian's slurm-wlm and munge are not installed")

    def find(self, name):
        """Debian's packages have slurmd-wlm and so on; links with the plain names come at installation."""
        return shutil.which(name, path=self.path) or shutil.which(f"{name}-wlm", path=self.path)

    def environment(self, **more):
        libraries = ":".join(str(self.root / "usr/lib/x86_64-linux-gnu" / each) for each in ("", "slurm-wlm"))
        own = {} if self.root == pathlib.Path("/") else {"LD_LIBRARY_PATH": libraries}
        environment = {**os.environ, **own, "SLURM_CONF": str(self.folder / "slurm.conf"), **more}
        environment["PATH"] = f"{environment['PATH']}:{self.path}"
        return environment

    def __enter__(self):
        self.folder.chmod(0o755)
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        (self.folder / "state").mkdir()
        plugins = self.root / "usr/lib/x86_64-linux-gnu/slurm-wlm"
        nodes = "\n".join(f"NodeName=node{each} NodeAddr=127.0.0.1 Port={free_port()} CPUs=1 State=UNKNOWN"
                          for each in range(NODES))
        (self.folder / "slurm.conf").write_text(CONFIG.format(
            folder=self.folder, host=socket.gethostname(), controller=free_port(), nodes=nodes, last=NODES - 1,
            plugins=f"PluginDir={plugins}" if plugins.exists() else ""))
        try:
            self.start("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                       f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                       f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
            self.wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self.start("slurmctld", "-D")
            for each in range(NODES):
                self.start("slurmd", "-D", "-N", f"node{each}", "-d", self.find("slurmstepd"))
            self.wait(lambda: self.run("sinfo", "--noheader", "--format=%T %D").stdout.split() == ["idle", str(NODES)],
                      "the nodes")
        except BaseException:
            self.close()
            raise
        return self

    def start(self, program, *arguments):
        log = open(self.folder / f"{program}.out", "ab")
        self.processes.append(subprocess.Popen([self.find(program), *arguments], stdout=log, stderr=log,
                                               stdin=subprocess.DEVNULL, env=self.environment()))
        log.close()

    def wait(self, condition, what):
        deadline = time.monotonic() + START_S
        while not condition():
            if time.monotonic() > deadline:
                said = "".join(each.read_text(errors="replace")[-1500:] for each in sorted(self.folder.glob("*.out")))
                raise AssertionError(f"{what} did not start within {START_S} s: {said}")
            time.sleep(0.2)

    def run(self, program, *arguments, cwd=None, **environment):
        return subprocess.run([self.find(program), *arguments], text=True, capture_output=True, timeout=90,
                              cwd=cwd, env=self.environment(**environment))

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)

    def __exit__(self, *_):
        self.close()
