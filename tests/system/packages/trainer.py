"""Takes one epoch and prints each sample's number and how long a batch takes: trainer.py DATASET SECONDS."""
import sys
import time

import penstock

loader = penstock.Loader(sys.argv[1], batch_size=8, shuffle=True, drop_last=False, last_batch="partial",
                         transform=[penstock.RandomResizedCrop(32)])
for batch in loader:
    print(*batch.sample_ids[:batch.valid_rows], flush=True)
    time.sleep(float(sys.argv[2]))
