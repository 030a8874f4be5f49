"""From lost checks to the things to fix: names for known mistakes, the most useful first."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from grader.judge.exercise import TODOS
from grader.judge.score import Finding, Result, Score
from grader.judge.submission import Exchange
from grader.judge.text import text


@dataclass(frozen=True)
class Diagnosis:
    """One thing to fix: the result that shows it best, and how many checks were lost along with it."""

    todo: str | None
    result: Result
    lost: int


def with_mistakes(results: Iterable[Result], exchanges: list[Exchange]) -> tuple[Result, ...]:
    """The results with known mistakes named in their findings; `exchanges` are all calls of the run.

    The checks of the whole functions get a name only where the functions of the TODOs are in order: what
    is wrong in a part shows in the whole as well.
    """
    results = tuple(results)
    wrong = ("failed", "error", "forbidden")
    lost = [result for result in results if result.outcome in wrong and result.finding.function]
    parts = [result for result in lost if result.check.todo]
    named = {}
    for function in {result.finding.function for result in parts or lost}:
        of_function = [result for result in parts or lost if result.finding.function == function]
        named |= _name(function, of_function, exchanges)
    return tuple(named.get(result.check.id, result) for result in results)


def _name(function: str, results: list[Result], exchanges: list[Exchange]) -> dict[str, Result]:
    from grader.judge import mistakes  # here, so that a right submission does not wait for the catalogue

    found = mistakes.find(function, exchanges)
    named = {}
    for result in results:
        sign = mistakes.signed(function, result, results, certain=True)
        mistake = sign or found or mistakes.signed(function, result, results)
        if mistake:
            meaning = text(
                "report.same_as", title=mistake.text("title"), explanation=mistake.text("explanation")
            )
            if mistake is not found or not found.alter:
                meaning = mistake.text("explanation")
            finding = replace(result.finding, meaning=meaning, mistake=mistake.id, hint=mistake.text("hint"))
            named[result.check.id] = replace(result, finding=finding)
    return named


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
    """What did not pass: named mistakes first, TODOs not attempted last."""
    lost = [result for result in results if result.outcome != "passed"]
    return sorted(lost, key=lambda result: (result.outcome == "not_attempted", not _is_named(result.finding)))


def _is_named(finding: Finding) -> bool:
    return finding.mistake is not None
