"""The kill matrix: every case of the corpus against every tier, as a Markdown table.

    python tests/kill_matrix.py                    public checks, seed 0
    python tests/kill_matrix.py --seeds 20         right cases on seeds 0 to 19, and the margins
    python tests/kill_matrix.py --official         hidden checks too

Exits 1 when a wrong case escapes, a right one fails, or too few mistakes are called by their name.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from grader.judge.diagnosis import diagnose
from grader.judge.score import TIERS, Score
from grader.run import grade
from tests.corpus import Case, right_cases, source_of, wrong_cases

NAMED = 0.97  # of the cases that ordinary values show


@dataclass(frozen=True)
class Verdict:
    """What the judge said of one case, in plain values."""

    case: Case
    seed: int
    score: float | None
    tiers: tuple[float, ...]  # the share that each tier earned
    todos: frozenset[str | None]  # whose checks failed
    mistakes: frozenset[str]
    margins: dict[float, float]  # tolerance -> the largest error, where a check passed

    @property
    def caught(self) -> bool:
        """Below 100, and blamed on the right TODOs: on no other, and on none where a given body is wrong."""
        return self.score is not None and self.score < 100 and _as_set(self.case.todo) <= self.todos

    @property
    def blamed(self) -> bool:
        """On the right TODOs and on no other."""
        return _as_set(self.case.todo) == self.todos - {None}

    @property
    def named(self) -> bool:
        """By the right names, all of them."""
        return _as_set(self.case.mistake) <= self.mistakes


def _as_set(one_or_more: str | tuple[str, ...] | None) -> set[str]:
    return (
        set() if one_or_more is None else {one_or_more} if isinstance(one_or_more, str) else set(one_or_more)
    )


def judge(case: Case, seed: int = 0, official: bool = False) -> Verdict:
    """Grade one case in this process."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder) / "attention.py"
        file.write_text(source_of(case), encoding="utf-8")
        # the device is the one property that is judged by hidden checks alone
        score = grade(str(file), seed, official=official or case.shown_by == "device")
    return _verdict(case, seed, score)


def _verdict(case: Case, seed: int, score: Score) -> Verdict:
    margins: dict[float, float] = {}
    for result in score.results:
        if result.outcome == "passed" and result.measurement:
            tolerance = result.measurement.tolerance
            margins[tolerance] = max(margins.get(tolerance, 0.0), result.measurement.error)
    found = [diagnosis.result.finding.mistake for diagnosis in diagnose(score)]
    return Verdict(
        case,
        seed,
        score.score,
        tuple(tier.score / tier.tier.points for tier in score.tiers),
        frozenset(result.check.todo for result in score.results if result.outcome != "passed"),
        frozenset(mistake for mistake in found if mistake),
        margins,
    )


def judge_all(cases: Iterable[Case], seeds: Iterable[int] = (0,), official: bool = False) -> list[Verdict]:
    """Grade all cases on two cores."""
    work = [(case, seed) for seed in seeds for case in cases]  # the oracle remembers the last seeds
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(partial(_judge_one, official=official), work, chunksize=4))


def _judge_one(work: tuple[Case, int], official: bool) -> Verdict:
    return judge(*work, official=official)


def _table(verdicts: list[Verdict]) -> list[str]:
    lines = [
        "| case | " + " | ".join(str(number) for number in range(1, len(TIERS) + 1)) + " | TODO | named |",
        "|---" * (len(TIERS) + 3) + "|",
    ]
    for verdict in verdicts:
        shares = " | ".join(f"{share:.0%}" for share in verdict.tiers)
        todos = ", ".join(sorted(todo or "whole" for todo in verdict.todos))
        lines.append(f"| {verdict.case.name} | {shares} | {todos} | {', '.join(sorted(verdict.mistakes))} |")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Print the matrix and its totals; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="right cases on seeds 0 to N - 1 (default: 1)")
    parser.add_argument("--official", action="store_true", help="with the hidden checks")
    options = parser.parse_args(arguments)
    wrong = judge_all(wrong_cases(), official=options.official)
    right = judge_all(right_cases(), range(options.seeds), options.official)
    by_value = [verdict for verdict in wrong if verdict.case.shown_by == "value"]
    named = sum(verdict.named for verdict in by_value)
    escaped = [verdict for verdict in wrong if not verdict.caught]
    unfair = [verdict for verdict in right if verdict.score != 100]
    astray = [verdict for verdict in by_value if not verdict.blamed]
    print("\n".join(_table(wrong)))
    print(f"\n- wrong cases: {len(wrong)}, caught: {len(wrong) - len(escaped)}")
    print(f"- of {len(by_value)} that ordinary values show: TODO right in {len(by_value) - len(astray)},")
    print(f"  called by name: {named} ({named / len(by_value):.1%})")
    print(f"- right cases: {len(right_cases())} on {options.seeds} seeds, false failures: {len(unfair)}")
    for tolerance in sorted({tolerance for verdict in right for tolerance in verdict.margins}):
        largest, name = max((v.margins[tolerance], v.case.name) for v in right if tolerance in v.margins)
        print(f"- tolerance {tolerance:g}: largest error of a right case {largest:.2g} ({name})")
    for label, verdicts in (("escaped", escaped), ("unfair", unfair), ("wrong TODO", astray)):
        for verdict in verdicts:
            todos = sorted(map(str, verdict.todos))
            print(f"- {label}: {verdict.case.name}, seed {verdict.seed}: {verdict.score}, {todos}")
    for verdict in by_value:
        if not verdict.named:
            print(f"- not named {verdict.case.mistake}: {verdict.case.name}: {sorted(verdict.mistakes)}")
    return 1 if escaped or unfair or astray or named < NAMED * len(by_value) else 0


if __name__ == "__main__":
    raise SystemExit(main())
