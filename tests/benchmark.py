"""What `pytest grader` costs, against the least that pytest with torch costs: `python tests/benchmark.py`.

Ratios of runs side by side, so that they mean the same on any machine; the median of several pairs, so that
a busy moment does not count. Exits 1 if a limit is broken.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAIRS = 7
MOST_TIME, MOST_MEMORY = 1.5, 1.3
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]


def cost(words: list[str], folder: Path) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of one run of pytest, which must pass."""
    started = time.perf_counter()
    process = subprocess.Popen(PYTEST + words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(output.decode())
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)  # macOS counts in bytes
    return time.perf_counter() - started, kilobytes / 1024


def main() -> int:
    """Measure, print a table in Markdown, and compare with the limits."""
    with tempfile.TemporaryDirectory() as folder:
        least = Path(folder) / "test_torch.py"
        least.write_text("def test_torch():\n    import torch\n", encoding="utf-8")
        grader = ["grader", "--submission=solutions/attention.py", f"--report-dir={folder}"]
        pairs = []
        for number in range(PAIRS + 1):
            pair = cost([least.name], least.parent), cost(grader, ROOT)
            if number:  # the first only fills the caches of the disk
                pairs.append(pair)
    broken = False
    print("| | import torch | pytest grader | ratio | at most |\n|---|---|---|---|---|")
    for name, which, limit in (("wall time, s", 0, MOST_TIME), ("peak memory, MB", 1, MOST_MEMORY)):
        base, own = (statistics.median(pair[side][which] for pair in pairs) for side in (0, 1))
        ratio = statistics.median(pair[1][which] / pair[0][which] for pair in pairs)
        broken |= ratio > limit
        print(f"| {name} | {base:.2f} | {own:.2f} | {ratio:.2f} | {limit} |")
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main())
