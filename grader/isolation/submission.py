"""A submission behind a worker: the same interface as LocalSubmission."""

import contextlib
import time
from pathlib import Path

from torch import Tensor

from grader.isolation import protocol
from grader.isolation.launcher import Launcher, Worker
from grader.isolation.output import Output
from grader.isolation.wire import WireError
from grader.judge.call import Answer, Call, Module, StudentError
from grader.judge.source import Source
from grader.judge.text import text


class WorkerSubmission:
    """Answers calls as LocalSubmission does, from a process that the launcher locks in.

    A worker that dies, hangs or talks nonsense costs the call that it was asked; the next call gets a new
    one. A file that cannot be loaded is loaded once. All requests together have a budget of time, and
    when it is used up every further call fails at once.
    """

    def __init__(self, launcher: Launcher, source: Source):
        self.source = source
        self._launcher = launcher
        self._limits = launcher.limits
        self._worker: Worker | None = None
        self._output = Output()
        self._requests = 0
        self._spent = 0.0
        self._unloadable: StudentError | None = None

    def __enter__(self) -> "WorkerSubmission":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """What is in force around it: "sandbox" or "process"."""
        return self._launcher.isolation

    @property
    def output(self) -> str:
        """The first and last few kB of what the submission has printed."""
        if self._worker:
            self._worker.drain()
        return self._output.text()

    def printed(self) -> str:
        """The first and last few kB of what it has printed since this was last asked."""
        said = self.output
        self._output.clear()
        return said

    def answer(self, call: Call) -> Answer:
        """Run one call. StudentError if the submission gives no usable answer."""
        header, body = self._ask(protocol.pack_call(call), call.function, "answer")
        with self._sound(call.function):
            return protocol.unpack_answer(header, body, call)

    def parameters(self, module: Module) -> dict[str, Tensor]:
        """The distinct parameters of a MultiHeadAttention by their names. StudentError as for `answer`."""
        header, body = self._ask(protocol.pack_module(module), "MultiHeadAttention", "parameters")
        with self._sound("MultiHeadAttention"):
            return protocol.unpack_parameters(header, body)

    def close(self) -> str:
        """Kill the worker, if there is one; how it ended."""
        worker, self._worker = self._worker, None
        return worker.close() if worker else ""

    def _ask(self, frame: protocol.Frame, function: str, kind: str) -> tuple[dict, bytearray]:
        if self._worker is None:
            self._load()
        return self._request(frame, function, kind, self._limits.call_s)

    def _load(self) -> None:
        """A new worker with the student's file in it."""
        if self._unloadable:
            raise self._unloadable
        self._worker = self._launcher.fork(self._output)
        # the name alone: where submissions lie is none of their business
        source = {"path": Path(self.source.path).name, "sha256": self.source.sha256}
        try:
            self._request((source, self.source.text.encode("utf-8")), None, "loaded", self._limits.load_s)
        except StudentError as error:
            self._unloadable = error
            self.close()
            raise

    def _request(
        self, frame: protocol.Frame, function: str | None, kind: str, seconds: float
    ) -> tuple[dict, bytearray]:
        """One frame to the worker and one back, within one deadline. The worker is lost if that fails."""
        budget = self._limits.total_s - self._spent
        if budget <= 0:
            raise StudentError("timeout", text("seen.no_time_left", seconds=self._limits.total_s))
        self._requests += 1
        header, body = frame
        started = time.monotonic()
        deadline = started + min(seconds, budget)
        try:
            self._worker.channel.send(header | {"id": self._requests}, body, deadline)
            header, body = self._worker.channel.receive(deadline)
        except TimeoutError:
            self.close()
            raise _timed_out(function, min(seconds, budget)) from None
        except EOFError:
            raise _ended(function, self.close()) from None
        except WireError:
            self.close()
            raise _garbled(function) from None
        except BaseException:
            self.close()  # a request without its answer would be answered at the next one
            raise
        finally:
            self._spent += time.monotonic() - started
        with self._sound(function):
            if header.get("id") != self._requests:
                raise WireError("an answer to something else")
            if header.get("kind") == "error":
                raise protocol.unpack_error(header, self.source.text.count("\n") + 1)
            if header.get("kind") != kind:
                raise WireError("an answer of another kind")
        return header, body

    @contextlib.contextmanager
    def _sound(self, function: str | None):
        """Nonsense from the worker is the end of it."""
        try:
            yield
        except WireError:
            self.close()
            raise _garbled(function) from None


def _timed_out(function: str | None, seconds: float) -> StudentError:
    if function is None:
        return StudentError("timeout", text("seen.import_timeout", seconds=round(seconds, 1)))
    return StudentError("timeout", text("seen.timeout", name=function, seconds=round(seconds, 1)))


def _ended(function: str | None, how: str) -> StudentError:
    if function is None:
        return StudentError("crashed", text("seen.import_crashed", how=how))
    return StudentError("crashed", text("seen.crashed", name=function, how=how))


def _garbled(function: str | None) -> StudentError:
    return StudentError("crashed", text("seen.garbled", name=function or "import"))
