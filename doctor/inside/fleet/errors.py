"""What went wrong between ranks, told apart by what torch's errors say. Standard library only."""

import socket


def one_line(error):
    return " ".join(str(error).split())[:300]


def told(error):
    """ "RuntimeError: Connection closed by peer"."""
    return "%s: %s" % (type(error).__name__, one_line(error))


def is_timeout(error):
    text = str(error).lower()
    return isinstance(error, socket.timeout) or "timeout" in text or "timed out" in text


def is_unsupported(error):
    text = str(error)
    return isinstance(error, NotImplementedError) or "does not support" in text or "not supported" in text
