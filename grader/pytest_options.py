"""The options of `pytest grader`.

A plug-in of its own, named in pyproject.toml: pytest must know the options before it looks for conftest
files, or it takes the FILE of `--submission FILE` for a test path, and runs a conftest.py beside it.
"""

from pathlib import Path

import pytest

from grader.judge.text import LANGUAGES

SUBMISSION = Path("student") / "attention.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the grader's options."""
    group = parser.getgroup("grader", "attention from scratch")
    group.addoption(
        "--submission", metavar="FILE", default=None, help=f"the file to grade (default: {SUBMISSION})"
    )
    group.addoption(
        "--report-dir", metavar="DIR", default=None, help="where report.json goes (default: report)"
    )
    group.addoption("--seed", type=int, default=0, help="seed of all inputs (default: 0)")
    group.addoption("--lang", choices=LANGUAGES, default="en", help="language of the messages (default: en)")
