"""Looks at the metrics port's page in a headless Chromium: page_test.py [-v] [TEST] PROGRAMS HANGING_READS [PICTURES].

PICTURES: a folder for screenshots of each situation, at two widths."""
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402
import made  # noqa: E402
import node  # noqa: E402

PICTURES = pathlib.Path(sys.argv.pop()) if os.path.isdir(sys.argv[-1]) and len(sys.argv) > 3 else None
HANGING_READS = sys.argv.pop()
PROGRAMS = pathlib.Path(sys.argv.pop())
if browser.find() is None:
    print("SKIPPED: chromium is not installed; deploy/install-deps.sh --tests installs it")
    sys.exit(77)

WIDE, NARROW = 1200, 390
FITS = "document.documentElement.scrollWidth <= innerWidth"
FILLED = "document.querySelector('#sessions-table tbody tr') !== null"
RATES = "!/^–$/.test(document.querySelector('#figures dd span').textContent)"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.fed = node.Node(PROGRAMS)  # for those that only look
        cls.addClassCleanup(cls.fed.__exit__)
        cls.trainer = cls.fed.trainer("--batch", 16)

    def setUp(self):
        self.browser.open("about:blank")
        self.browser.complaints.clear()
        self.browser.asked.clear()

    def start(self, **options):
        there = node.Node(PROGRAMS, **options)
        self.addCleanup(there.__exit__)
        return there

    def open(self, url, width=WIDE, dark=False):
        self.browser.resize(width, 900, dark)
        self.browser.open(url + "/")
        self.browser.until("document.getElementById('state').textContent !== 'Connecting'")

    def look(self, name):
        """The page fits its width, and takes pictures of it if asked to."""
        for width, dark in ((WIDE, False), (NARROW, True), *(((NARROW, False), (WIDE, True)) if PICTURES else ())):
            self.browser.resize(width, 900, dark)
            self.browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            self.assertTrue(self.browser.value(FITS), f"{name} is wider than {width}")
            if PICTURES:
                self.browser.picture(PICTURES / f"{name}-{width}-{'dark' if dark else 'light'}.png")

    def marked(self, look):
        """The station of the picture that has this look, in words; None if there is none."""
        return self.browser.value(f"document.querySelector('#flow .{look} .name')?.textContent")

    def test_it_shows_a_feed(self):
        there = self.fed
        self.open(there.url)
        self.browser.until(FILLED)
        self.browser.until(RATES)
        self.browser.until("document.querySelectorAll('#hour .curve').length === 4")
        status = there.json("/status.json")
        text = self.browser.text()

        self.assertIn("Serving", text)
        self.assertIn("photographs", text)
        self.assertIn(str(self.trainer.pid), text)
        self.assertEqual(self.browser.value("document.querySelectorAll('#sessions-table tbody tr').length"), 1)
        self.assertGreater(float(self.browser.value(
            "document.querySelector('#figures dd span').textContent.replace(/,/g, '')")), 0)
        known = {"photographs", "noise"}
        self.assertLessEqual({each["name"] for each in status["datasets"]}, known)
        self.assertEqual(set(self.browser.asked) - {"about:blank"},
                         {there.url + path for path in ("/", "/status.json", "/history.json")})
        self.look("feed")
        self.assertEqual(self.browser.complaints, [])

    def test_the_slow_stage_is_the_verdicts(self):
        there = self.fed
        bottleneck = "BOTTLENECK_UNSPECIFIED"

        def change(path, answer):
            for feed in answer["status"]["feeds"] if path == "/status.json" else []:
                feed["bottleneck"] = bottleneck
            return answer

        with made.MadePage(there, change) as page:
            self.open(page.url)
            self.browser.until(FILLED)
            for bottleneck, look, station in (
                    ("BOTTLENECK_DECODING", "is-slow", "Decode"), ("BOTTLENECK_READING", "is-slow", "Storage"),
                    ("BOTTLENECK_SOURCE", "is-bad", "Storage"), ("BOTTLENECK_WINDOW", "is-slow", "Pool"),
                    ("BOTTLENECK_COPYING", "is-slow", "Copy"), ("BOTTLENECK_TRAINER", "is-pace", "Trainer"),
                    ("BOTTLENECK_UNSPECIFIED", "is-slow", None)):
                self.browser.value("next()")
                self.assertEqual(self.marked(look), station, bottleneck)
                self.assertEqual(self.browser.value("document.querySelectorAll('#flow text.mark').length"),
                                 1 if station else 0)
            self.browser.open("about:blank")  # before the server ends

    def test_stalls_drains_and_gaps_are_marked_in_the_hour(self):
        there = self.fed

        def change(path, answer):
            answer["started_unix_ms"] = "1"
            history = answer if path == "/history.json" else answer["recent"]
            now = int(time.time() * 1000) // 5000 * 5000
            times = [now - 5000 * i for i in range(60, 0, -1) if not 20 < i < 30]  # ten records are missing
            history |= {"started_unix_ms": "1", "time_unix_ms": [str(at) for at in times]}
            for name in ("samples_per_second", "batches_per_second", "starved", "occupancy", "workers_busy", "sessions"):
                history[name] = [0.5] * len(times)
            history["stalls"] = [int(i < 3) for i in range(len(times))]
            history["draining"] = [i >= len(times) - 2 for i in range(len(times))]
            return answer

        with made.MadePage(there, change) as page:
            self.open(page.url)
            self.browser.until("document.querySelectorAll('#hour .curve').length > 0")
            counts = {look: self.browser.value(f"document.querySelectorAll('#hour .{look}').length")
                      for look in ("stall", "drain", "curve", "before")}
            self.assertEqual(counts, {"stall": 3, "drain": 2, "curve": 8, "before": 0})  # four curves, each in two parts
            self.assertIn("Red: a source was stalled. Grey: draining.", self.browser.text())
            self.look("hour")
            self.browser.open("about:blank")

    def test_a_stall_is_named(self):
        there = self.start(preload=HANGING_READS)
        there.trainer("--batch", 16)
        self.open(there.url)
        self.browser.until(FILLED)
        away = pathlib.Path(f"{there.photographs}.away")
        away.touch()
        self.addCleanup(lambda: away.unlink(missing_ok=True))

        self.browser.until("document.querySelector('#flow .is-bad .name')?.textContent === 'Storage'")
        self.browser.until("/stalled/i.test(document.getElementById('verdict').textContent)")
        self.assertIn(str(there.photographs), self.browser.value("document.getElementById('stalls').innerText"))
        self.look("stall")

        away.unlink()
        self.browser.until("document.getElementById('stalls').innerText.includes('Nothing is stalled')")
        self.assertEqual(self.browser.complaints, [])

    def test_draining_is_said(self):
        there = self.start()
        trainer = there.trainer("--batch", 16)
        self.open(there.url)
        self.browser.until(FILLED)
        trainer.send_signal(signal.SIGSTOP)  # or it would finish its epoch
        there.spawn("penstockctl", "--address", there.address, "drain")

        self.browser.until("document.getElementById('state').textContent === 'Draining'")
        self.assertIn("no session can be opened", self.browser.text())
        self.assertIn("1 session left", self.browser.text())
        self.look("draining")

    def test_after_a_restart_it_begins_anew_and_says_so(self):
        there = self.start()
        trainer = there.trainer("--batch", 16)
        self.open(there.url)
        self.browser.until(FILLED)
        before = there.json("/status.json")["started_unix_ms"]
        there.end(trainer)
        there.end(there.daemon)
        self.browser.until("document.getElementById('state').textContent === 'No answer'")
        self.assertIn("No answer since", self.browser.text())
        self.look("away")
        there.start()
        there.trainer("--batch", 16)

        self.browser.until("document.getElementById('state').textContent === 'Serving'")
        self.browser.until(FILLED)
        self.assertIn("The daemon started again at", self.browser.text())
        self.assertIn("keeps no history across a restart", self.browser.text())
        again = there.json("/status.json")["started_unix_ms"]
        self.assertNotEqual(again, before)
        for noted in there.json("/history.json")["time_unix_ms"]:
            self.assertGreaterEqual(int(noted), int(again))
        self.look("restarted")

    def test_what_is_left_out_is_said(self):
        def change(path, answer):
            if path == "/status.json":
                answer["omitted"] |= {"sessions": 5, "feeds": 1, "workers": 2, "datasets": 7}
            return answer

        with made.MadePage(self.fed, change) as page:
            self.open(page.url)
            self.browser.until(FILLED)
            text = self.browser.value("document.body.textContent")
            for left_out in ("5 more sessions", "1 more feed", "2 more workers", "7 more datasets"):
                self.assertIn(f"{left_out} not shown here", text)
            self.assertNotIn("more user", text)
            self.browser.open("about:blank")  # before the server ends

    def test_hostile_texts_are_only_text(self):
        there = self.fed

        def change(path, answer):
            answer = made.spoil(answer)
            if path == "/status.json":
                answer["status"]["gpus"] = [made.spoil(made.GPU)]
                answer["quarantine"] = [{"dataset": made.HOSTILE, "sample": "3", "path": made.HOSTILE, "reason": made.HOSTILE,
                                         "time_unix_ms": "1", "quarantined": True, "decoded_by_workers": False}]
                answer["quarantine_total"] = "1"
            return answer

        with made.MadePage(there, change) as page:
            self.open(page.url)
            self.browser.until(FILLED)
            text = self.browser.value("document.body.textContent")

            self.assertGreater(text.count("<img src=x onerror"), 10)
            self.assertIsNone(self.browser.value("window.harmed ?? null"))
            self.assertEqual(self.browser.value("document.querySelectorAll('img, iframe, body style').length"), 0)
            self.assertEqual(self.browser.value("document.querySelectorAll('script').length"), 1)
            self.assertNotRegex(text, "[\u202a-\u202e\u0007]")
            self.look("hostile")
            self.assertEqual(self.browser.complaints, [])
            self.browser.open("about:blank")  # before the server ends

    def test_the_policy_refuses_markup_and_other_scripts(self):
        there = self.fed
        self.open(there.url)
        self.assertTrue(self.browser.value("(() => { try { document.body.innerHTML = '<b>'; } catch { return true; } })()"))
        self.browser.value("document.body.append(Object.assign(document.createElement('style'), {textContent: '*{color:red}'}))")
        self.assertRegex(self.browser.complaints[-1], "Content Security Policy")

    def test_it_is_used_by_keyboard(self):
        there = self.fed
        self.open(there.url)
        self.browser.until("document.querySelectorAll('#hour .curve').length === 4")
        stops = []
        for _ in range(12):
            self.browser.press("Tab")
            stops.append(self.browser.value("document.activeElement.id || document.activeElement.textContent"))
        self.assertEqual(stops[0], "Skip to the sessions")
        self.assertEqual(stops[1], "hour")
        self.assertEqual(stops[2:4], ["Session", "Dataset"])

        self.browser.value("document.getElementById('hour').focus()")
        self.browser.press("ArrowLeft")
        self.assertRegex(self.browser.value("document.getElementById('hour-said').textContent"),
                         r"\d\d:\d\d:\d\d: Samples a second [\d,.]+, Trainers waiting \d+ %")
        self.browser.value("document.querySelector('#sessions-table th button').focus()")
        self.browser.press("Enter")
        self.assertEqual(self.browser.value("document.querySelector('#sessions-table th').getAttribute('aria-sort')"),
                         "ascending")

    def test_a_summary_names_no_path_and_no_process(self):
        there = self.start(detail="summary")
        trainer = there.trainer("--batch", 16)
        self.open(there.url)
        self.browser.until(FILLED)
        answer = there.get("/status.json")[1].decode()

        self.assertNotIn(str(there.folder), answer)
        self.assertNotRegex(answer, rf'"pid":{trainer.pid}\b')
        self.assertIn('"full":false', answer)
        self.assertIn("Session 1", self.browser.text().replace("Session 2", "Session 1"))
        self.look("summary")

    def test_the_answers_are_what_page_proto_says(self):
        there = self.fed
        headers, _ = there.get("/status.json")
        self.assertEqual((headers["Content-Type"], headers["Cache-Control"]), ("application/json", "no-store"))
        proto = (pathlib.Path(__file__).parents[3] / "proto/penstock/v1/page.proto").read_text()
        for path, message in (("/status.json", "StatusPage"), ("/history.json", "StatusHistory")):
            body = re.search(rf"message {message} \{{(.*?)\n\}}", proto, re.DOTALL)[1]
            names = re.findall(r"(\w+) = \d+;", body)
            self.assertEqual(list(there.json(path)), names)
        page, _ = there.get("/")
        self.assertIn("frame-ancestors 'none'", page["Content-Security-Policy"])
        self.assertNotIn("unsafe", page["Content-Security-Policy"])

    def test_without_a_page_there_are_only_metrics(self):
        there = self.start(detail="summary")  # until it serves
        there.end(there.daemon)
        there.file.write_text(there.file.read_text().replace("status_page: summary", "status_page: off"))
        daemon = there.spawn("penstockd", "--config", there.file)
        end = time.monotonic() + 30
        while time.monotonic() < end and daemon.poll() is None:
            try:
                if b"penstock_ready 1" in there.get("/metrics")[1]:
                    break
            except OSError:
                time.sleep(0.1)
        for path in ("/", "/status.json", "/history.json"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                there.get(path)
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()


class CostTest(unittest.TestCase):
    """What an open page costs the daemon, whose sessions are open and idle, or under load."""

    SECONDS, MOST = 4, 0.03  # of a core. The goal is 1 %; the machine may be busy.

    def cpu(self, process, threads=None):
        """CPU seconds of the process, or of its threads with these names, to the nanosecond."""
        total = 0
        for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            if threads is None or (task / "comm").read_text().strip() in threads:
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def polled(self, there, threads=None):
        """CPU time a second while two pages ask every two seconds."""
        before, begun, answers = self.cpu(there.daemon, threads), time.monotonic(), 0
        while time.monotonic() - begun < self.SECONDS:
            answers += there.json("/status.json")["age_ms"] is not None
            time.sleep(1)
        self.assertGreater(answers, self.SECONDS / 2)
        return (self.cpu(there.daemon, threads) - before) / (time.monotonic() - begun)

    def test_it_costs_next_to_nothing(self):
        with node.Node(PROGRAMS) as there:
            trainers = [there.trainer("--batch", 16) for _ in range(8)]
            while len(there.json("/status.json")["sessions"]) < 8:
                time.sleep(0.1)
            loaded = self.polled(there, {"metrics", "replies"})
            for trainer in trainers:
                trainer.send_signal(signal.SIGSTOP)
            time.sleep(2)
            before, begun = self.cpu(there.daemon), time.monotonic()
            time.sleep(self.SECONDS)
            idle = (self.cpu(there.daemon) - before) / (time.monotonic() - begun)
            more = self.polled(there) - idle
            size = len(json.dumps(there.json("/status.json")))
        print(f"two open pages, 8 sessions, {size / 1024:.0f} KiB: {loaded:.2%} of a core for the threads that answer, "
              f"under load; {more:.2%} more in all, idle (from {idle:.2%})")
        self.assertLess(loaded, self.MOST)
        self.assertLess(more, self.MOST)


if __name__ == "__main__":
    unittest.main()
