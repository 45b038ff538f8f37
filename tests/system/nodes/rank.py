"""One rank of the job: rank.py URL LOG RANK WORLD BATCH EPOCHS STATE [PAUSE_S]. Takes batches until the epochs have
ended, and logs each as a line of JSON: what came, and the state after it. STATE is JSON, or "-" for the beginning."""
import json
import sys
import time
import zlib

import penstock

url, log, rank, world, batch_size, epochs, state = sys.argv[1:8]
pause = float(sys.argv[8]) if len(sys.argv) > 8 else 0

loader = penstock.Loader(url, batch_size=int(batch_size), shuffle=True, seed=11, rank=int(rank), world_size=int(world),
                         last_batch="partial", reconnect=120, timeout=240,
                         transform=[penstock.RandomResizedCrop(32), penstock.HorizontalFlip()])
first = 0
if state != "-":
    loader.load_state_dict(json.loads(state))
    first = json.loads(state)["epoch"]
with open(log, "w", buffering=1) as out:
    for epoch in range(first, int(epochs)):
        for batch in loader:
            rows = [[int(sample), int(label), zlib.crc32(image.tobytes())] for sample, label, image in
                    zip(batch.sample_ids[:batch.valid_rows], batch["label"], batch["image"])]
            out.write(json.dumps({"epoch": epoch, "rows": rows, "state": loader.state_dict()}) + "\n")
            time.sleep(pause)
    out.write(json.dumps({"done": True}) + "\n")
