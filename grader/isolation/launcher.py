"""The judge's side of the launcher: a clean process that has torch loaded and forks workers."""

import contextlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from grader.isolation.limits import Limits
from grader.isolation.output import Output
from grader.isolation.removal import remove
from grader.isolation.wire import Channel, WireError
from grader.isolation.zygote import IsolationError, Zygote, last_words

_START_S = 120.0  # a cold import of torch on a busy machine
_ANSWER_S = 60.0  # of the launcher; in a plain process it may have much to clear away
_END_S = 5.0  # that it may take to end


class Worker:
    """A process that runs one submission; dead when it is closed, with all that it has started."""

    def __init__(self, launcher: "Launcher", pid: int, sock: socket.socket, output_fd: int, output: Output):
        self._launcher = launcher
        self._pid = pid
        self._socket = sock
        self._output_fd = output_fd
        self._output = output
        self.channel = Channel(sock.fileno())
        self.channel.read_aside(output_fd, lambda: output.read(output_fd))

    def close(self) -> str:
        """Kill it, and say how it ended: "exit 3", "SIGSEGV", or "SIGKILL" if it was alive."""
        try:
            return self._launcher.kill(self._pid)
        finally:
            self._output.drain(self._output_fd)
            self._socket.close()
            os.close(self._output_fd)

    def drain(self) -> None:
        """Take up what has been printed so far."""
        self._output.drain(self._output_fd)


class Launcher:
    """Forks workers for submissions. Start it before the judge holds any secret.

    require: "sandbox" to accept nothing less. limits: of each submission. without: layers to leave out, to
    see what the others hold. wait: False to return at once, while the launcher still loads torch; then
    the first use of it waits, and raises IsolationError if it must. door: of a zygote that several
    launchers are forked from; without one it has a zygote of its own.
    """

    def __init__(
        self,
        require: str | None = None,
        limits: Limits | None = None,
        without: Collection[str] = (),
        wait: bool = True,
        door: socket.socket | None = None,
    ):
        self.limits = limits or Limits()
        self._require = require
        self._ready = self._closed = False
        self._clean: dict[str, int] | None = None
        self._live: set[int] = set()
        self._folders: str | None = None  # of workers that have no file system of their own
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        self._zygote = None if door else Zygote()
        self._socket, theirs = socket.socketpair()
        self._control = Channel(self._socket.fileno())
        self._started = time.monotonic()
        with theirs:
            try:
                socket.send_fds(door or self._zygote.door, [b"!"], [theirs.fileno(), self._errors.fileno()])
            except OSError as error:
                raise self._died() from error
        self._tell({"limits": asdict(self.limits), "without": sorted(without)})
        if wait:
            self.wait()

    def __enter__(self) -> "Launcher":
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """What is in force: "sandbox" or "process"."""
        self.wait()
        return self._isolation

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in force."""
        self.wait()
        return self._layers

    @property
    def missing(self) -> dict[str, str]:
        """The layers that are not in force, and why."""
        self.wait()
        return self._missing

    def wait(self) -> None:
        """Until workers can be forked. IsolationError if they cannot, or not as was required."""
        if self._ready:
            return
        hello = self._hear(self._started + _START_S)
        self._pid, self._folders = hello["pid"], hello["folders"]
        self._ready = True
        output = Output()
        worker, ready = self._fork(output)  # it sees no submission: only to know how it is locked in
        self._isolation, self._layers, self._missing = (
            ready["isolation"],
            tuple(ready["layers"]),
            ready["missing"],
        )
        worker.close()
        self._clean = self._state()
        if self._require == "sandbox" and self._isolation != "sandbox":
            self.close()
            reasons = "; ".join(f"{layer} ({reason})" for layer, reason in self._missing.items())
            raise IsolationError(f"This machine has no sandbox for submissions. It lacks: {reasons}.")

    def fork(self, output: Output) -> Worker:
        """A fresh, locked worker that has seen no submission yet; its prints go to `output`."""
        self.wait()
        worker, ready = self._fork(output)
        if tuple(ready["layers"]) != self._layers:
            worker.close()
            raise IsolationError(f"A worker started with less isolation. It lacks: {ready['missing']}.")
        return worker

    def _fork(self, output: Output) -> tuple[Worker, dict]:
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        with theirs:
            self._tell({"do": "fork"})
            try:
                socket.send_fds(self._socket, [b"!"], [theirs.fileno(), writing])
            except OSError as error:
                raise self._died() from error
            finally:
                os.close(writing)
        pid = self._hear()["pid"]
        self._live.add(pid)
        worker = Worker(self, pid, ours, reading, output)
        try:
            return worker, worker.channel.receive(time.monotonic() + _ANSWER_S)[0]
        except (EOFError, TimeoutError, WireError) as error:
            how = worker.close()
            raise IsolationError(f"A worker did not start ({how}): {output.text()}") from error

    def kill(self, pid: int) -> str:
        """Kill a worker and everything that it started; how it ended."""
        if self._closed:
            return "SIGKILL"  # with the launcher
        self._live.discard(pid)
        self._tell({"do": "kill", "pid": pid})
        how = self._hear()["how"]
        self.check()
        return how

    def check(self) -> None:
        """IsolationError if a submission has left a trace in the launcher."""
        if self._clean is None:
            return
        now = self._state()
        if now != self._clean:
            self.close()
            raise IsolationError(f"The launcher is no longer clean: {now}, and was {self._clean}.")

    def close(self) -> None:
        """Stop the launcher and all its workers."""
        if self._closed:
            return
        self._closed = True
        if self._ready:
            self._end()
        self._socket.close()
        if self._zygote:
            self._zygote.close()
        self._errors.close()
        if self._folders:
            remove(self._folders)  # the launcher does, unless it was killed

    def _end(self) -> None:
        """See it end, as it does when it hears no more: then nobody holds the other end of its channel."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(_END_S)
            while self._socket.recv(1 << 16):
                pass
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        except OSError:
            pass  # it is gone, and its number may be another's by now

    def _state(self) -> dict[str, int]:
        """Threads, open files and children of the launcher, without its workers; empty where nobody tells."""
        process = Path("/proc") / str(self._pid)
        try:
            children = (process / "task" / str(self._pid) / "children").read_text().split()
            threads, files = (len(os.listdir(process / name)) for name in ("task", "fd"))
        except OSError:
            return {}
        return {"threads": threads, "files": files, "children": len(children) - len(self._live)}

    def _tell(self, header: dict) -> None:
        try:
            self._control.send(header, deadline=time.monotonic() + _ANSWER_S)
        except (EOFError, OSError) as error:
            raise self._died() from error

    def _hear(self, deadline: float | None = None) -> dict:
        try:
            return self._control.receive(deadline or time.monotonic() + _ANSWER_S)[0]
        except (EOFError, TimeoutError, WireError) as error:
            raise self._died() from error

    def _died(self) -> IsolationError:
        words = ""
        if not self._closed:
            words = last_words(self._errors) or (self._zygote.words() if self._zygote else "")
        self.close()
        return IsolationError(f"The launcher of isolated workers died: {words or 'no reason given'}")
