"""From lost checks to the things to fix: names for known mistakes, the most useful first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from grader.judge.exercise import TODOS
from grader.judge.score import Result, Score
from grader.judge.submission import Exchange
from grader.judge.text import text

FROM_SCRATCH = "written_from_scratch"  # the check behind the gate
PARAMETERS = "parameters_are_four_square_matrices"  # the check of what the constructor makes
_PLAIN = ("_equal_the_naive_loop", "_equals_slices", "_equals_concatenation_and_projection")
_BUILT_WRONG = ("no_parameter", "parameter_shape", "parameter_count", "no_module")


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
    parts = [result for result in lost if result.check.todo or is_built_wrong(result)]
    named = _named(parts or lost, exchanges)
    return tuple(named.get(result.check.id, result) for result in results)


def _named(lost: list[Result], exchanges: list[Exchange]) -> dict[str, Result]:
    """By the id of the check, the results whose mistake is known."""
    if not lost:
        return {}
    from grader.judge import mistakes  # here, so that a right submission does not wait for the catalogue

    functions = {result.finding.function for result in lost}
    found = {function: mistakes.find(function, exchanges) for function in functions}
    whole, inner = found.get("forward"), mistakes.INNER
    if whole and whole.function == inner in found:
        found[inner] = found[inner] or whole  # where L_q = L_k it gives an answer, and raises elsewhere
    named = {}
    for result in lost:
        function, finding = result.finding.function, result.finding
        of_function = [other for other in lost if other.finding.function == function]
        sign = mistakes.signed(function, result, of_function, certain=True)
        mistake = sign or found[function] or mistakes.signed(function, result, of_function)
        if mistake:
            title, meaning, hint = (mistake.text(part) for part in ("title", "explanation", "hint"))
            if mistake is found[function] and mistake.alter:
                meaning = text("report.same_as", title=title, explanation=meaning)
            finding = replace(finding, meaning=meaning, mistake=mistake.id, title=title, hint=hint)
            named[result.check.id] = replace(result, finding=finding)
    return named


def diagnose(score: Score) -> tuple[Diagnosis, ...]:
    """What to fix, in the order of the TODOs: one diagnosis for each TODO whose own checks found something.

    The checks of one TODO are fed with right inputs, so what they find is in that TODO; two known mistakes in
    two functions of a TODO are two diagnoses. The checks of the whole functions speak where no TODO is to
    blame, and first of all where the parameters are not what they should be: that spoils the TODOs too.
    What they say already is not said of a TODO again. TODOs not attempted come after wrong ones.
    """
    forbidden = [result for result in score.results if result.outcome == "forbidden"]
    if forbidden:  # the gate is shut for all checks of three tiers: the one that says so, and nothing else
        gate = [result for result in forbidden if result.check.id == FROM_SCRATCH]
        return (Diagnosis(None, (gate or forbidden)[0], len(forbidden)),)
    whole = _lost(score.of_todo(None))
    built = [result for result in whole if is_built_wrong(result)]
    found = [Diagnosis(None, result, len(whole)) for result in built]
    said = {result.finding.mistake for result in built} - {None}
    for todo in TODOS:
        lost = _lost(score.of_todo(todo.name))
        firsts = {result.finding.function: result for result in reversed(lost)}  # the first of each function
        found += [
            Diagnosis(todo.name, result, len(lost))
            for result in lost
            if result.finding.mistake not in said
            if result is lost[0] or (result.finding.mistake and result is firsts[result.finding.function])
        ]
    if not found and whole:
        found = [Diagnosis(None, whole[0], len(whole))]
    return tuple(sorted(found, key=lambda diagnosis: diagnosis.result.outcome == "not_attempted"))


def is_built_wrong(result: Result) -> bool:
    """Whether a check was lost for what the constructor makes, and not inside the forward that it calls."""
    if result.check.id != PARAMETERS or result.outcome == "passed":
        return False
    key, values = result.finding.seen.key.partition(".")[2], result.finding.seen.values
    if key == "shape":
        return len(re.findall(r"\d+", str(values["expected"]))) == 2  # of a weight, and not of a result
    return key in _BUILT_WRONG or "Module.__init__()" in str(values.get("says"))


def _lost(results: tuple[Result, ...]) -> list[Result]:
    """What did not pass: named mistakes first, then the plainest check, TODOs not attempted last."""
    lost = [result for result in results if result.outcome != "passed"]
    return sorted(lost, key=_order)


def _order(result: Result) -> tuple[bool, bool, bool]:
    named = bool(result.finding.mistake)
    plain = result.check.tier == "shape" or result.check.id.endswith(_PLAIN)
    return result.outcome == "not_attempted", not named, not named and not plain
