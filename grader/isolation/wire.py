"""Frames on a private channel: a JSON header and raw bytes, both bounded before anything is allocated.

A frame is the two lengths (big endian, 4 and 8 bytes), the header, and the body. There is no pickle, and
nothing that is read can name a type or a function. Only read(2) and write(2) are used, so that a worker
whose system calls are filtered needs no others.
"""

import json
import os
import select
import struct
import time
from collections.abc import Callable
from typing import NoReturn

_LENGTHS = struct.Struct(">IQ")
LARGEST_HEADER = 256 * 1024
LARGEST_BODY = 64 * 1024 * 1024
_CHUNK = 1 << 16


class WireError(Exception):
    """What arrived is no frame."""


class Channel:
    """One end of a stream. Every wait ends at a deadline of time.monotonic(), if there is one.

    EOFError when the other end is gone, TimeoutError at the deadline, WireError for anything but a frame;
    after any of them the channel is of no further use. The descriptor stays its owner's, who closes it.
    """

    def __init__(self, fd: int):
        self.fd = fd
        self._aside: tuple[int, Callable[[], bool]] | None = None
        os.set_blocking(fd, False)

    def read_aside(self, fd: int, read: Callable[[], bool]) -> None:
        """While waiting, call `read` whenever `fd` has data, until it returns False."""
        self._aside = (fd, read)

    def send(self, header: dict, body: bytes = b"", deadline: float | None = None) -> None:
        """Send one frame."""
        text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
        if len(text) > LARGEST_HEADER or len(body) > LARGEST_BODY:
            raise WireError("too large to send")
        left = memoryview(b"".join((_LENGTHS.pack(len(text), len(body)), text, body)))
        while left:
            _check(deadline)
            try:
                left = left[os.write(self.fd, left[:_CHUNK]) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise EOFError("the other end is gone") from error

    def receive(self, deadline: float | None = None) -> tuple[dict, bytearray]:
        """Receive one frame: its header and its body."""
        text_length, body_length = _LENGTHS.unpack(self._read(_LENGTHS.size, deadline))
        if text_length > LARGEST_HEADER or body_length > LARGEST_BODY:
            raise WireError("a frame that claims to be too large")
        header = parse_header(bytes(self._read(text_length, deadline)))
        return header, self._read(body_length, deadline)

    def _read(self, length: int, deadline: float | None) -> bytearray:
        data = bytearray()  # grows with what has arrived, not with what was announced
        while len(data) < length:
            _check(deadline)
            try:
                piece = os.read(self.fd, min(length - len(data), _CHUNK))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except OSError as error:
                raise EOFError("the other end is gone") from error
            if not piece:
                raise EOFError("the other end is gone")
            data += piece
        return data

    def _wait(self, event: int, deadline: float | None) -> None:
        """Until the channel is ready; what lies aside is read meanwhile."""
        poll = select.poll()
        poll.register(self.fd, event)
        if self._aside:
            poll.register(self._aside[0], select.POLLIN)
        while True:
            left = _check(deadline)
            ready = {fd for fd, _ in poll.poll(None if left is None else left * 1000)}
            if self._aside and self._aside[0] in ready and not self._aside[1]():
                poll.unregister(self._aside[0])
                self._aside = None
            if self.fd in ready:
                return


def _check(deadline: float | None) -> float | None:
    """The seconds that are left, if there is an end to them. TimeoutError if there are none."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def parse_header(text: bytes) -> dict:
    """A header from its bytes. WireError unless it is one JSON object of moderate depth."""
    try:
        header = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise WireError("a header that is no JSON") from error
    if type(header) is not dict:
        raise WireError("a header that is no object")
    return header


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity, which are no JSON
