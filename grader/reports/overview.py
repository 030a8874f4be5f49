"""What every report says of a score: the state of each TODO, what to fix and where, what leaks."""

from collections import Counter
from dataclasses import replace

from grader.judge.diagnosis import Diagnosis, diagnose
from grader.judge.exercise import TODOS, Todo
from grader.judge.score import Result, Score
from grader.judge.text import printable

LEAK = 1e-12  # as in the checks of tier 2


def state_of(todo: Todo, score: Score) -> str:
    """ "passed", "open" (not attempted), "closed" (by the gate), "failed", or "unknown": none of it ran."""
    outcomes = {result.outcome for result in score.of_todo(todo.name)}
    if not outcomes:
        return "unknown"
    if outcomes == {"passed"}:
        return "passed"
    if outcomes <= {"passed", "not_attempted"}:
        return "open"
    return "closed" if outcomes <= {"passed", "forbidden"} else "failed"


def to_fix(score: Score) -> list[Diagnosis]:
    """The diagnoses, the most useful first; one that says the same of several TODOs is there once.

    A file that cannot be loaded is one thing to fix.
    """
    lost = Counter(_reason(result) for result in score.results if result.finding)
    found: dict[object, Diagnosis] = {}
    for diagnosis in diagnose(score):
        reason = _reason(diagnosis.result)
        if reason in found:
            diagnosis = replace(found[reason], todo=None, lost=lost[reason])
        found[reason] = diagnosis
    return list(found.values())


def _reason(result: Result) -> tuple:
    finding = result.finding
    return finding.seen.say("en"), finding.line if finding.line else result.check.id


def where(diagnosis: Diagnosis, score: Score) -> str:
    """The TODO, the function and the line of the student's file that a thing to fix is in."""
    finding = diagnosis.result.finding
    parts = []
    if diagnosis.todo:
        number = next(todo.number for todo in TODOS if todo.name == diagnosis.todo)
        parts.append(f"TODO {number} ({diagnosis.todo})")
    if finding.function:
        parts.append(f"{finding.function}()")
    parts.append(f"{printable(score.path)}:{finding.line}" if finding.line else printable(score.path))
    return ", ".join(parts)


def has_leak(score: Score) -> bool:
    """Whether an output moves with a later token."""
    leak_map = score.leak_map or ()
    return any(moved > LEAK for i, row in enumerate(leak_map) for moved in row[i + 1 :])
