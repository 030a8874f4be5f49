"""Attention from scratch, with your own code: A shows the shapes, B checks the numbers, C draws a picture.

    python student/attention_from_scratch.py [--submission FILE]

The exit code is 0 when all of B is green, else 1.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # student/ and grader/, from wherever the script is started

from grader.judge import oracle  # noqa: E402
from grader.judge.call import StudentError  # noqa: E402
from grader.judge.exercise import PROJECTIONS, TODOS  # noqa: E402
from grader.judge.expect import CheckFailed, Expect  # noqa: E402
from grader.judge.local import LocalSubmission  # noqa: E402
from grader.judge.source import SourceError, read_source  # noqa: E402
from grader.judge.submission import Student  # noqa: E402
from student.figures import TOKENS, attention_heatmap, toy_sentence  # noqa: E402

HEATMAP = HERE / "attention_heatmap.png"
LENGTH, HIDDEN, N_HEADS = len(TOKENS), 512, 8
MOST_STEPS = 60  # a loop in a forward pass can call a function very often
LIMITS = {torch.float64: 1e-16, torch.float32: 1e-6}
SIZES = {torch.float64: (2**-5, 2**-7), torch.float32: (2**-3, 2**-4)}  # of the values, and of W_O
WHY_1E_16 = """\
Why 1e-16 is fair: errors grow with the values, and these are small (2^-5).
Right float64 code stays below 7e-17; float32 anywhere inside it gives 1e-9."""


def is_unfilled(error: Exception) -> bool:
    """Return whether the error only says that a TODO is still as it came."""
    return isinstance(error, StudentError) and error.outcome == "not_attempted"


def explain(error: StudentError | CheckFailed, path: str) -> str:
    """Return what went wrong in one line, with the line of the student's file if there is one."""
    if is_unfilled(error):
        todo = str(error.seen.values.get("says")).partition(":")[0]
        return f"{todo or 'A TODO'} is not filled in yet"
    line = getattr(error, "line", None)
    return f"{path}:{line}: {error}" if line else f"{path}: {error}"


def unfilled(student: Student) -> list[str]:
    """Return a line for each function that is still as it came. StudentError if the file does not load."""
    x, scores = torch.zeros(1, 2, 4), torch.zeros(2, 2)
    arguments = {"causal_mask": [2], "attention_scores": [x, x], "attention_weights": [scores, scores == 0]}
    arguments |= {"split_heads": [x], "combine_heads": [x.view(1, 2, 2, 2)]}
    module, found = student.multi_head_attention(4, 2), []
    for todo in TODOS:
        for name in todo.functions:
            try:
                (module if hasattr(module, name) else student).call(name, *arguments[name])
            except StudentError as error:
                if error.seen.key == "seen.import_raised":
                    raise
                if is_unfilled(error):
                    where = f"{name}, line {error.line}"
                    found.append(f"TODO {todo.number} ({todo.name}) is not filled in yet: {where}")
    return found


def shapes(value: object) -> list[str]:
    """Return the shapes of the tensors in a value, and the integers."""
    if isinstance(value, tuple | list):
        return [shape for part in value for shape in shapes(part)]
    if isinstance(value, Tensor):
        return [str(tuple(value.shape))]
    return [str(value)] if type(value) is int else []


