"""Keeps warnings of what is looked at from the user, who did not ask to look at it.

warnings.catch_warnings would also hide what other threads warn of, may put back another thread's filters, and makes
Python forget which warnings it has shown. This is one more filter, which matches in one thread, and is taken out again.
"""
import contextlib
import threading
import warnings


class _ThisThread:
    """Stands for the pattern of a warning's text."""

    def __init__(self):
        self.thread = threading.get_ident()

    def match(self, text):
        return self.thread == threading.get_ident()

    def __reduce__(self):  # what it is for the walk, if the program's own code reads the filters
        return _ThisThread, ()


def is_quiet(text):
    """Whether a filter of warnings with this pattern is one of these."""
    return type(text) is _ThisThread


@contextlib.contextmanager
def quiet():
    pattern, before = _ThisThread(), warnings.filters
    entry = ("ignore", pattern, Warning, None, 0)
    before.insert(0, entry)
    try:
        yield
    finally:
        pattern.thread = None  # another thread may have copied the list meanwhile
        for filters in (before, warnings.filters):
            filters[:] = [each for each in filters if each is not entry]
