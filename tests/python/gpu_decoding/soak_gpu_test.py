"""Many batches with decode="gpu" beside a training loop, while one file in a hundred is damaged.

PENSTOCK_CYCLES batches of 64, 1000 unless set. What the workers make of the same files says which samples are bad, and what
every other row looks like.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
import penstock  # noqa: E402  (before CUDA is used)
import damaged  # noqa: E402

torch = support.need("torch")
if not torch.cuda.is_available():
    support.skip("no GPU: torch sees none")

import penstock.torch  # noqa: E402

BATCH = 64
FILES = 2000
BATCHES = int(os.environ.get("PENSTOCK_CYCLES", "1000"))
STEPS = [penstock.Resize(72), penstock.CenterCrop(64)]
CONFIG = """
server: {{socket: {folder}/run/penstock.sock, group: "", state_dir: {folder}}}
limits: {{max_quarantined: 2%}}
datasets: [{{name: photographs, folder: {folder}/files}}]
"""
FAR = 12  # mean difference of a row whose chroma is not interpolated, at most; a black row is far beyond it


def resident_bytes(process="self"):
    return int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Trainer:
    """A convolutional network's steps, each on the batch that was just taken."""

    def __init__(self):
        layers = [layer for inputs, outputs in ((3, 64), (64, 128), (128, 256)) for layer in (
            torch.nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), torch.nn.ReLU())]
        self.model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.LazyLinear(10)).cuda()
        self.model(torch.zeros(1, 3, 64, 64, device="cuda"))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-4)

    def step(self, images, labels):
        torch.nn.functional.cross_entropy(self.model(images.float() / 255), labels).backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class SoakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="penstock-soak-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.damaged = set(damaged.make(folder + "/files", cls.sources(folder), FILES))
        pathlib.Path(folder, "penstock.yaml").write_text(CONFIG.format(folder=folder))
        cls.address = folder + "/run/penstock.sock"
        with open(folder + "/log", "ab") as log:
            cls.daemon = subprocess.Popen([support.program("penstockd"), "--config", folder + "/penstock.yaml"], stderr=log)
        cls.addClassCleanup(cls.daemon.wait)
        cls.addClassCleanup(cls.daemon.terminate)
        support.wait_until_serving(cls.daemon, pathlib.Path(folder, "log"))

    @staticmethod
    def sources(folder):
        if support.DATA:
            return support.DATA
        subprocess.run([support.program("penstock-make-photographs"), folder + "/sources", "--images", "100"], check=True,
                       stdout=subprocess.DEVNULL)
        return folder + "/sources"

    def loader(self, **asked):
        loader = penstock.torch.DataLoader("photographs", BATCH, transform=STEPS, dtype="uint8", device="cuda", timeout=60,
                                           address=self.address, **asked)
        self.addCleanup(loader.close)
        return loader

    def quarantined(self):
        listed = subprocess.run([support.program("penstockctl"), "--address", self.address, "-o", "json", "quarantine", "list"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        return {sample["path"] for sample in json.loads(listed)["entries"] if not sample["decoded_by_workers"]}

    def by_workers(self):
        """(rows, which samples have one), by sample."""
        rows = torch.zeros(FILES, 3, 64, 64, device="cuda", dtype=torch.uint8)
        known = torch.zeros(FILES, dtype=torch.bool, device="cuda")
        for batch in self.loader(last_batch="partial"):
            samples = torch.as_tensor(batch.sample_ids).cuda()
            rows[samples], known[samples] = batch["image"], True
        return rows, known

    def test_nothing_grows_nothing_blackens_and_the_right_samples_are_quarantined(self):
        warnings.simplefilter("ignore", penstock.BadSampleWarning)
        rows, known = self.by_workers()
        bad = self.quarantined()
        self.assertTrue(bad)
        self.assertLessEqual(bad, self.damaged)
        self.assertEqual(int((~known).sum()), len(bad))

        trainer, taken, marks, worst = Trainer(), 0, [], torch.zeros((), device="cuda")
        loader = self.loader(shuffle=True, decode="gpu")
        while taken < BATCHES:
            for batch in loader:
                samples, images = torch.as_tensor(batch.sample_ids).cuda(), batch["image"]
                self.assertTrue(bool(known[samples].all()))
                apart = (images.int() - rows[samples].int()).abs().float().mean(dim=(1, 2, 3)).max()
                worst = torch.maximum(worst, apart)
                trainer.step(images, batch["label"])
                taken += 1
                if taken in (BATCHES // 4, BATCHES):
                    marks.append(self.memory())
                if taken == BATCHES:
                    break
        print(f"{taken} batches of {BATCH}, {len(self.damaged)} of {FILES} files damaged, {len(bad)} quarantined; a row's mean "
              f"difference from the workers' at most {float(worst):.2f}; growth in MiB since a quarter of it: "
              + ", ".join(f"{name} {(marks[1][name] - marks[0][name]) / 2**20:.1f}" for name in marks[0]), flush=True)
        self.assertLess(float(worst), FAR)
        self.assertEqual(self.quarantined(), bad)
        for name, before in marks[0].items():
            self.assertLess(marks[1][name] - before, 32 << 20, name)

    def memory(self):
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return {"GPU": total - free, "trainer": resident_bytes(), "daemon": resident_bytes(self.daemon.pid)}


if __name__ == "__main__":
    support.main()