@contextmanager
def traced(path: str) -> Iterator[list[list]]:
    """Record each call of a function of a file, or of a layer: [depth, name, shapes in, shapes out]."""
    steps, running, layer_names = [], [], {}

    def watch(frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        if event == "return" and running and running[-1][0] is frame:
            running.pop()[1][3] = shapes(result)
        own = code.co_filename == path and not code.co_name.startswith(("__", "<"))
        if event != "call" or not (own or code.co_name == "forward"):
            return
        owner = frame.f_locals.get("self")
        is_layer = isinstance(owner, nn.Module)
        if is_layer:
            layer_names.update((layer, name) for name, layer in owner.named_children())
        if own or is_layer:
            label = code.co_name if own else layer_names.get(owner, type(owner).__name__)
            arguments = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
            steps.append([len(running), label, shapes(arguments), []])
            running.append((frame, steps[-1]))

    sys.setprofile(watch)  # sees every call as it happens, however the file is written
    try:
        yield steps
    finally:
        sys.setprofile(None)


def shape_flow(student: Student, path: str, console: Console) -> None:
    """A: run one forward pass, and print the shapes that went in and out of each call in it."""
    console.print(f"hidden = {HIDDEN}, {N_HEADS} heads, d_head = {HIDDEN // N_HEADS}, {LENGTH} tokens")
    torch.manual_seed(0)
    x = torch.randn(1, LENGTH, HIDDEN)
    try:
        with traced(path) as steps:
            mask = student.causal_mask(LENGTH)
            weights = student.multi_head_attention(HIDDEN, N_HEADS).forward(x, mask)[1]
    finally:  # up to the error, if there is one
        table = Table("call", "in", "out", box=None, header_style="dim")
        for depth, name, inputs, outputs in steps[:MOST_STEPS]:
            runs = [(shape, len(list(run))) for shape, run in itertools.groupby(inputs)]
            inputs = ", ".join(shape if n == 1 else f"{n} x {shape}" for shape, n in runs)
            table.add_row("  " * depth + name, inputs, "\n".join(outputs))
        console.print(table)
        if len(steps) > MOST_STEPS:
            console.print(f"... and {len(steps) - MOST_STEPS} more calls")
    Expect().shape(weights, 1, N_HEADS, LENGTH, LENGTH)
    row = "  ".join(f"{weight:.2g}" for weight in weights[0, 0, 2].double().tolist())
    console.print(f"\nWeights of token 3 ({TOKENS[2]}) in the first head:  {row}")
    console.print("Tokens 4 to 7 are its future: they must be exactly 0 (-inf before the softmax).")


def single_head(student: Student, dtype: torch.dtype, causal: bool) -> tuple:
    """Return three outputs (2, 3, L, 6): the student's, the exact one and torch's."""
    generator = torch.Generator().manual_seed(1)
    sizes = [(7 if causal else 5, 10), (7, 10), (7, 6)]  # a causal mask is square: as many queries as keys
    query, key, value = (torch.randn(2, 3, *size, generator=generator, dtype=dtype) for size in sizes)
    value = value * SIZES[dtype][0]
    mask, own_mask = (oracle.causal_mask(7), student.causal_mask(7)) if causal else (None, None)
    official = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    own = student.scaled_dot_product_attention(query, key, value, own_mask)[0]
    return own, oracle.exact_attention(query, key, value, mask), official


def multi_head(student: Student, dtype: torch.dtype, causal: bool) -> tuple:
    """Return three outputs (2, 7, 30) of 3 heads: the student's, the exact one and torch's."""
    generator = torch.Generator().manual_seed(2)
    x, *w = (torch.randn(n, 30, generator=generator, dtype=dtype) for n in (14, 30, 30, 30, 30))
    x, w = x.view(2, 7, 30), {name: draw / 30**0.5 for name, draw in zip(PROJECTIONS, w, strict=True)}
    w["W_O"] *= SIZES[dtype][1]
    mask, own_mask = (oracle.causal_mask(7), student.causal_mask(7)) if causal else (None, None)
    heads = (F.linear(x, w[name]).unflatten(-1, (3, 10)).transpose(1, 2) for name in PROJECTIONS[:3])
    mixed = F.scaled_dot_product_attention(*heads, attn_mask=mask)
    official = F.linear(mixed.transpose(1, 2).flatten(2), w["W_O"])
    own = student.multi_head_attention(30, 3, w).forward(x, own_mask)[0]
    return own, oracle.exact_multi_head_attention(x, w, 3, mask), official


def cross_check(student: Student, path: str, console: Console) -> bool:
    """B: compare with the naive loop and with torch, in two precisions. Return whether all is green."""
    console.print("Largest error of your output against the naive loop (in exact arithmetic) and")
    console.print("against F.scaled_dot_product_attention (torch); last, torch against the loop.")
    table = Table("", "", box=None, header_style="dim")
    for header in ("loop", "torch", "limit", "", "torch - loop"):
        table.add_column(header, justify="right")
    problems, green = {}, True
    for dtype, case, causal in itertools.product(LIMITS, (single_head, multi_head), (True, False)):
        kind = f"{case.__name__.replace('_', ' ')}, {'causal' if causal else 'no mask'}"
        numbers, passed, verdict = ["", "", ""], False, "[bold red]FAIL"
        try:
            own, exact, official = case(student, dtype, causal)
            Expect().shape(own, *official.shape)
            Expect().finite(own)
            errors = [oracle.max_error(own, truth) for truth in (exact, oracle.exact(official))]
            numbers = [f"{'' if e <= LIMITS[dtype] else '[red]'}{e:.1e}" for e in errors]
            numbers.append(f"{oracle.max_error(official, exact):.1e}")
            passed = max(errors) <= LIMITS[dtype]
            verdict = "[bold green]PASS" if passed else verdict
        except (StudentError, CheckFailed) as error:
            problems[f"{kind}: {explain(error, path)}"] = None  # a dict: each once, in order
            verdict = "[yellow]TODO" if is_unfilled(error) else verdict
        numbers[2:2] = [f"{LIMITS[dtype]:.0e}", verdict]
        table.add_row(str(dtype).removeprefix("torch."), kind, *numbers)
        green = green and passed
    console.print(table)
    for problem in problems:
        console.print(problem, style="red", markup=False)
    console.print(WHY_1E_16, style="dim")
    return green


def heat_map(student: Student, path: str, console: Console) -> None:
    """C: draw who attends to whom, for toy embeddings and for a random initialisation."""
    x, w_q = (torch.from_numpy(numbers) for numbers in toy_sentence())
    generator, bound = torch.Generator().manual_seed(0), len(w_q) ** -0.5  # the bound of a new nn.Linear
    random_q, random_k = (torch.empty_like(w_q).uniform_(-bound, bound, generator=generator) for _ in "qk")
    mask, tables = student.causal_mask(LENGTH), []
    for query, key in ((x @ w_q, x), (x @ random_q, x @ random_k)):
        tables.append(student.scaled_dot_product_attention(query, key, x, mask)[1].double())
        Expect().shape(tables[-1], LENGTH, LENGTH)
        Expect().finite(tables[-1])
    attention_heatmap(*tables).savefig(HEATMAP)
    console.print(f"Drawn: {shown(HEATMAP)}", markup=False)


def shown(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def main(arguments: list[str] | None = None) -> int:
    """Run the three parts; an error in one does not stop the others. Return the exit code."""
    parser = argparse.ArgumentParser(description="Shape flow, cross-check and heat map of your attention.")
    parser.add_argument("--submission", type=Path, default=HERE / "attention.py", metavar="FILE")
    path = shown(parser.parse_args(arguments).submission)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a console without Chinese shows ? and goes on
    console, green = Console(highlight=False, emoji=False), False
    try:
        # from_scratch: without it, torch's own attention compared with torch would be green
        student = Student(LocalSubmission(read_source(path)), refusal=None, from_scratch=True)
        todos = unfilled(student)
    except (SourceError, StudentError) as error:
        message = str(error) if isinstance(error, SourceError) else explain(error, path)
        console.print(message, style="red", markup=False)
        return 1
    console.print(f"Your code: {path}", *todos, sep="\n", markup=False)
    parts = {"A  Shape flow": shape_flow, "B  Cross-check": cross_check, "C  Heat map": heat_map}
    for title, part in parts.items():
        console.print(f"\n[bold]{title}")
        try:
            green = part(student, path, console) or green
        except (StudentError, CheckFailed) as error:
            console.print(explain(error, path), style="red", markup=False)
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
