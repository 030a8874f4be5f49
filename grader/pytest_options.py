"""The options and marks of `pytest grader`.

A plug-in of its own, named in pyproject.toml: pytest must know the options before it looks for conftest
files, or it takes the FILE of `--submission FILE` for a test path, and runs a conftest.py beside it.
"""

from pathlib import Path

import pytest

from grader.judge.exercise import TODOS
from grader.judge.text import LANGUAGES

SUBMISSION = Path("student") / "attention.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the grader's options."""
    group = parser.getgroup("grader", "attention from scratch")
    group.addoption(
        "--submission", metavar="FILE", default=None, help=f"the file to grade (default: {SUBMISSION})"
    )
    group.addoption(
        "--report-dir", metavar="DIR", default=None, help="where the report goes (default: report)"
    )
    group.addoption("--no-html", action="store_true", help="write report.json alone, and no report.html")
    group.addoption("--seed", default=None, help="seed of all inputs (default: 0; official: a secret one)")
    group.addoption("--isolated", action="store_true", help="run the submission in a locked-in process")
    group.addoption("--official", action="store_true", help="add the hidden checks; implies --isolated")
    group.addoption(
        "--accept-less-isolation",
        action="store_true",
        help="let --official go on where this machine has no full sandbox; the report says what was in force",
    )
    group.addoption("--lang", choices=LANGUAGES, default="en", help="language of the messages (default: en)")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks of the checks, for whoever imports them under pytest."""
    for todo in TODOS:
        config.addinivalue_line("markers", f"{todo.marker}: checks of TODO {todo.number} ({todo.name})")
    config.addinivalue_line("markers", "weight(n): what a check counts within its tier (default: 1)")
