"""Pictures of bad samples, of a real daemon and in a headless Chromium:
pictures_test.py [-v] [TEST] PROGRAMS HANGING_READS."""
import concurrent.futures
import os
import pathlib
import sys
import time
import unittest
import urllib.error
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402
import node  # noqa: E402

HANGING_READS = sys.argv.pop()
PROGRAMS = pathlib.Path(sys.argv.pop())
LARGE = (8 << 20) + 1
PATIENCE = 30  # seconds
BUTTONS = "[...document.querySelectorAll('#bad-table tbody button')].filter((each) => !each.hidden)"


def paths(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def damage(folder):
    """Four bad samples: the first is cut off, then a text, a large one, and one that stays for a link."""
    cut, text, large, other = paths(folder)[:4]
    cut.write_bytes(cut.read_bytes()[:-200])
    text.write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    large.write_bytes(b"\xff\xd8\xff".ljust(LARGE, b"x"))
    other.write_bytes(b"\xff\xd8\xff, and no more")


class Pictures(unittest.TestCase):
    def start(self, **options):
        there = node.Node(PROGRAMS, photographs=24, change=damage, **options)
        self.addCleanup(there.__exit__)
        there.trainer("--batch", 8)
        end = time.monotonic() + PATIENCE
        while len(there.json("/status.json")["quarantine"]) < 4:
            self.assertLess(time.monotonic(), end, there.json("/status.json")["quarantine"])
            time.sleep(0.1)
        return there

    def bad(self, there, place):
        """The entry of the file at that place in the folder."""
        name = paths(there.photographs)[place].name
        return next(each for each in there.json("/status.json")["quarantine"] if each["path"].endswith("/" + name))

    def get(self, there, dataset, sample):
        """Status, headers and body."""
        query = urllib.parse.urlencode({"dataset": dataset, "sample": sample})
        try:
            headers, body = there.get(f"/bad-sample?{query}")
            return 200, headers, body
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read()

    def words(self, there, entry):
        code, headers, body = self.get(there, entry["dataset"], entry["sample"])
        self.assertTrue(headers["Content-Type"].startswith("text/plain"))
        return code, body.decode()


class DaemonTest(Pictures):
    def test_a_bad_sample_comes_as_it_is_stored_and_no_other_does(self):
        there = self.start(pictures=True)
        entries = [self.bad(there, place) for place in range(4)]
        cut = entries[0]

        code, headers, body = self.get(there, cut["dataset"], cut["sample"])
        self.assertEqual((code, body), (200, paths(there.photographs)[0].read_bytes()))
        self.assertEqual(headers["Content-Type"], "image/jpeg")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Content-Security-Policy"], "default-src 'none'; sandbox")
        self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
        self.assertEqual(headers["Cache-Control"], "no-store")

        bad = {entry["sample"] for entry in entries}
        good = next(sample for sample in range(24) if str(sample) not in bad)
        self.assertEqual(self.get(there, "photographs", good)[0], 404)
        self.assertEqual(self.get(there, "noise", cut["sample"])[0], 404)
        self.assertEqual(self.get(there, str(there.photographs), cut["sample"])[0], 404)
        self.assertEqual(self.words(there, entries[1])[0], 404)
        self.assertIn("not an image that browsers show", self.words(there, entries[1])[1])
        self.assertEqual(self.words(there, entries[2]), (404, f"larger than 8 MiB: it has {LARGE} bytes\n"))

        status = there.json("/status.json")
        self.assertTrue(status["pictures"])
        self.assertEqual(status["quarantine_pictures"], [True] * len(status["quarantine"]))

    def test_what_is_at_a_files_place_by_now_is_not_shown(self):
        there = self.start(pictures=True)
        files, entries = paths(there.photographs), [self.bad(there, place) for place in range(4)]
        secret = there.folder / "secret.jpg"
        secret.write_bytes(b"\xff\xd8\xff secret")
        files[0].write_bytes(b"\xff\xd8\xff another picture")
        files[1].unlink()
        os.mkfifo(files[1])
        files[2].unlink()
        files[2].symlink_to("/dev/zero")
        files[3].unlink()
        files[3].symlink_to(secret)

        changed, fifo, device, link = (self.words(there, entry) for entry in entries)

        self.assertIn("changed since it was indexed", changed[1])
        self.assertIn("it was a regular file and is not any more", fifo[1])
        for code, words in (device, link):
            self.assertIn(code, (404, 503))
            self.assertNotIn("secret", words.replace("secret.jpg", ""))

    def test_a_file_server_that_hangs_delays_only_its_own_pictures(self):
        there = self.start(pictures=True, preload=HANGING_READS)
        entry = self.bad(there, 0)
        away = pathlib.Path(f"{there.photographs}.away")
        away.touch()
        self.addCleanup(lambda: away.unlink(missing_ok=True))

        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            waits = threads.submit(self.words, there, entry)
            while not pathlib.Path(f"{there.photographs}.hung").exists():
                time.sleep(0.01)
            there.get("/metrics")
            self.assertFalse(waits.done(), "the metrics waited for the picture")
            code, words = waits.result()
        self.assertEqual((code, words), (503, "the storage has not answered for 3000 ms; try again later\n"))
        self.assertLess(time.monotonic() - begun, PATIENCE)
        self.assertFalse(pathlib.Path(f"{there.photographs}.runner").exists(), "the runner's thread read a file")

        away.unlink()
        end = time.monotonic() + PATIENCE
        while self.get(there, entry["dataset"], entry["sample"])[0] != 200:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)

    def test_it_is_off_unless_configured(self):
        there = self.start()
        entry, status = self.bad(there, 0), there.json("/status.json")

        self.assertEqual(self.get(there, entry["dataset"], entry["sample"])[0], 404)
        self.assertEqual((status["pictures"], status["quarantine_pictures"]), (False, []))
        self.assertNotIn("blob:", there.get("/")[0]["Content-Security-Policy"])


