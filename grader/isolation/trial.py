"""Tries a step out in a child, where one that fails halfway leaves nothing behind."""

import os
from collections.abc import Callable


def try_in_a_child(action: Callable[[], object]) -> None:
    """Do it in a child alone. OSError if it fails there."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        words = b"it ended the process"
        try:
            action()
            words = b""
        except OSError as error:
            words = (error.strerror or str(error)).encode()
        finally:
            os.write(writing, words)
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:
        words = stream.read()
    os.waitpid(pid, 0)
    if words:
        raise OSError(words.decode())
