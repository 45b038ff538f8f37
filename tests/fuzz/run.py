"""run.py PROGRAM SEEDS FOLDER [--seconds N]

Writes the seeds to FOLDER and runs PROGRAM on them. With --seconds, libFuzzer continues from them for that
time. Findings stay in FOLDER. Exits with 77 if the seeds need Pillow and it is missing.
"""
import argparse
import pathlib
import subprocess
import sys

import seeds

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("seeds")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--seconds", type=int)
arguments = parser.parse_args()

name = pathlib.Path(arguments.program).name
corpus, start = arguments.folder / f"{name}-corpus", arguments.folder / f"{name}-seeds"
try:
    count = seeds.write(arguments.seeds, start)
except ImportError:
    print(f"SKIPPED: {name}: no Pillow for /usr/bin/python3; install python3-pil")
    sys.exit(77)
command = [arguments.program]
if arguments.seconds:
    corpus.mkdir(exist_ok=True)
    command += [str(corpus), f"-max_total_time={arguments.seconds}", "-timeout=10", "-max_len=8192",
                "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1",
                f"-artifact_prefix={arguments.folder}/{name}-"]
    words = pathlib.Path(__file__).with_name("dictionaries") / f"{name}.dict"
    if words.exists():
        command.append(f"-dict={words}")
print(f"{name}: {count} seeds", flush=True)
sys.exit(subprocess.call([*command, str(start)]))
