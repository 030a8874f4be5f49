"""A student's file as text: read once, decoded once, and never run from here."""

import ast
import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.judge.text import Text, text

LARGEST = 200_000  # bytes; the reference has 5,000, and a tree takes a thousand bytes for one of text


class SourceError(Exception):
    """The file cannot be graded at all; `message` says why, str() in English."""

    def __init__(self, message: Text):
        super().__init__(message.say("en"))
        self.message = message


@dataclass(frozen=True)
class Source:
    """The one text that is scanned, compiled and quoted, and where it came from."""

    path: str
    text: str
    sha256: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. SourceError if the text is no Python."""
        try:
            return ast.parse(self.text, filename=self.path)
        except SyntaxError as error:
            key = "source.syntax" if error.lineno else "source.unreadable"  # NUL characters have no line
            problem = text(key, file=self.path, line=error.lineno, problem=error.msg)
            raise SourceError(problem) from None
        except (ValueError, RecursionError, MemoryError) as error:  # nesting without end
            raise SourceError(text("source.unreadable", file=self.path, problem=error)) from None

    def line_of(self, function: str) -> int | None:
        """The line where the body of a function or method begins, after its docstring; None without one."""
        return self._lines.get(function)

    @cached_property
    def _lines(self) -> dict[str, int]:
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                # the last definition wins, as in Python
                found[node.name] = body[0].lineno if body else node.lineno
        return found


def read_source(path: Path | str) -> Source:
    """Read a submission. SourceError unless it is a regular, small file of Python in UTF-8."""
    name = os.fspath(path)
    data = _read(name)
    try:
        decoded = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceError(text("source.not_utf8", file=name, line=line)) from None
    if not decoded.strip():
        raise SourceError(text("source.empty", file=name))
    source = Source(name, decoded, hashlib.sha256(data).hexdigest())
    _ = source.tree  # no Python: say so now
    return source


def _read(name: str) -> bytes:
    try:
        # O_NONBLOCK: a FIFO that nobody writes to must not hold the judge
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(text("source.missing", file=name, problem=reason)) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SourceError(text("source.not_a_file", file=name))
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise SourceError(text("source.too_large", file=name, limit=LARGEST))
    return data
