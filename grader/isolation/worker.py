"""The untrusted end: answers calls with a student's code. Nothing that it says is believed."""

import contextlib
import linecache
import sys

from grader.isolation import protocol
from grader.isolation.wire import Channel, WireError
from grader.judge.call import StudentError
from grader.judge.local import LocalSubmission
from grader.judge.source import Source
from grader.judge.text import text


def serve(channel: Channel) -> None:
    """Load the file that the judge sends and answer its calls, until the judge is gone."""
    header, body = channel.receive()
    source = Source(header["path"], body.decode("utf-8"), header["sha256"])
    # the file itself cannot be read from here, but inspect.getsource (torch.jit.script) should work
    linecache.cache[source.path] = (len(source.text), None, source.text.splitlines(True), source.path)
    submission = LocalSubmission(source)
    reply = _reply(lambda: _load(submission))
    while True:
        with contextlib.suppress(Exception):  # print is the student's to break
            sys.stdout.flush()
            sys.stderr.flush()
        answer, body = reply
        try:
            channel.send(answer | {"id": header["id"]}, body)
        except WireError as error:
            answer, body = protocol.pack_error(protocol.cannot_travel(error))
            channel.send(answer | {"id": header["id"]}, body)
        header, body = channel.receive()
        reply = _reply(lambda header=header, body=body: _run(submission, header, body))


def _load(submission: LocalSubmission) -> protocol.Frame:
    submission.load()
    return {"kind": "loaded"}, b""


def _run(submission: LocalSubmission, header: dict, body: bytearray) -> protocol.Frame:
    if header["do"] == "parameters":
        return protocol.pack_parameters(submission.parameters(protocol.unpack_module(header, body)))
    return protocol.pack_answer(submission.answer(protocol.unpack_call(header, body)))


def _reply(run) -> protocol.Frame:
    try:
        return run()
    except StudentError as error:
        return protocol.pack_error(error)
    except ValueError as error:
        return protocol.pack_error(protocol.cannot_travel(error))
    except KeyboardInterrupt as error:  # nobody is at this keyboard: the student raised it
        seen = text("seen.raised", type=type(error).__name__, says="")
        return protocol.pack_error(StudentError("error", seen, raised=type(error).__name__))
