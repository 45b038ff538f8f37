"""A process sealed in as a container's is: namespaces of its own (processes, IPC, mounts, network, host
name), /tmp, /run and /dev/shm of its own, a root file system that cannot be written, a user without
privileges. It shares with others what `shared` maps into it, and nothing else. Only root can make one."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

# On top of this machine's own programs, or in the root file system of an image.
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
    """What this machine lacks to make one; nothing, if it lacks nothing."""
    if os.geteuid() != 0:
        return "only root can make namespaces of all kinds"
    tried = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--uts", "--ipc", "--net", "true"],
                           capture_output=True, text=True)
    return f"namespaces cannot be made here: {tried.stderr.strip()}" if tried.returncode else ""


class Node:
    """A folder that is the node's disk; its sealed processes see of it what they are given."""

    def __init__(self):
        if missing := lacks():
            raise unittest.SkipTest(missing)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="penstock-node-", dir="/var/tmp"))
        self.scratch.chmod(0o755)
        self.processes = []

    def seal(self, command, user, group, shared, root="/"):
        """Begins `command` sealed in. `shared`: a folder or file of the room → (where it is in there, "ro" or
        "rw"); below /run, where the root file system is this machine's own."""
        table = "\n".join(f"{name} {inside} {how}" for name, (inside, how) in shared.items())
        process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--net", "sh", "-c", SEAL,
             "sh", self.scratch, root, str(user), str(group), table, *map(str, command)],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    @staticmethod
    def inside(process):
        """The process id, as seen from here, of what was sealed in, once it is no longer root."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline:
            for child in children.read_text().split():
                if "\nUid:\t0\t" not in pathlib.Path(f"/proc/{child}/status").read_text():
                    return child
            time.sleep(0.02)
        raise RuntimeError(f"nothing was sealed in: {process.args}")

    def beside(self, process, user, group, *command):
        """Runs `command` in the namespaces and the root file system of what was sealed in."""
        return subprocess.run(["nsenter", "--target", self.inside(process), "--mount", "--pid", "--ipc", "--net",
                               "--uts", "--root", "--wd=/", "setpriv", f"--reuid={user}", f"--regid={group}",
                               "--clear-groups", "--no-new-privs", "--", *command],
                              text=True, capture_output=True, timeout=30)

    def close(self):
        for process in self.processes:
            process.kill()  # and with it all that is in there
            process.communicate()
        shutil.rmtree(self.scratch)
