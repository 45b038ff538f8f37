"""Limits of this process (ulimit) under which the connection to the daemon could not get its threads, and would hang."""
import _thread
import resource

from ..errors import ResourceExhausted

_MiB = 1 << 20
_ADDRESSES = 512 * _MiB  # of threads' stacks and gRPC's buffers; without the daemon's memory, which says so itself
_THREADS = 24            # that a connection and its loader may start


def check():
    """ResourceExhausted: too little is left."""
    _check_addresses()
    _check_threads()


def _check_addresses():
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    if most - used < _ADDRESSES:
        raise ResourceExhausted(f"the limit of addresses (ulimit -v): {_shown(most - used)} of {_shown(most)} are left, and "
                                f"workers need at least {_shown(_ADDRESSES)}; raise the limit, or give num_workers=0")


def _check_threads():
    """By starting as many: how many a user has, and what a container allows, cannot be asked for."""
    if resource.getrlimit(resource.RLIMIT_NPROC)[0] == resource.RLIM_INFINITY:
        return
    go_on, started = _thread.allocate_lock(), 0
    go_on.acquire()

    def wait():
        with go_on:
            pass

    try:
        for started in range(_THREADS):
            _thread.start_new_thread(wait, ())
    except RuntimeError:
        most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        raise ResourceExhausted(f"the limit of processes and threads (ulimit -u {most}): only {started} more can be started, and "
                                f"a loader with workers needs up to {_THREADS} beside them; raise the limit, use fewer "
                                "processes, or give num_workers=0") from None
    finally:
        go_on.release()


def _shown(nbytes):
    return f"{max(0, nbytes) // _MiB} MiB"
