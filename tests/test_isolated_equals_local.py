"""The same report from a locked worker as from the judge's own process, on the corpus of cases.

Every tenth case here, and those that draw random numbers. All of them, with the hidden checks:
python tests/test_isolated_equals_local.py
"""

import functools
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from grader.isolation.launcher import Launcher
from grader.isolation.submission import WorkerSubmission
from grader.reports import json_report
from grader.run import grade
from tests.corpus import Case, right_cases, source_of, wrong_cases

JOBS = 2
_launcher: Launcher | None = None


def start() -> None:
    """Once in each process."""
    global _launcher
    torch.set_num_threads(1)
    _launcher = Launcher()


def difference(case: Case, official: bool) -> str | None:
    """What of a case's two reports is not the same, if anything is."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder) / "attention.py"
        file.write_text(source_of(case), encoding="utf-8")
        local = json_report.as_dict(grade(str(file), 3, official=official))
        open_submission = functools.partial(WorkerSubmission, _launcher)
        isolated = json_report.as_dict(grade(str(file), 3, open_submission, official))
    for name in local.keys() - {"duration_s"}:
        if local[name] != isolated[name]:
            pairs = zip(local["checks"], isolated["checks"], strict=True)
            checks = [f"{one}\n    {other}" for one, other in pairs if one != other]
            lines = [f"{case.name}: {name}: {local['score']} here, {isolated['score']} isolated", *checks[:3]]
            return "\n    ".join(lines)
    return None


def differences(cases: list[Case], official: bool) -> list[str]:
    """Of all cases, on two cores."""
    compare = functools.partial(difference, official=official)
    with ProcessPoolExecutor(JOBS, get_context("spawn"), start) as pool:
        return [found for found in pool.map(compare, cases, chunksize=4) if found]


def test_isolated_reports_equal_local_ones():
    cases = [*wrong_cases(), *right_cases()]
    random = [case for case in cases if any(word in case.name for word in ("random", "dropout", "noise"))]
    assert len(random) >= 5
    assert differences([*cases[::10], *random], official=False) == []


def main() -> int:
    """Compare all cases."""
    cases = [*wrong_cases(), *right_cases()]
    found = differences(cases, official=True)
    print("\n".join([*found, f"{len(cases)} cases, {len(found)} differences"]))
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
