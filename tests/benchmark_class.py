"""What a submission costs in a class: `python tests/benchmark.py class growth` prints it."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from corpus import right_cases, source_of, wrong_cases

ROOT = Path(__file__).resolve().parent.parent
SEED = "a-seed"
NUMBER = 40
# `python -m grader class`, and the peak of its own memory, without that of its judges
CLASS = """
import sys
from grader.__main__ import main
status = main()
print([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
raise SystemExit(status)
"""


def sources(number: int) -> list[str]:
    """As many different submissions, right and wrong in the proportion of the corpus."""
    cases = [*wrong_cases(), *right_cases()]
    chosen = [cases[i * len(cases) // number] for i in range(number)]
    return [f"{source_of(case)}\n# submission {i}\n" for i, case in enumerate(chosen)]


def grade_class(folder: Path, codes: list[str]) -> tuple[float, float, dict[str, float]]:
    """-> seconds for each, the parent's peak memory in MB, scores by student."""
    submissions, out = folder / f"class{len(codes)}", folder / f"out{len(codes)}"
    submissions.mkdir()
    for i, code in enumerate(codes):
        (submissions / f"student{i:03}.py").write_text(code, encoding="utf-8")
    words = ["class", str(submissions), "--out", str(out), "--seed", SEED]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CLASS, *words], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True
    )
    seconds = (time.perf_counter() - started) / len(codes)
    memory = int(re.search(r"VmHWM:\s+(\d+) kB", done.stdout)[1]) / 1024
    rows = json.loads((out / "class.json").read_text(encoding="utf-8"))["students"]
    return seconds, memory, {row["student"]: row["score"] for row in rows}


def growth(folder: Path, number: int) -> tuple[float, float]:
    """Seconds for each of a class, and the parent's memory in MB."""
    return grade_class(folder, sources(number))[:2]


def throughput(folder: Path) -> tuple[float, float]:
    """Seconds for each of the same submissions in nbgrader's kernel and in a class; the scores must agree."""
    from benchmark_nbgrader import autograde, kernel_with_the_same_checks

    codes = sources(NUMBER)
    own, _, scores = grade_class(folder, codes)
    cost, kernel_scores = autograde(kernel_with_the_same_checks(folder / "kernel", SEED), codes)
    for student, score in scores.items():
        if kernel_scores[student] is None or abs(kernel_scores[student] - score) > 0.01:
            raise RuntimeError(f"{student}: {score} in a class, {kernel_scores[student]} in a kernel")
    return cost.wall, own
