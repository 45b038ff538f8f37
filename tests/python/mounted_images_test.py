"""Datasets on squashfs images that replace each other at one mount point. Inode numbers, sizes and times of two
images can be equal; a cached index must not be used for another image's file."""
import io
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile

import support

np = support.need("numpy")
PIL = support.need("PIL")
from PIL import Image  # noqa: E402

import penstock  # noqa: E402

SAMPLES = 10


def can_mount():
    """Whether this process may mount squashfs images."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mksquashfs", "losetup", "mount"))):
        return False
    known = "squashfs" in pathlib.Path("/proc/filesystems").read_text()
    return known and subprocess.run(["losetup", "-f"], capture_output=True).returncode == 0


if not can_mount():
    support.skip("needs root, squashfs-tools, and a kernel with squashfs and loop devices")


def make_image(folder, labels):
    """Writes a squashfs image beside the folder, with one tar whose samples have these labels."""
    folder.mkdir()
    with tarfile.open(folder / "x.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for sample, label in enumerate(labels):
            pixels = np.full((8, 8, 3), 20 * sample, np.uint8)
            png = io.BytesIO()
            Image.fromarray(pixels).save(png, "png", compress_level=0)
            for name, content in ((f"{sample:03}.png", png.getvalue()), (f"{sample:03}.cls", str(label).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    image = folder.with_suffix(".img")
    subprocess.run(["mksquashfs", folder, image, "-all-time", "1700000000", "-mkfs-time", "1700000000", "-all-root",
                    "-noappend", "-no-progress", "-noD", "-noI", "-noF"], check=True, stdout=subprocess.DEVNULL)
    return image


class MountedImagesTest(support.unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(support.tempfile.mkdtemp(prefix="penstock-images-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.mount_point = self.folder / "mounted"
        self.mount_point.mkdir()
        self.rising = make_image(self.folder / "rising", range(SAMPLES))
        self.falling = make_image(self.folder / "falling", range(SAMPLES - 1, -1, -1))
        (self.folder / "penstock.yaml").write_text(
            f"server: {{group: '{os.getegid()}', socket: {self.folder}/s/penstock.sock, state_dir: {self.folder}/state}}\n"
            f"datasets: [{{name: x, tar: {{shards: [{self.mount_point}/x.tar]}}}}]\n")
        (self.folder / "s").mkdir(mode=0o750)
        self.daemon = None

    def mount(self, image):
        subprocess.run(["mount", "-t", "squashfs", "-o", "loop,ro", image, self.mount_point], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.mount_point], stderr=subprocess.DEVNULL)
        found = os.stat(self.mount_point / "x.tar")
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def unmount(self):
        """As deploy/README.md says: a running daemon keeps the folder open."""
        subprocess.run(["umount", "--lazy", self.mount_point], check=True)

    def start(self):
        with open(self.folder / "log", "ab") as log:
            said = log.tell()
            self.daemon = subprocess.Popen([support.program("penstockd"), "--config", self.folder / "penstock.yaml",
                                            "--workers", "1"], stderr=log)
        self.addCleanup(self.stop)
        support.wait_until_serving(self.daemon, self.folder / "log", said)

    def stop(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(timeout=60)

    def labels(self):
        with penstock.Loader("x", 5, address=f"{self.folder}/s/penstock.sock", shuffle=False, timeout=60,
                             transform=[penstock.Resize(8), penstock.CenterCrop(8)]) as loader:
            return [int(label) for batch in loader for label in np.asarray(batch["label"])]

    def test_an_image_in_anothers_place_is_indexed_anew(self):
        rising, falling = list(range(SAMPLES)), list(range(SAMPLES - 1, -1, -1))
        before = self.mount(self.rising)
        self.start()
        self.assertEqual(self.labels(), rising)
        self.stop()
        self.unmount()
        self.assertEqual(self.mount(self.falling), before, "the images' files look alike")

        self.start()  # with the cached index of the first image
        self.assertEqual(self.labels(), falling)
        self.unmount()
        self.assertEqual(self.mount(self.rising), before)
        self.assertEqual(self.labels(), rising)  # under the running daemon


if __name__ == "__main__":
    support.main()
