"""From lost checks to the things to fix, most useful first."""

from dataclasses import dataclass

from grader.judge.exercise import TODOS
from grader.judge.score import Result, Score


@dataclass(frozen=True)
class Diagnosis:
    """One thing to fix: the result that shows it best, and how many checks were lost along with it."""

    todo: str | None
    result: Result
    lost: int


def diagnose(score: Score) -> tuple[Diagnosis, ...]:
    """One diagnosis for each TODO whose own checks found something, in the order of the TODOs.

    The checks of one TODO are fed with right inputs, so what they find is in that TODO. The checks of the
    whole functions speak only where no TODO is to blame. TODOs not attempted come after wrong ones.
    """
    found = []
    for todo in TODOS:
        lost = _lost(score.of_todo(todo.name))
        if lost:
            found.append(Diagnosis(todo.name, lost[0], len(lost)))
    if not found:
        lost = _lost(score.of_todo(None))
        found = [Diagnosis(None, lost[0], len(lost))] if lost else []
    return tuple(sorted(found, key=lambda diagnosis: diagnosis.result.outcome == "not_attempted"))


def _lost(results: tuple[Result, ...]) -> list[Result]:
    """What did not pass; values before shapes say more, but a wrong shape comes first: it spoils the rest."""
    lost = [result for result in results if result.outcome != "passed"]
    return sorted(lost, key=lambda result: result.outcome == "not_attempted")
