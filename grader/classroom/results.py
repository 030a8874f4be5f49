"""The folder of results: owned by the run, a report for each student, written in one step each."""

import hashlib
import json
import os
import secrets
import stat
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.classroom.collect import ClassError
from grader.reports.files import write_json

_MARK = ".attention-class.json"  # of a folder that a run made
_PACKAGE = Path(__file__).resolve().parent.parent


class Results:
    """DIR of a class run. ClassError if it is not ours to write into."""

    def __init__(self, folder: Path, seed: str | None):
        self.folder = folder
        self._make(folder)
        mark = folder / _MARK
        if mark.exists():
            self.seed = self._read_mark(mark)
            if seed is not None and seed != self.seed:
                raise ClassError(f"{folder} holds results of another seed. Name another --out for this one.")
        elif any(folder.iterdir()):
            raise ClassError(f"{folder} is not empty and was not made by a class run. Name another --out.")
        else:
            self.seed = seed if seed is not None else secrets.token_hex(16)
            write_json({"seed": self.seed}, mark)

    def report(self, student: str) -> Path:
        """Where a student's report goes; its folder is there and ours."""
        self._make(self.folder / student)
        return self.folder / student / "report.json"

    def finished(self, student: str, key: str) -> bool:
        """Whether a verdict on exactly this submission is there already."""
        file = self.report(student)
        if file.is_symlink() or not file.is_file():
            return False
        try:
            report = json.loads(file.read_text(encoding="utf-8"))
            return report["key"] == key and report["score"] is not None
        except (ValueError, KeyError, TypeError, OSError):
            return False

    def read(self, student: str) -> dict[str, Any]:
        """A student's report. ValueError or OSError if there is none."""
        return json.loads(self.report(student).read_text(encoding="utf-8"))

    def summary(self) -> dict[str, Any] | None:
        """The class.json of the last run, if there is one that can be read."""
        try:
            summary = json.loads((self.folder / "class.json").read_text(encoding="utf-8"))
            return summary if isinstance(summary["students"], list) else None
        except (ValueError, KeyError, TypeError, OSError):
            return None

    def _read_mark(self, mark: Path) -> str:
        try:
            return str(json.loads(mark.read_text(encoding="utf-8"))["seed"])
        except (ValueError, KeyError, TypeError, OSError):
            raise ClassError(f"{mark} is damaged. Name another --out.") from None

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = folder.lstat()
        except OSError as error:
            raise ClassError(f"{folder} cannot hold results: {error.strerror}.") from None
        ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISDIR(status.st_mode) or not ours or open_to_others:
            raise ClassError(
                f"{folder} must be a folder of your own that nobody else can write to, and no link: "
                "results could be planted in it."
            )


def key_of(content: str, seed: str, isolation: str, lang: str) -> str:
    """What a report depends on: the file (its digest), the judge, the seed, the isolation, the language."""
    parts = [content, judge_version(), seed, isolation, lang]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def judge_version() -> str:
    """A digest of everything that decides or shows: the package's files and the release of torch."""
    digest = hashlib.sha256(version("torch").encode())
    for file in sorted(_PACKAGE.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(_PACKAGE)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
