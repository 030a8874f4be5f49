"""The file itself: what it is, how it is written, what it is called, and where it lies."""

import os
import socket
from pathlib import Path

from . import REFERENCE, Attack

_RIGHT = REFERENCE.read_text(encoding="utf-8")


def _file(folder: Path, student: str) -> Path:
    """<student>/attention.py, which is still to be made."""
    (folder / student).mkdir()
    return folder / student / "attention.py"


def _fifo(folder: Path, student: str, _: bytes) -> None:
    os.mkfifo(_file(folder, student))


def _link(target: str, flat: bool = False):
    def place(folder: Path, student: str, _: bytes) -> None:
        (folder / f"{student}.py" if flat else _file(folder, student)).symlink_to(target)

    return place


def _to_the_right_one(flat: bool, what: str):
    def place(folder: Path, student: str, _: bytes) -> None:
        right = folder.parent / "right"
        right.mkdir(exist_ok=True)
        (right / "attention.py").write_text(_RIGHT, encoding="utf-8")
        if what == "file":
            (folder / f"{student}.py" if flat else _file(folder, student)).symlink_to(right / "attention.py")
        elif what == "folder":
            (folder / student).symlink_to(right)
        else:
            (folder / student).mkdir()
            (folder / student / what).symlink_to(right)

    return place


def _socket(folder: Path, student: str, _: bytes) -> None:
    file = _file(folder, student)
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(file.parent)  # the whole path may be too long for a socket
        try:
            one.bind(file.name)
        finally:
            os.chdir(here)


def _folder(folder: Path, student: str, source: bytes) -> None:
    file = _file(folder, student)
    file.mkdir()
    (file / "__init__.py").write_bytes(source)


def _sparse(folder: Path, student: str, _: bytes) -> None:
    with open(folder / f"{student}.py", "wb") as file:
        file.truncate(1 << 40)


def _mode(mode: int, of_folder: bool):
    def place(folder: Path, student: str, source: bytes) -> None:
        file = _file(folder, student)
        file.write_bytes(source)
        (file.parent if of_folder else file).chmod(mode)

    return place


def _named(name: str | bytes):
    def place(folder: Path, student: str, source: bytes) -> None:
        number = student.split("-")[0]
        end = os.fsencode(name)
        with open(os.path.join(os.fsencode(folder), os.fsencode(number) + b"-" + end + b".py"), "wb") as file:
            file.write(source)

    return place


def _exactly(name: str):
    def place(folder: Path, student: str, source: bytes) -> None:
        (folder / name).mkdir()
        (folder / name / "attention.py").write_bytes(source)

    return place


def _below(*parts: str | bytes):
    def place(folder: Path, student: str, source: bytes) -> None:
        (folder / student).mkdir()
        path = os.fsencode(folder / student)
        for part in parts:
            path = os.path.join(path, os.fsencode(part))
            os.mkdir(path)
        with open(os.path.join(path, b"attention.py"), "wb") as file:
            file.write(source)

    return place


def _two(folder: Path, student: str, source: bytes) -> None:
    for inner in ("a\x1b[2J", "b\u202e", "c" * 200):
        (folder / student / inner).mkdir(parents=True)
        (folder / student / inner / "attention.py").write_bytes(source)


def _crowd(folder: Path, student: str, source: bytes) -> None:
    _file(folder, student).write_bytes(source)
    for number in range(3000):
        (folder / student / f"folder{number}").mkdir()


def _other_name(name: str):
    def place(folder: Path, student: str, source: bytes) -> None:
        (folder / student).mkdir()
        (folder / student / name).write_bytes(source)

    return place


def _odd(name: str, place, status=("unreadable",), **more) -> Attack:
    return Attack(name, "odd file", place=place, status=status, **{"weakness": 4} | more)


def _text(name: str, text: str | bytes, status=("unreadable",), **more) -> Attack:
    return Attack(name, "odd text", text=text, status=status, **{"weakness": 4} | more)


def _name(name: str, place, status=(), **more) -> Attack:
    return Attack(name, "odd name", place=place, status=status, **more)


_SMUGGLED = """# -*- coding: {coding} -*-
import torch
{comment}
raise SystemExit(0)
"""

