"""The judge's side of the zygote: a clean process that has torch loaded, for launchers to be forked from."""

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from grader.isolation.wire import Channel

_BOOT = Path(__file__).with_name("boot.py")


class IsolationError(Exception):
    """Submissions cannot be isolated as they should be. Never a student's fault."""


class Zygote:
    """Whoever holds its door can have launchers of it; it ends when nobody holds the door any more.

    Start it before the judge holds any secret. IsolationError where processes cannot fork.
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise IsolationError(
                "Isolated grading needs a system that can fork: Linux, or macOS with less isolation. "
                "On Windows, use WSL 2."
            )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        self.door, theirs = socket.socketpair()
        with theirs:
            # an environment from before the judge has any secret, and no descriptor but one
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-B", _BOOT, str(theirs.fileno())],
                env={},
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
            )
        Channel(self.door.fileno()).send({"path": _where_torch_is()})
        os.set_blocking(self.door.fileno(), True)

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def words(self) -> str:
        """What it said before it died."""
        return last_words(self._errors)

    def close(self) -> None:
        """Let go of the door, and see that it ends."""
        self.door.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._errors.close()


def last_words(errors: BinaryIO) -> str:
    """The end of what a process wrote into a file of errors."""
    errors.seek(0)
    return errors.read()[-2000:].decode("utf-8", "replace").strip()


def _where_torch_is() -> list[str]:
    """Where this interpreter finds torch, for a process that sees no PYTHONPATH and no user's packages."""
    spec = importlib.util.find_spec("torch")
    return [str(Path(spec.origin).parents[1])] if spec and spec.origin else []
