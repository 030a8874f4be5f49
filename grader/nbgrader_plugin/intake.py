"""Brings what was handed in into the one form that grading expects, and notes what was out of order.

A submission in order holds the notebook, student/attention.py, nbgrader's two files, and nothing else: no
links, nothing large. Everything is read through descriptors that follow no link, so that nobody who can still
write to the folder gets the instructor to copy a file of the instructor's.
"""

import contextlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from nbgrader.utils import parse_utc

from grader.nbgrader_plugin.assignments import notebook_of

CODE = ("student", "attention.py")
NOTES_FILE = "intake.json"
BLANK = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
NOTES = (  # keys of messages: the group "feedback" says them
    "notebook_missing",
    "notebook_renamed",
    "notebook_odd",
    "notebook_invalid",
    "code_odd",
    "code_misplaced",
)
LARGEST_NOTEBOOK, LARGEST_CODE, LARGEST_LINE = 20_000_000, 2_000_000, 1000
_MOST_NOTEBOOKS = 20


def in_order(folder: Path) -> bool:
    """Whether a submission needs no preparing: all that counts is there, is regular and can be read."""
    try:
        return _in_order(folder)
    except OSError:  # no rights on a folder
        return False


def _in_order(folder: Path) -> bool:
    here = {entry.name: entry for entry in os.scandir(folder)}
    student = here.pop("student", None)
    here.pop(NOTES_FILE, None)
    needed = {notebook_of(folder.name), "submission_secret.txt"}
    if not needed <= set(here) <= needed | {"timestamp.txt"}:
        return False
    if student:
        if not student.is_dir(follow_symlinks=False):
            return False
        here |= {entry.name: entry for entry in os.scandir(student)}
        if not set(os.listdir(student)) <= {CODE[1]}:
            return False
    with _opened(folder) as top:
        return (
            all(entry.is_file(follow_symlinks=False) for entry in here.values())
            and all(entry.stat().st_size <= LARGEST_NOTEBOOK for entry in here.values())
            and all(os.access(entry.path, os.R_OK) for entry in here.values())
            and ("timestamp.txt" not in here or _timestamp(top) is not None)
        )


def prepare(folder: Path, aside: Path) -> bool:
    """Put one submission in order; what it was goes to `aside`, whole. -> whether that was needed."""
    is_folder = folder.is_dir() and not folder.is_symlink()
    if is_folder and in_order(folder):
        return False
    fresh = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    if is_folder:
        folder.chmod(0o700)  # to be read, and moved
        take(folder, fresh, notebook_of(folder.name))
    else:
        empty(fresh, notebook_of(folder.name))
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.rename(folder, aside / f"{time.strftime('%Y-%m-%d %H.%M.%S')} {secrets.token_hex(2)}")
    os.rename(fresh, folder)
    return True


def take(source: Path, target: Path, notebook: str, timestamp: str | None = None) -> None:
    """Copy what counts of a submission into a new folder; what does not count stays where it is.

    notebook: its file name.
    """
    notes = []
    target.mkdir(mode=0o755, parents=True)
    with _opened(source) as top:
        (target / notebook).write_bytes(_notebook(top, notebook, notes))
        code = _code(top, notes)
        secret = _content(top, "submission_secret.txt", LARGEST_LINE)
        timestamp = timestamp or _timestamp(top)
    if code is not None:
        (target / CODE[0]).mkdir()
        target.joinpath(*CODE).write_bytes(code)
    (target / "submission_secret.txt").write_bytes(secret or secrets.token_hex(64).encode())
    if timestamp:
        (target / "timestamp.txt").write_text(timestamp, encoding="ascii")
    if notes:
        (target / NOTES_FILE).write_text(json.dumps(notes), encoding="ascii")


def empty(target: Path, notebook: str, timestamp: str | None = None) -> None:
    """Make a submission with nothing in it, ready to be graded as that."""
    nothing = target.with_name(f"{target.name}.nothing")
    nothing.mkdir(parents=True)
    take(nothing, target, notebook, timestamp)
    nothing.rmdir()


def notes_of(folder: Path) -> list[str]:
    """What was out of order in a submission: keys of NOTES, whatever the file says."""
    try:
        with _opened(folder) as top:
            found = json.loads(_content(top, NOTES_FILE, LARGEST_LINE) or b"[]")
    except (OSError, ValueError, RecursionError):
        return []
    return [note for note in NOTES if isinstance(found, list) and note in found]


def code_of(folder: Path) -> Path | None:
    """The file to grade, from the folder; None if there is none that is no link."""
    file = folder.joinpath(*CODE)
    # os.path, and not Path: where there are no rights it says no
    if any(map(os.path.islink, (folder, file.parent, file))) or not os.path.exists(file):
        return None
    return Path(*CODE)


def before_autograde(assignment: str, student: str, notebooks: list[str]) -> None:
    """nbgrader's hook before each submission: `notebooks` are its notebooks, and ours to change."""
    folder = Path(notebooks[0]).parent
    if prepare(folder, aside_of(folder)):
        notebooks[:] = [str(folder / notebook_of(assignment))]


def aside_of(folder: Path) -> Path:
    """Where what was handed in as `folder` (.../submitted/<student>/<assignment>) is kept."""
    return folder.parents[2] / "set_aside" / folder.parent.name / folder.name


def _notebook(top: int, notebook: str, notes: list[str]) -> bytes:
    content = _content(top, notebook, LARGEST_NOTEBOOK)
    if content is None and _exists(top, notebook):
        notes.append("notebook_odd")
        return BLANK
    if content is None:
        others = [name for name in sorted(os.listdir(top)) if name.endswith(".ipynb")]
        found = [_content(top, name, LARGEST_NOTEBOOK) for name in others[:_MOST_NOTEBOOKS]]
        found = [content for content in found if content is not None]
        if len(found) == 1:
            notes.append("notebook_renamed")
            return found[0]
    if content is None or content == BLANK:
        notes.append("notebook_missing")
        return BLANK
    return content


def _code(top: int, notes: list[str]) -> bytes | None:
    exists = _exists(top, CODE[0])
    if exists:
        with contextlib.suppress(OSError), _opened(CODE[0], top) as student:
            content = _content(student, CODE[1], LARGEST_CODE)
            exists = _exists(student, CODE[1])
            if content is not None:
                return content
    misplaced = _content(top, CODE[1], LARGEST_CODE)
    if misplaced is not None:
        notes.append("code_misplaced")
    elif exists or _exists(top, CODE[1]):
        notes.append("code_odd")
    return misplaced


def _timestamp(top: int) -> str | None:
    """What nbgrader wrote, if nbgrader can read it: it fails on anything else, for the whole class."""
    with contextlib.suppress(ValueError, OverflowError, TypeError, AttributeError):
        words = (_content(top, "timestamp.txt", LARGEST_LINE) or b"").decode("ascii").strip()
        if words and parse_utc(words):
            return words
    return None


@contextlib.contextmanager
def _opened(folder: Path | str, top: int | None = None) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _exists(top: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=top, follow_symlinks=False)
    except PermissionError:
        return True  # for all that we know
    except OSError:
        return False
    return True


def _content(top: int, name: str, largest: int) -> bytes | None:
    """The content of a regular file that is no link and not too large, else None."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=top)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(largest + 1)
    finally:
        os.close(descriptor)
    return content if len(content) <= largest else None


def submissions(course: Path, assignment: str) -> list[Path]:
    """The folders of an assignment's submissions, by student."""
    return sorted(course.glob(f"submitted/*/{assignment}"))
