"""What can go wrong, as exceptions that are also Python's own: what, why, what to do."""

__all__ = [
    "Error", "InvalidArgument", "NotFound", "PermissionDenied", "FailedPrecondition",
    "ResourceExhausted", "DeadlineExceeded", "Unavailable", "DataLoss", "Internal",
]


class Error(RuntimeError):
    """Any of Penstock's errors."""


class InvalidArgument(Error, ValueError):
    """The call cannot be right; nothing was done."""


class NotFound(Error, LookupError):
    """No such dataset, or no daemon."""


class PermissionDenied(Error, PermissionError):
    """A socket or a path that is not for this user."""


class FailedPrecondition(Error):
    """Wrong state: closed, forked, another version."""


class ResourceExhausted(Error):
    """Does not fit now; the message has the numbers."""


class DeadlineExceeded(Error, TimeoutError):
    """Nothing came in time; the message says which stage is slow."""


class Unavailable(Error, ConnectionError):
    """The daemon is gone."""


class DataLoss(Error):
    """The feed failed: too many bad samples, or its source."""


class Internal(Error):
    """A bug of Penstock."""


class BadSampleWarning(UserWarning):
    """Rows of the batches hold other samples than they should, because those cannot be used."""


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
