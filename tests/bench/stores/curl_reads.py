"""`curl` reads photographs from a store, each by a request for its range, as Penstock asks for it. Nothing is decoded."""
import os
import resource
import subprocess
import tarfile
import time

PAYLOAD = "x-amz-content-sha256: UNSIGNED-PAYLOAD"  # curl signs it, but does not send it by itself


def write_ranges(shards, file):
    """Writes where each photograph of a folder of tar shards lies. Returns the bytes of all of them."""
    size = 0
    with open(file, "w") as out:
        for shard in sorted(shards.iterdir()):
            with tarfile.open(shard) as members:
                for member in members:
                    if member.name.endswith(".jpg"):
                        print(shard.name, member.offset_data, member.offset_data + member.size - 1, file=out)
                        size += member.size
    return size


def read(ranges, folder, connections, environment):
    """Reads all ranges. Returns the seconds, and the processor time of curl."""
    config = os.path.join(folder, "config")
    endpoint, region = environment["AWS_ENDPOINT_URL"], environment["AWS_REGION"]
    keys = f"{environment['AWS_ACCESS_KEY_ID']}:{environment['AWS_SECRET_ACCESS_KEY']}"
    transfers = []
    for line in open(ranges):
        name, first, last = line.split()
        transfers.append(f'url = "{endpoint}/photos/tar/{name}"\nrange = "{first}-{last}"\noutput = "/dev/null"\n'
                         f'aws-sigv4 = "aws:amz:{region}:s3"\nuser = "{keys}"\nheader = "{PAYLOAD}"\nfail\nsilent\n')
    with open(config, "w") as out:
        out.write("next\n".join(transfers))
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["curl", "--parallel", "--parallel-immediate", "--parallel-max", str(connections), "--config", config],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # its progress
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
