"""One-line messages for the user, through logging: logger "penstock", level INFO."""
import logging

_logger = logging.getLogger("penstock")
_said: set[str] = set()


def say(message):
    """Logs the message; to standard error if the program has not set up logging."""
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("penstock: %(message)s"))
        _logger.addHandler(handler)
        _logger.setLevel(logging.INFO)
    _logger.info(message)


def say_once(message):
    if message not in _said:
        _said.add(message)
        say(message)
