"""Makes a minimal Debian 12 in a temporary folder, for tests that install packages into it."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SUPPORT = pathlib.Path(__file__).resolve().parent.parent.parent / "support"
ENVIRONMENT = ["env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
               "DEBIAN_FRONTEND=noninteractive"]
APT = [*ENVIRONMENT, "apt-get", "-qq", "-y", "-o", "Dpkg::Options::=--force-confold",
       "-o", "Dpkg::Use-Pty=0", "--no-install-recommends"]

# The mounts and processes end with the namespace, so nothing has to be undone.
INSIDE = """
set -eu
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount --rbind /dev "$1/dev"
root=$1
shift
exec chroot "$root" "$@"
"""


class Debian:
    def __init__(self, copied=None):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="penstock-debian-", dir="/var/tmp"))
        self.root.chmod(0o755)
        if copied is not None:
            subprocess.run(["cp", "-a", f"{copied.root}/.", self.root], check=True)
            return
        try:
            made = subprocess.run([SUPPORT / "debian_root.sh", self.root], text=True, capture_output=True)
            if made.returncode == 77:
                raise unittest.SkipTest(made.stdout.strip().removeprefix("SKIPPED: "))
            if made.returncode:
                raise RuntimeError(made.stdout + made.stderr)
        except BaseException:
            self.close()
            raise

    def run(self, *command):
        """Runs a command inside as root, in its own namespaces, and returns its output."""
        ran = subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--ipc", "sh",
                              "-c", INSIDE, "sh", self.root, *ENVIRONMENT, *map(str, command)],
                             text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode:
            raise RuntimeError(f"{command} in {self.root}: exit code {ran.returncode}\n{ran.stdout}")
        return ran.stdout

    def install(self, *packages):
        return self.run(*APT, "install", *packages)

    def close(self):
        shutil.rmtree(self.root)
