"""follow_trace.py TRACE: follows batches through a trace, from reading to the trainer. Prints how many it
could follow. Exits with 1 and a reason if a batch's times are out of order, or if there is no batch."""
import bisect
import collections
import json
import sys

SLACK_US = 0.002  # times have a resolution of nanoseconds


def end(event):
    return event["ts"] + event["dur"]


def within(inner, outer):
    return outer["ts"] - SLACK_US <= inner["ts"] and end(inner) <= end(outer) + SLACK_US


def parts(outer, events):
    """Returns the slices within it on the same track, by name, in order of time."""
    found = collections.defaultdict(list)
    track = events[outer["pid"], outer["tid"]]
    first = bisect.bisect_left(track, outer["ts"] - SLACK_US, key=lambda event: event["ts"])
    for event in (track[place] for place in range(first, len(track))):
        if event["ts"] > end(outer):
            break
        if event is not outer and within(event, outer):
            found[event["name"]].append(event)
    return found


def main(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    by_track = collections.defaultdict(list)
    for event in slices:
        by_track[event["pid"], event["tid"]].append(event)
    for track in by_track.values():
        track.sort(key=lambda event: event["ts"])
    begin = min(event["ts"] for event in slices)
    fills = {event["args"]["batch"]: event for event in slices if event["name"] == "fill"}
    samples = collections.defaultdict(list)
    for event in slices:
        if event["name"] == "sample":
            samples[event["args"]["batch"]].append(event)

    followed = 0
    for batch in (event for event in slices if event["name"] == "batch"):
        name = batch["args"]["batch"]
        fill = fills.get(name)
        at_trainer = parts(batch, by_track)
        if fill is None or "held" not in at_trainer or not samples[name]:
            continue  # cut off by the beginning or the end of the trace
        if fill["ts"] < begin + 1000:
            continue  # some of its samples may have ended before the trace began
        ready, held = at_trainer["ready"][0], at_trainer["held"][0]
        assert end(fill) <= batch["ts"] + SLACK_US, f"{name} was announced before it was full"
        assert batch["ts"] <= ready["ts"] <= held["ts"], f"{name} was taken before it was ready"
        for sample in samples[name]:
            assert within(sample, fill), f"sample {sample['args']['sample']} is not within its slot's fill"
            of_sample = parts(sample, by_track)
            read, decode = of_sample["read"][0], of_sample["decode"][0]
            assert end(read) <= decode["ts"] + SLACK_US, f"{name} was decoded before it was read"
        followed += 1

    arrows = collections.Counter(event["ph"] for event in events if event["ph"] in "stf")
    assert arrows["s"] == arrows["f"] > 0, f"arrows that begin and end: {arrows}"
    assert followed > 0, "no batch can be followed"
    print(f"followed {followed} batches, {len(slices)} slices, {arrows['s']} arrows")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except AssertionError as wrong:
        sys.exit(f"{sys.argv[1]}: {wrong}")
