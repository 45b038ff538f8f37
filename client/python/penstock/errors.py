"""Exceptions. Each is also one of Python's own; its message has what failed, why, and what to do."""

__all__ = [
    "Error", "InvalidArgument", "NotFound", "PermissionDenied", "FailedPrecondition",
    "ResourceExhausted", "DeadlineExceeded", "Unavailable", "DataLoss", "Internal",
]


class Error(RuntimeError):
    """Base of all of Penstock's errors."""


class InvalidArgument(Error, ValueError):
    """An argument is invalid; nothing was done."""


class NotFound(Error, LookupError):
    """No such dataset, or no daemon."""


class PermissionDenied(Error, PermissionError):
    """This user may not use the socket or the path."""


class FailedPrecondition(Error):
    """Wrong state: closed, forked, another version."""


class ResourceExhausted(Error):
    """It does not fit now; the message has the numbers."""


class DeadlineExceeded(Error, TimeoutError):
    """The timeout ran out; the message names the slow stage."""


class Unavailable(Error, ConnectionError):
    """The daemon is gone."""


class DataLoss(Error, OSError):
    """A sample cannot be used, too many cannot, or the source failed."""


class Internal(Error):
    """A bug in Penstock."""


class BadSampleWarning(UserWarning):
    """Rows of batches hold other samples than they should, because those cannot be used."""


_BY_CODE = {
    "invalid argument": InvalidArgument,
    "not found": NotFound,
    "permission denied": PermissionDenied,
    "failed precondition": FailedPrecondition,
    "resource exhausted": ResourceExhausted,
    "deadline exceeded": DeadlineExceeded,
    "unavailable": Unavailable,
    "data loss": DataLoss,
    "internal error": Internal,
}


def make(code, message):
    """The exception for one of the client's codes (CodeName in penstock/status.h)."""
    return _BY_CODE.get(code, Error)(message)
