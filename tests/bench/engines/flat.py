"""Images/s without training: the workers alone, the engines alone, both with one loader, and both with two.

    python3 tests/bench/engines/flat.py --data DIR [--share 0.7]
"""
import contextlib
import threading

import setting


def rate_of(served, asked, loaders, **more):
    """images/s of as many loaders, each with a thread of its own, of one process, after their first epoch."""
    with contextlib.ExitStack() as opened:
        ready, counts = threading.Barrier(loaders), [None] * loaders

        def take(place, batches):
            for _ in range(asked.images // asked.batch_size + 8):
                next(batches)
            ready.wait()
            counts[place] = setting.taken_in(batches, asked.seconds)

        threads = []
        for place in range(loaders):
            loader = opened.enter_context(contextlib.closing(setting.loader(served, asked, seed=place, **more)))
            threads.append(threading.Thread(target=take, args=(place, setting.forever(loader))))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(count * asked.batch_size / seconds for count, seconds in counts)


def main():
    parser = setting.parser(__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.7)
    asked = parser.parse_args()
    with setting.served(asked) as served:
        print(setting.machine_line() + "\n\n| without training | images/s | of the workers alone |\n|---|---|---|")
        workers = rate_of(served, asked, 1)
        print(f"| the workers alone | {workers:,.0f} | |", flush=True)
        for name, loaders, more in (
                ("the engines alone", 1, {"decode": "gpu"}),
                (f"both, share {asked.share}", 1, {"decode": "gpu", "gpu_share": asked.share}),
                (f"both, share {asked.share}, two loaders", 2, {"decode": "gpu", "gpu_share": asked.share})):
            rate = rate_of(served, asked, loaders, **more)
            print(f"| {name} | {rate:,.0f} | {rate / workers:.2f} |", flush=True)


if __name__ == "__main__":
    main()