@unittest.skipIf(browser.find() is None, "SKIPPED: chromium is not installed; deploy/install-deps.sh --tests installs it")
class PageTest(Pictures):
    def open(self, there):
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)
        self.browser.resize(1200, 900)
        self.browser.open(there.url + "/")
        self.browser.until("document.querySelectorAll('#bad-table tbody tr').length === 4")

    def row(self, entry):
        rows = self.browser.value("[...document.querySelectorAll('#bad-table tbody td.lead')].map((each) => each.innerText)")
        return f"document.querySelectorAll('#bad-table tbody tr')[{rows.index(entry['sample'])}]"

    def test_a_press_shows_the_picture_and_another_hides_it(self):
        there = self.start(pictures=True)
        self.open(there)
        row = self.row(self.bad(there, 0))
        self.assertEqual(self.browser.value(f"{BUTTONS}.length"), 4)
        self.assertEqual(self.browser.value("document.querySelectorAll('#bad-table img').length"), 0)
        self.assertFalse([url for url in self.browser.asked if "bad-sample" in url])

        self.browser.value(f"{row}.querySelector('button').focus()")
        self.browser.press("Enter")
        self.browser.until(f"{row}.querySelector('img')?.naturalWidth > 0")
        image = self.browser.value(f"(({{width, height, alt}}) => ({{width, height, alt}}))({row}.querySelector('img'))")
        self.assertTrue(0 < image["width"] <= 192 and 0 < image["height"] <= 144, image)
        self.assertIn("photographs", image["alt"])
        self.assertRegex(self.browser.value(f"{row}.innerText"), r"\d+ × \d+, [\d.]+ (KiB|B)")
        self.browser.value("next()")
        self.assertTrue(self.browser.value(f"{row}.querySelector('img')?.naturalWidth > 0"), "it survives new figures")
        self.assertEqual(self.browser.value("document.activeElement.textContent"), "hide")
        for width in (1200, 390):
            self.browser.resize(width, 900)
            self.assertTrue(self.browser.value("document.documentElement.scrollWidth <= innerWidth"))
        self.assertEqual(self.browser.complaints, [])

        self.browser.press("Enter")
        self.browser.until(f"{row}.querySelector('img') === null")
        self.assertEqual(self.browser.value("document.activeElement.textContent"), "show")

    def test_where_there_is_no_picture_the_reason_is_said(self):
        there = self.start(pictures=True)
        self.open(there)
        for place, words in ((1, "Not an image that browsers show"), (2, "Larger than 8 MiB"),
                             (3, "The browser cannot decode it")):
            row = self.row(self.bad(there, place))
            self.browser.value(f"{row}.querySelector('button').click()")
            self.browser.until(f"{row}.innerText.includes('{words}')")
            self.assertTrue(self.browser.value(f"{row}.querySelector('img') === null"))

    def test_without_the_key_there_is_no_button(self):
        there = self.start()
        self.open(there)

        self.assertEqual(self.browser.value(f"{BUTTONS}.length"), 0)
        self.assertNotIn("Picture", self.browser.value("document.querySelector('#bad-table thead').innerText"))


if __name__ == "__main__":
    unittest.main()
