"""Finds the submissions of a class in a folder, as nbgrader collects them or as flat files."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from grader.judge.text import Text, text

FILE = "attention.py"
# letters and digits of any script, and what login names and e-mail addresses have; no leading dot
_NAME = re.compile(r"\w[\w.@+ -]{0,99}", re.UNICODE)
_TAKEN = (
    "class.json",
    "class.csv",
    "class.html",
    "canvas.csv",
    "moodle.csv",
)  # by the summary, beside the students' folders


class ClassError(Exception):
    """The class cannot be graded as asked; str() says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """One student's submission: the file to grade, or several of which none can be chosen, or none."""

    student: str
    files: tuple[Path, ...]
    base: Path = Path()  # of files that are named from there, so that reports do not tell where they lie


def find_submissions(folder: Path) -> tuple[list[Entry], list[str]]:
    """-> the entries by name, and what was passed over, each with the reason. ClassError without a folder.

    <student>.py, or <student>/[<assignment>/][student/]attention.py. Links are not followed.
    """
    if not folder.is_dir():
        raise ClassError(f"{folder} is not a folder. Name the folder that holds the submissions.")
    entries: dict[str, Entry] = {}
    passed_over = []
    for item in sorted(os.scandir(folder), key=lambda item: item.name):
        if item.name.startswith(".") or item.name == "__pycache__":
            continue
        is_folder = item.is_dir(follow_symlinks=False)
        if not is_folder and not item.name.endswith(".py"):
            passed_over.append(f"{item.name!r}: neither a folder nor a .py file")
            continue
        student = item.name if is_folder else item.name.removesuffix(".py")
        if not _NAME.fullmatch(student) or student.endswith((" ", ".")) or student.casefold() in _TAKEN:
            passed_over.append(f"{student!r}: not a name for a student; rename it")
            continue
        files = files_in(Path(item.path)) if is_folder else (Path(item.path),)
        if student.casefold() in {name.casefold() for name in entries}:  # one folder on many file systems
            passed_over.append(f"{student!r}: there is another submission of that name; rename one")
            continue
        entries[student] = Entry(student, files)
    if not entries and not passed_over:
        raise ClassError(f"{folder} holds no submissions: neither <student>.py nor <student>/.../{FILE}.")
    return list(entries.values()), passed_over


def problem_of(entry: Entry) -> Text | None:
    """Why there is nothing to grade: no file, several, or a link; None if there is one file."""
    if not entry.files:
        return text("source.nothing")
    if len(entry.files) > 1:
        return text("source.several", files=", ".join(str(file) for file in entry.files))
    file = entry.files[0]  # a link could lead to the solution, or to what another has handed in
    # os.path, and not Path: without rights on the folder it says no, and reading the file says why
    return text("source.not_a_file", file=file) if os.path.islink(file) else None


def files_in(folder: Path) -> tuple[Path, ...]:
    """Every attention.py of a submission: in the folder, one below it, or in a folder `student` there."""
    try:
        return tuple(path for path in _candidates(folder) if os.path.lexists(path))
    except OSError:  # no rights on a folder: reading the file will say so
        return (folder / FILE,)


def _candidates(folder: Path) -> list[Path]:
    inner = sorted(
        Path(item.path)
        for item in os.scandir(folder)
        if item.is_dir(follow_symlinks=False) and not item.name.startswith(".")
    )
    places = [folder, *inner, *(path / "student" for path in inner if path.name != "student")]
    return [place / FILE for place in places if not place.is_symlink()]
