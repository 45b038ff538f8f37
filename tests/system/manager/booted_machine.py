"""A real systemd as the first process of namespaces of its own, with cgroups, hostname and processes of
its own. It sees this machine's programs and nothing of its services (private /etc, /run, /tmp, /var/lib);
or nothing of this machine but its devices, in the root file system of another. Only root can make one."""
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

# In this machine's own root file system.
INIT_HERE = OWN_CGROUPS + r"""
mount --bind "$room" /mnt
cp -a /etc /mnt/etc && mount --bind /mnt/etc /etc
for folder in /run /tmp /var/tmp /var/lib /usr/local/bin; do mount -t tmpfs -o mode=0755 tmpfs $folder; done
chmod 1777 /tmp /var/tmp
exec sh -c "$3"
"""

# In that of another machine, in a folder: $4.
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
    """`prepare` is a shell script that runs before systemd does; what is in `room` is in /mnt there. `root` is
    another machine's root file system, which has a systemd, rather than this one's."""

    @staticmethod
    def lacks():
        """What this machine lacks to boot one; nothing, if it lacks nothing."""
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
                continue  # one that takes no groups here
        (self.scratch / "cgroups").write_text("".join(f"{folder}\n" for folder in kept))

        def enter():
            for folder in kept:
                try:
                    pathlib.Path(folder, self.cgroup, "cgroup.procs").write_text(str(os.getpid()))
                except OSError:
                    pass  # a cpuset without cores: its processes stay where they are

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
        """The process id, as seen from here, of the systemd."""
        task = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        children = pathlib.Path(task).read_text().split()
        return children[0] if children else None

    def run(self, *command, timeout=60):
        """Runs a command in there as root."""
        init = self.init()
        if init is None:
            return subprocess.CompletedProcess(command, 1, "", "not up yet")
        return subprocess.run(["nsenter", "--target", init, "--all", "--", *map(str, command)], text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def close(self):
        if self.process is not None:
            self.process.kill()  # and with it all that is in there
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
                    return False  # somebody is dying in there
        return True
