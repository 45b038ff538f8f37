"""Runs every suite of penstock-bench small and checks that its results are plausible.

Usage: suites_test.py BENCH SUITE

The limits on ratios leave room for a busy machine; the goals are in the suites themselves."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BENCH, SUITE = sys.argv[1:]

# The minimum ratio, by the reference of a comparison.
FLOORS = {
    "handoff": {"the same by bare loads and stores": 0.0005},
    "read": {"bare open, fstat, pread, close": 0.3},
    "decode": {"bare libjpeg-turbo, the same rows and columns": 0.7, "Pillow, the same crops": 1.2},
    "checkpoints": {"bare libjpeg-turbo, the same rows and columns": 0.7},
    "feed": {"1 process that only decodes": 0.4, "memcpy of as many rows by as many threads": 0.2,
             "memcpy of as many bytes": 0.2, "memcpy of the same rows": 0.2},
    "beside": {"the same threads alone": 0.8},
}
RUNS = 5  # at the most


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def run(*arguments, **options):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, **options)


def processes_with(folder):
    """Processes with the folder in their command line."""
    return [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
            if str(folder) in read(path)]


def left_behind(folder):
    return sorted(os.listdir(folder)) + processes_with(folder)


def read(path):
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def check_figures(result):
    check(result["suite"] == SUITE and result["cores"] >= 1 and result["simd"], result)
    check("no --data" in result["data"] or SUITE == "handoff", "it does not say what it ran on")
    check(result["comparisons"], "nothing was compared")
    for each in result["comparisons"]:
        check(each["figure"] > 0 and each["reference"] > 0, each)
    missing = set(FLOORS[SUITE]) - {each["against"] for each in result["comparisons"]}
    left_out = any("left out" in note for note in result["notes"])
    check(not missing or left_out, f"not compared: {missing}")
    facts = {each["name"]: each["value"] for each in result["facts"]}
    if SUITE == "handoff":
        check(facts["system calls a take and release"] == 0, facts)


def below_floor(result):
    """The comparisons whose ratio is below the minimum."""
    return [each for each in result["comparisons"] if each["ratio"] < FLOORS[SUITE].get(each["against"], 0)]


def suite_runs(environment, folder):
    """Repeats the suite if a ratio is too low: small runs take milliseconds, in which other processes may have run."""
    json_file = folder.parent / "result.json"
    for _ in range(RUNS):
        ended = run(SUITE, "--small", "--json", json_file, env=environment)
        print(ended.stdout, ended.stderr)
        check(ended.returncode == 0, f"exit code {ended.returncode}")
        check(not left_behind(folder), f"left behind: {left_behind(folder)}")
        result = json.loads(json_file.read_text())
        check_figures(result)
        if not below_floor(result):
            return
    check(False, f"{RUNS} times in a row a ratio was too low, at last: {below_floor(result)}")


def wait_until_busy(folder):
    """Waits until a feeding suite has its daemon; the other suites are busy at once."""
    deadline = time.monotonic() + 30
    while SUITE in ("feed", "beside") and not processes_with(folder):
        check(time.monotonic() < deadline, "no daemon came up")
        time.sleep(0.05)
    time.sleep(0.3)


def interrupted_suite_leaves_nothing(environment, folder):
    with subprocess.Popen([BENCH, SUITE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=environment) as process:
        wait_until_busy(folder)
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=30)
    check(code == -signal.SIGINT, f"interrupted, it ended with {code}")
    check(not left_behind(folder), f"interrupted, it left {left_behind(folder)}")


def standard_output_is_json_alone(environment):
    ended = run("handoff", "--small", "--json", "-", env=environment)
    check(json.loads(ended.stdout)["suite"] == "handoff", ended.stdout)


def wrong_calls_say_what_to_do(environment, folder):
    for arguments, words in (([], "a suite is missing"), ([SUITE, "--fly"], "no option '--fly'"),
                             ([SUITE, "--json", "/nonexistent/x"], "cannot be written"),
                             (["read", "--data", "/nonexistent"], "/nonexistent"),
                             (["read", "--data", str(folder)], str(folder))):
        ended = run(*arguments, env=environment)
        check(ended.returncode == 2, f"{arguments}: exit code {ended.returncode}")
        check(words in ended.stderr and ended.stderr.count("\n") == 1, f"{arguments}: {ended.stderr}")
        check(not ended.stdout, f"{arguments}: {ended.stdout}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "tmp")
        folder.mkdir()
        environment = os.environ | {"TMPDIR": str(folder)}
        suite_runs(environment, folder)
        interrupted_suite_leaves_nothing(environment, folder)
        if SUITE == "handoff":
            standard_output_is_json_alone(environment)
            wrong_calls_say_what_to_do(environment, folder)


if __name__ == "__main__":
    main()
