"""Example trainer for a container: takes epochs of a dataset and prints the rate of each.

    trainer.py DATASET [EPOCHS]   (default: 1 epoch)
"""
import sys
import time

import penstock

loader = penstock.Loader(sys.argv[1], batch_size=32, shuffle=True, last_batch="partial",
                         transform=[penstock.RandomResizedCrop(224), penstock.HorizontalFlip()])
for epoch in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    began, samples = time.monotonic(), 0
    for batch in loader:
        samples += batch.valid_rows
    seconds = time.monotonic() - began
    print(f"epoch {epoch}: {samples} samples in {seconds:.1f} s, {samples / seconds:.0f} a second", flush=True)
