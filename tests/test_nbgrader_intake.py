"""Submissions with odd rights, for an instructor who is not root: read, or noted, and never a crash."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import REFERENCE
from nbgrader_users import User, users

from grader.stub import ROOT

SCRIPT = """
import json, sys
from pathlib import Path
from grader.nbgrader_plugin import intake
place, name, mode = sys.argv[1:]
folder = Path(place, "submitted", "ann", "attention")
(folder / name).chmod(int(mode, 8))
needed = intake.prepare(folder, intake.aside_of(folder))
code = intake.code_of(folder)
text = code and (folder / code).read_text()
print(json.dumps([needed, text, intake.notes_of(folder), intake.in_order(folder)]))
"""
NOTEBOOK = "attention.ipynb"


@pytest.fixture(scope="module")
def instructor():
    with users("teacher") as found:
        user = found["teacher"]
        shutil.copytree(ROOT / "grader", user.home / "grader")
        (user.home / "script.py").write_text(SCRIPT)
        yield user


def hand_in(user: User, name: str) -> Path:
    """A course of the instructor's own, with one submission."""
    course = user.home / name
    folder = course / "submitted" / "ann" / "attention"
    (folder / "student").mkdir(parents=True)
    (folder / "student" / "attention.py").write_text(REFERENCE, encoding="utf-8")
    shutil.copy(ROOT / "assignments" / "source" / "attention" / NOTEBOOK, folder)
    (folder / "submission_secret.txt").write_text("0" * 128)
    (folder / "timestamp.txt").write_text("2026-11-01 10:00:00.000000 UTC")
    for path in (user.home, *user.home.rglob("*")):
        shutil.chown(path, user.name, user.name)
    return course


@pytest.mark.parametrize(
    ("name", "mode", "needed", "is_read", "notes"),
    [
        (".", "0", True, True, []),
        (".", "400", True, True, []),
        (".", "500", False, True, []),
        ("student", "0", True, False, ["code_odd"]),
        ("student", "600", True, False, ["code_odd"]),
        ("student", "500", False, True, []),
        ("student/attention.py", "0", True, False, ["code_odd"]),
        ("student/attention.py", "400", False, True, []),
        (NOTEBOOK, "0", True, True, ["notebook_odd"]),
        ("timestamp.txt", "0", True, True, []),
        ("submission_secret.txt", "0", True, True, []),
    ],
)
def test_rights(instructor, name, mode, needed, is_read, notes):
    course = hand_in(instructor, f"{name} {mode}".replace("/", " "))
    done = instructor.run("script.py", str(course), name, mode)
    assert json.loads(done.stdout) == [needed, REFERENCE if is_read else None, notes, True]
