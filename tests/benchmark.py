"""What grading costs, as ratios of runs side by side: `python tests/benchmark.py [PART ...]`.

Ratios mean the same on any machine; the median of several pairs, so that a busy moment does not count.
Parts: startup, mistakes, page, watch, class, growth; all of them by default. Exits 1 if a limit is broken.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

PAIRS = 7
SLOWEST = 4  # of the mistakes, by the time that grading them takes
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]


@dataclass(frozen=True)
class Line:
    """One line of the table: what something costs, against what it is held to."""

    name: str
    base: float
    own: float
    limit: float
    ratio: float | None = None  # the median of the ratios of pairs; own / base if there is but one

    def __str__(self) -> str:
        return f"| {self.name} | {self.base:.2f} | {self.own:.2f} | {self.value:.2f} | {self.limit} |"

    @property
    def value(self) -> float:
        """The ratio."""
        return self.own / self.base if self.ratio is None else self.ratio


def median(name: str, pairs: list[tuple[float, float]], limit: float) -> Line:
    """The line of several pairs of (base, own)."""
    base, own = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Line(name, base, own, limit, statistics.median(own / base for base, own in pairs))


def cost(words: list[str], folder: Path) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of one run of pytest, which must not break down."""
    started = time.perf_counter()
    process = subprocess.Popen(PYTEST + words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(output.decode())
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)  # macOS counts in bytes
    return time.perf_counter() - started, kilobytes / 1024


def beside_import_torch(submission: str | Path, folder: Path) -> list[tuple[tuple, tuple]]:
    """Costs of the least that pytest with torch costs, and of `pytest grader`: pairs of (seconds, MB)."""
    least = folder / "test_torch.py"
    least.write_text("def test_torch():\n    import torch\n", encoding="utf-8")
    grader = ["grader", f"--submission={submission}", f"--report-dir={folder}"]
    pairs = [(cost([least.name], folder), cost(grader, ROOT)) for _ in range(PAIRS + 1)]
    return pairs[1:]  # the first only fills the caches of the disk


def startup(folder: Path) -> Iterator[Line]:
    """`pytest grader` on the reference, against a pytest file that imports torch."""
    pairs = beside_import_torch("solutions/attention.py", folder)
    for name, which, limit in (("wall time, s", 0, 1.5), ("peak memory, MB", 1, 1.3)):
        yield median(f"pytest grader, {name}", [(base[which], own[which]) for base, own in pairs], limit)


def mistakes(folder: Path) -> Iterator[Line]:
    """`pytest grader` on the single mistakes that take longest, against the same."""
    from corpus import source_of, wrong_cases

    from grader.run import grade

    took = {}
    for case in wrong_cases():
        if case.mistake is None or isinstance(case.mistake, str):
            file = folder / f"{case.name}.py"
            file.write_text(source_of(case), encoding="utf-8")
            started = time.process_time()
            grade(str(file))
            took[case.name] = time.process_time() - started
    for name in sorted(took, key=took.get)[-SLOWEST:]:
        pairs = beside_import_torch(folder / f"{name}.py", folder)
        yield median(f"pytest grader on {name}, s", [(base[0], own[0]) for base, own in pairs], 2.5)


def page(folder: Path) -> Iterator[Line]:
    """`pytest grader` with report.html, on a submission that fails much, against one without."""
    file = folder / "attention.py"
    reference = (ROOT / "solutions" / "attention.py").read_text(encoding="utf-8")
    file.write_text(
        reference.replace("math.sqrt(d_k)", "d_k").replace(".tril()", ".triu()"), encoding="utf-8"
    )
    words = ["grader", f"--submission={file}", f"--report-dir={folder}"]
    pairs = [(cost([*words, "--no-html"], ROOT)[0], cost(words, ROOT)[0]) for _ in range(PAIRS + 1)]
    yield median("report.html, s, against --no-html", pairs[1:], 1.2)


def watch(folder: Path) -> Iterator[Line]:
    """From a save to the verdict on the screen, against a cold `pytest grader` on the same file."""
    from test_watch import Terminal

    reference = (ROOT / "solutions" / "attention.py").read_text(encoding="utf-8")
    wrong = reference.replace("math.sqrt(query.shape[-1])", "math.sqrt(query.shape[-2])")
    file = folder / "watched.py"
    file.write_text(wrong, encoding="utf-8")
    terminal = Terminal(file)
    terminal.until("q quit")
    pairs = []
    for number in range(2 * PAIRS):
        file.write_text((reference, wrong)[number % 2], encoding="utf-8")
        started = time.perf_counter()
        terminal.until("q quit")
        own = time.perf_counter() - started
        pairs.append((cost(["grader", f"--submission={file}", f"--report-dir={folder}"], ROOT)[0], own))
    terminal.close()
    for name, which in (("reference", pairs[::2]), ("mistake", pairs[1::2])):
        yield median(f"watch: the verdict on a {name}, s", which, 0.6)


def throughput(folder: Path) -> Iterator[Line]:
    """The same 40 submissions through nbgrader's kernel, with the same checks in it, and through `class`."""
    from benchmark_class import throughput

    kernel, own = throughput(folder)
    yield Line("one of 40 in a class, s, against nbgrader's kernel", kernel, own, 0.1)


def growth(folder: Path) -> Iterator[Line]:
    """What a submission costs in a class of 500 and of 20, and the parent's memory."""
    from benchmark_class import growth

    small, large = growth(folder, 20), growth(folder, 500)
    yield Line("one of 500 in a class, s, against one of 20", small[0], large[0], 1.1)
    yield Line("parent's memory in a class of 500, MB, against 20", small[1], large[1], 1.2)


PARTS: dict[str, Callable[[Path], Iterator[Line]]] = {
    "startup": startup,
    "mistakes": mistakes,
    "page": page,
    "watch": watch,
    "class": throughput,
    "growth": growth,
}


def main() -> int:
    """Measure, print a table in Markdown, and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    broken = False
    print("| | base | own | ratio | at most |\n|---|---|---|---|---|")
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="attention-benchmark-") as folder:
            for line in PARTS[name](Path(folder)):
                broken |= line.value > line.limit
                print(line, flush=True)
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main())
