"""What autograding costs for each submission: ours, and nbgrader as it comes, in a kernel, on the same files.

    python tests/benchmark_nbgrader.py [NUMBER]

Kernel autograde runs twice: with the same checks in the kernel, and with next to none ("import torch" and one
comparison with torch's own attention in each tier's cell), which is the least that such a notebook can do.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from nbgrader_course import Course, make_course  # noqa: E402

from grader.judge.score import TIERS  # noqa: E402
from grader.stub import SOLUTION  # noqa: E402

PLAIN_CONFIG = """
from pathlib import Path
c = get_config()
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.Autograde.exclude_overwriting = {"attention": ["student/attention.py"]}
c.Execute.timeout = 120
"""
SAME_CHECKS = """import torch
from grader.run import grade
torch.set_num_threads(1)
points = [tier.score for tier in grade("student/attention.py", {seed!r}, official=True).tiers]"""
LEAST = """import sys
import torch
sys.path.insert(0, "student")
import attention
def close():
    q, k, v = torch.randn(3, 2, 3, 5, 8)
    right = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return float((attention.scaled_dot_product_attention(q, k, v)[0] - right).abs().max() < 1e-5)"""


@dataclass(frozen=True)
class Cost:
    """Seconds for each submission: by the clock, and of the processors."""

    wall: float
    cpu: float


def costs(number: int = 12) -> dict[str, Cost]:
    """The three ways, one after the other, each with courses of their own."""
    with tempfile.TemporaryDirectory(prefix="attention-benchmark-") as name:
        ways = {
            "isolated judge": make_course,
            "kernel, same checks": kernel_with_the_same_checks,
            "kernel, next to no checks": _least,
        }
        found = {}
        for i, (way, make) in enumerate(ways.items()):
            cost, scores = autograde(make(Path(name) / str(i)), [SOLUTION.read_text("utf-8")] * number)
            if set(scores.values()) != {100.0}:
                raise RuntimeError(f"not all have full marks: {scores}")
            found[way] = cost
        return found


def autograde(course: Course, codes: list[str]) -> tuple[Cost, dict[str, float | None]]:
    """Grade submissions, student000 and on, in a course. -> the cost of each, scores by student."""
    course.nbgrader("generate_assignment", "attention")
    students = {f"student{i:03}": code for i, code in enumerate(codes)}
    for student, code in students.items():
        course.place(student, code)
    if (course.repository / "grader" / "nbgrader_plugin").exists():
        course.python_m("grader", "prepare", "--course", "assignments", cwd=course.repository)
    before, started = os.times(), time.monotonic()
    course.nbgrader("autograde", "attention")
    wall, after = time.monotonic() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall / len(codes), used / len(codes)), {
        student: course.tiers(student) for student in students
    }


def _plain(folder: Path, setup: str, tier_cell: Callable[[int], str]) -> Course:
    course = make_course(folder)
    (course.root / "nbgrader_config.py").write_text(PLAIN_CONFIG)
    source = course.root / "source" / "attention" / "attention.ipynb"
    notebook = json.loads(source.read_text("utf-8"))
    cells = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in notebook["cells"]}
    cells["last-run"]["source"] = setup
    for number, tier in enumerate(TIERS):
        cells[f"tier-{tier.id}"]["source"] = tier_cell(number)
    kept = ["last-run", *(f"tier-{tier.id}" for tier in TIERS)]
    notebook["cells"] = [cells[name] for name in kept]
    source.write_text(json.dumps(notebook))
    shutil.rmtree(course.repository / "grader" / "nbgrader_plugin")
    course.environment = {
        "PYTHONPATH": str(course.repository),
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
    }
    return course


def kernel_with_the_same_checks(folder: Path, seed: str = "a-seed") -> Course:
    """nbgrader as it comes; the tiers' cells hold what the same checks gave in the kernel."""
    return _plain(folder, SAME_CHECKS.format(seed=seed), lambda number: f"points[{number}]")


def _least(folder: Path) -> Course:
    return _plain(folder, LEAST, lambda number: f"{TIERS[number].points:g} * close()")


def main() -> None:
    """Print a line for each way."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    found = costs(number)
    ours = found["isolated judge"]
    print(f"{number} submissions, seconds each (with all start-up)      wall     CPU   ours/this")
    for way, cost in found.items():
        print(f"{way:55} {cost.wall:5.2f}   {cost.cpu:5.2f}   {ours.wall / cost.wall:9.2f}")


if __name__ == "__main__":
    main()
