"""Boots a real systemd as the first process of its own namespaces, with its own cgroups, hostname and processes.

It sees this machine's programs but not its services (/etc, /run, /tmp and /var/lib are private). With another root
file system, it sees only this machine's devices. Needs root."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

OWN_CGROUPS = r"""
set -eu
room=$1
mount --make-rprivate /
while read -r mounted; do mount --bind "$mounted/$2" "$mounted"; done <"$room/cgroups"
"""

BOOT = r"""
sh -eu /mnt/prepare.sh
mkdir -p /run/systemd/system
cat >/run/systemd/system/booted.target <<END
[Unit]
DefaultDependencies=no
END
echo booted >/proc/sys/kernel/hostname
export container=test
exec /lib/systemd/systemd --system --unit=booted.target --log-target=console --show-status=no
"""

# Runs in this machine's own root file system.
INIT_HERE = OWN_CGROUPS + r"""
mount --bind "$room" /mnt
cp -a /etc /mnt/etc && mount --bind /mnt/etc /etc
for folder in /run /tmp /var/tmp /var/lib /usr/local/bin; do mount -t tmpfs -o mode=0755 tmpfs $folder; done
chmod 1777 /tmp /var/tmp
exec sh -c "$3"
"""

# Runs in another machine's root file system, the folder $4.
INIT_THERE = OWN_CGROUPS + r"""
root=$4
mount --bind "$root" "$root"
mount --bind "$room" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
for folder in run tmp; do mount -t tmpfs -o mode=0755 tmpfs "$root/$folder"; done
chmod 1777 "$root/tmp"
cd "$root"
pivot_root . var/tmp
exec chroot . sh -c "umount -l /var/tmp; set -eu; cd /; $3"
"""


class BootedMachine:
    """`prepare` is a shell script that runs before systemd starts. `scratch` is mounted there as /mnt. `root` is
    another machine's root file system, with its own systemd, to use instead of this machine's."""

    @staticmethod
    def lacks():
        """Returns why this machine cannot boot one; "" if it can."""
        if os.geteuid() != 0:
            return "only root can boot a systemd in namespaces of its own"
        if not pathlib.Path("/lib/systemd/systemd").exists():
            return "there is no systemd here to boot (package systemd)"
        tried = subprocess.run(["unshare", "--pid", "--fork", "--mount", "--uts", "--ipc", "--cgroup", "true"],
                               capture_output=True, text=True)
        if tried.returncode:
            return f"namespaces cannot be made here: {tried.stderr.strip()}"
        if not all(os.access(folder, os.W_OK) for folder in BootedMachine.hierarchies()):
            return "cgroups cannot be made here"
        return ""

    @staticmethod
    def hierarchies():
        lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
        return [line.split()[1] for line in lines if line.split()[2] in ("cgroup", "cgroup2")]

    def __init__(self, prepare, root=None):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="penstock-booted-"))
        self.scratch.chmod(0o755)
        self.cgroup = self.scratch.name
        self.process = None
        (self.scratch / "prepare.sh").write_text(prepare)
        self.root = root or "/"
        (self.scratch / "init.sh").write_text(INIT_THERE if root else INIT_HERE)

    def boot(self):
        kept = []
        for folder in self.hierarchies():
            try:
                pathlib.Path(folder, self.cgroup).mkdir()
                kept.append(folder)
            except OSError:
                continue  # this hierarchy accepts no new groups
        (self.scratch / "cgroups").write_text("".join(f"{folder}\n" for folder in kept))

        def enter():
            for folder in kept:
                try:
                    pathlib.Path(folder, self.cgroup, "cgroup.procs").write_text(str(os.getpid()))
                except OSError:
                    pass  # a cpuset without cores: processes stay in their current group

        with open(self.scratch / "console", "wb") as console:
            self.process = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--cgroup",
                 "--mount-proc", "sh", self.scratch / "init.sh", self.scratch, self.cgroup,
                 "set -eu\n" + BOOT, self.root],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, preexec_fn=enter)
        deadline = time.monotonic() + 30
        while self.run("systemctl", "is-active", "booted.target").stdout.strip() != "active":
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("systemd did not come up:\n" + (self.scratch / "console").read_text())
            time.sleep(0.1)

    def init(self):
        """Returns the host's process id of the systemd."""
        task = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        children = pathlib.Path(task).read_text().split()
        return children[0] if children else None

    def run(self, *command, timeout=60):
        """Runs a command inside as root."""
        init = self.init()
        if init is None:
            return subprocess.CompletedProcess(command, 1, "", "not up yet")
        return subprocess.run(["nsenter", "--target", init, "--all", "--", *map(str, command)], text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def close(self):
        if self.process is not None:
            self.process.kill()  # also kills every process inside
            self.process.wait()
        deadline = time.monotonic() + 10
        while not self.forget_cgroups() and time.monotonic() < deadline:
            time.sleep(0.1)
        shutil.rmtree(self.scratch)

    def forget_cgroups(self):
        for folder in self.hierarchies():
            for below, _, _ in os.walk(pathlib.Path(folder, self.cgroup), topdown=False):
                try:
                    os.rmdir(below)
                except OSError:
                    return False  # a process inside has not ended yet
        return True
