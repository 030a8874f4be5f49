"""Makes the exercise from the solution: every solution region becomes "not filled in yet"."""

import argparse
import re
from pathlib import Path

from grader.judge.exercise import TODOS

ROOT = Path(__file__).resolve().parent.parent
SOLUTION = ROOT / "solutions" / "attention.py"
STUDENT = ROOT / "student" / "attention.py"

# Our own cut and not nbgrader's ClearSolutions: each region is to name its TODO in the exception.
_REGION = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n", flags=re.MULTILINE | re.DOTALL
)
_TODO = re.compile(r"# TODO (\d)")


def stub_of(solution: str) -> str:
    """The text of the exercise. ValueError if a region has no TODO above it, or if no region is there."""

    def raise_instead(region: re.Match) -> str:
        if region.group().count("### BEGIN SOLUTION") > 1:
            raise ValueError("a solution region is not closed before the next one begins")
        numbers = _TODO.findall(solution[: region.start()])
        if not numbers:
            raise ValueError("a solution region has no TODO comment above it")
        todo = next(todo for todo in TODOS if todo.number == int(numbers[-1]))
        what = f"TODO {todo.number} ({todo.name}): not filled in yet"
        return f'{region["indent"]}raise NotImplementedError("{what}")\n'

    stub, regions = _REGION.subn(raise_instead, solution)
    if not regions or "SOLUTION" in stub:
        raise ValueError("the solution has no regions, or one that is not closed")
    return stub


def add_arguments(_: argparse.ArgumentParser) -> None:
    """The command takes none."""


def run(_: argparse.Namespace) -> int:
    """The command: write the exercise anew."""
    STUDENT.write_text(stub_of(SOLUTION.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {STUDENT.relative_to(ROOT)}")
    return 0
