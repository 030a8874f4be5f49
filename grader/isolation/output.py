"""What a submission prints: read away so that it never blocks, and kept only at both ends."""

import os

from grader.judge.text import harmless

KEPT = 4096  # bytes at the start, and as many at the end
_CHUNK = 1 << 16


class Output:
    """The reading end of a worker's standard output and error."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        """Forget what was printed so far."""
        self._first = bytearray()
        self._last = bytearray()
        self._length = 0

    def read(self, fd: int) -> bool:
        """Take what is there now, or a part of it if it is much. False at the end of the stream."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True
        self._length += len(data)
        room = KEPT - len(self._first)
        self._first += data[:room]
        self._last = (self._last + data[room:])[-KEPT:]
        return bool(data)

    def drain(self, fd: int) -> None:
        """Take what has been printed, but no more than a pipe holds: the writer may be quick."""
        for _ in range(16):
            before = self._length
            if not self.read(fd) or self._length == before:
                return

    def text(self) -> str:
        """The first and the last of it, without control and direction characters."""
        left_out = self._length - len(self._first) - len(self._last)
        first, last = (bytes(part).decode("utf-8", "replace") for part in (self._first, self._last))
        middle = f"\n[... {left_out} bytes left out ...]\n" if left_out else ""
        return harmless(first + middle + last)
