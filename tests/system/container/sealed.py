"""Runs a process isolated like one in a container. It has its own namespaces (processes, IPC, mounts, network,
host name), its own /tmp, /run and /dev/shm, a read-only root file system, and a user without privileges. It shares
only what `shared` maps into it. Needs root."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

# Runs on top of this machine's own programs, or in the root file system of an image.
SEAL = r"""
set -eu
room=$1 root=$2 user=$3 group=$4 shared=$5
shift 5
mount --make-rprivate /
mount --bind "$room" /mnt
if [ "$root" = / ]; then
  root=
  for folder in /run /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
else
  mount --bind "$root" "$root"
  mount --rbind /dev "$root/dev"
fi
for folder in /tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$root$folder"; done
echo "$shared" | while read -r name inside how; do
  if [ -d "/mnt/$name" ]; then mkdir -p "$root$inside"; fi
  mount --bind "/mnt/$name" "$root$inside"
  mount -o "remount,bind,$how" "$root$inside"
done
mount -t tmpfs -o mode=0755 tmpfs /mnt
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root/"
exec chroot "$root/" setpriv --pdeathsig KILL --reuid="$user" --regid="$group" --clear-groups \
  --bounding-set=-all --inh-caps=-all --no-new-privs -- env -i PATH=/usr/bin:/bin HOME=/tmp "$@"
"""


def lacks():
    """Returns why this machine cannot seal processes; "" if it can."""
    if os.geteuid() != 0:
        return "only root can make namespaces of all kinds"
    tried = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--uts", "--ipc", "--net", "true"],
                           capture_output=True, text=True)
    return f"namespaces cannot be made here: {tried.stderr.strip()}" if tried.returncode else ""


class Node:
    """A folder that serves as the node's disk. Its sealed processes see only the parts that they are given."""

    def __init__(self):
        if missing := lacks():
            raise unittest.SkipTest(missing)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="penstock-node-", dir="/var/tmp"))
        self.scratch.chmod(0o755)
        self.processes = []

    def seal(self, command, user, group, shared, root="/"):
        """Starts `command` in its own namespaces.

        `shared` maps a file or folder in `scratch` to (path inside, "ro" or "rw"). The path must be below /run if
        the root file system is this machine's own."""
        table = "\n".join(f"{name} {inside} {how}" for name, (inside, how) in shared.items())
        process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--net", "sh", "-c", SEAL,
             "sh", self.scratch, root, str(user), str(group), table, *map(str, command)],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    @staticmethod
    def inside(process):
        """Returns the host's process id of the sealed process, once it is no longer root."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline:
            for child in children.read_text().split():
                if "\nUid:\t0\t" not in pathlib.Path(f"/proc/{child}/status").read_text():
                    return child
            time.sleep(0.02)
        raise RuntimeError(f"nothing was sealed in: {process.args}")

    def beside(self, process, user, group, *command):
        """Runs `command` in the namespaces and root file system of a sealed process."""
        return subprocess.run(["nsenter", "--target", self.inside(process), "--mount", "--pid", "--ipc", "--net",
                               "--uts", "--root", "--wd=/", "setpriv", f"--reuid={user}", f"--regid={group}",
                               "--clear-groups", "--no-new-privs", "--", *command],
                              text=True, capture_output=True, timeout=30)

    def close(self):
        for process in self.processes:
            process.kill()  # also kills every process inside
            process.communicate()
        shutil.rmtree(self.scratch)