ATTACKS = [
    _odd("fifo", _fifo),
    _odd("socket", _socket),
    _odd("device", _link("/dev/zero")),
    _odd("device-flat", _link("/dev/stdin", flat=True)),
    _odd("link-to-the-solution", _to_the_right_one(False, "file")),
    _odd("link-to-the-solution-flat", _to_the_right_one(True, "file")),
    _odd("folder-that-is-a-link", _to_the_right_one(False, "folder"), status=()),
    _odd("inner-folder-that-is-a-link", _to_the_right_one(False, "student")),
    _odd("link-to-nothing", _link("/nowhere", flat=True)),
    _odd("link-to-the-seed", _link("../../out/.attention-class.json")),
    _odd("a-folder", _folder),
    _odd("sparse", _sparse),
    _odd("file-without-rights", _mode(0, of_folder=False), status=("unreadable", "graded")),  # root reads it
    _odd("folder-without-rights", _mode(0, of_folder=True), status=("unreadable", "graded")),
    _text("empty", ""),
    _text("large", _RIGHT + "\n#" + "x" * 200_000),
    _text("latin-1", _RIGHT.encode() + b"\n# \xff\xfe\n"),
    _text("utf-16", _RIGHT.encode("utf-16")),
    _text("nul", _RIGHT + "\n\0"),
    _text("tabs", "if 1:\n        x = 1\n\ty = 2\n"),
    _text("deep-signs", "x = " + "-" * 100_000 + "1\n"),
    _text("deep-brackets", "x = " + "(" * 10_000 + ")" * 10_000 + "\n"),
    _text("deep-sum", "x = " + "+".join("1" * 2000) + "\n", status=("unreadable", "graded")),
    _text("brackets-that-do-not-close", "f(" * 150 + "1 1" + ")" * 150 + "\n"),
    _text("many-statements", "a = 1;" * 30_000, status=("graded", "unreadable", "crashed")),
    _text("one-long-line", "x = '" + "y" * 190_000 + "'\n", status=("graded",)),
    _text("notebook", '{"cells": [], "nbformat": 4}', status=("graded",)),
    _text("a-zip", b"PK\x03\x04" + bytes(500)),
    Attack(
        "byte-order-mark",
        "odd text",
        place=lambda folder, student, source: (folder / f"{student}.py").write_bytes(
            b"\xef\xbb\xbf" + source.replace(b"\n", b"\r\n")
        ),
        weakness=4,
    ),
    Attack(
        "old-line-ends",
        "odd text",
        place=lambda folder, student, source: (folder / f"{student}.py").write_bytes(
            source.replace(b"\n", b"\r")
        ),
        weakness=4,
    ),
    # In UTF-7 and unicode_escape the comment would be code, which the scan of the text does not see.
    _text(
        "smuggled-in-utf-7",
        _SMUGGLED.format(coding="utf-7", comment="# +AAo-exec(open('@REPO@/solutions/attention.py').read())"),
        status=("graded",),
    ),
    _text(
        "smuggled-in-an-escape",
        _SMUGGLED.format(coding="unicode_escape", comment="# \\x0aimport os; os._exit(0)"),
        status=("graded",),
    ),
    _name("name-of-control-characters", _named("\x1b[2J\x1b]0;owned\x07\n\u202e")),
    _name("name-that-is-no-utf-8", _named(b"\xff\xfe")),
    _name("name-of-markup", _named("[red]<script>,\"=1'")),
    _name("long-name", _named("x" * 150)),
    _name("class-json", _exactly("class.json")),
    _name("class-csv", _exactly("Class.CSV")),
    _name("name-of-a-formula", _exactly("=1+1")),
    _name("with-a-space-at-its-end", _exactly("ann ")),
    _name("inner-name-no-utf-8", _below(b"\xff\xfe"), status=("graded",)),
    _name("inner-name-of-control-characters", _below("\x1b[2J\u202e\r", "student"), status=("graded",)),
    _name("two-files", _two, status=("unreadable",)),
    _name("crowd", _crowd, status=("graded",)),
    _name("too-deep", _below("a", "b", "c"), status=("unreadable",)),
    _name("other-name", _other_name("Attention.py"), status=("unreadable",)),
]
