"""Where things go in the report's pictures: plain numbers, which the templates turn into SVG."""

import math
from dataclasses import dataclass

from grader.judge.score import Gradient, Measurement, Score, Weights
from grader.reports.overview import LEAK

LOWEST, HIGHEST = -18, 2  # exponents of ten at the ends of the axis of errors
TICKS = (-16, -12, -9, -6, -3, 0)
SAME = 1e-3  # weights that differ by more are marked; two digits are printed
_ROOM = 1.5  # of the axis of gradients, in units of the largest right one


@dataclass(frozen=True)
class Cell:
    """A square of a picture. kind: "seen", "leak" or "unseen"; for weights "same" or "other"."""

    row: int
    column: int
    kind: str
    value: float = 0.0


@dataclass(frozen=True)
class Bar:
    """A gradient: its length and that of the right one in percent; `beyond` if it does not fit."""

    gradient: Gradient
    length: float
    right: float
    beyond: bool


def any_for(score: Score) -> bool:
    """Whether there is anything to draw."""
    return bool(score.leak_map or score.weights or errors(score) or gradient_bars(score))


def leak_cells(leak_map: tuple[tuple[float, ...], ...]) -> list[Cell]:
    """A square for each output (row) and token (column)."""
    return [
        Cell(i, j, ("leak" if j > i else "seen") if moved > LEAK else "unseen", moved)
        for i, row in enumerate(leak_map)
        for j, moved in enumerate(row)
    ]


def leaks(leak_map: tuple[tuple[float, ...], ...]) -> list[tuple[int, int]]:
    """The pairs of an output and a later token that moves it."""
    return [(cell.row, cell.column) for cell in leak_cells(leak_map) if cell.kind == "leak"]


def weight_cells(weights: Weights) -> list[tuple[list[Cell], list[Cell]]]:
    """For each head the squares of the student's weights and of the right ones."""
    return [
        (_squares(actual, right), _squares(right, right))
        for actual, right in zip(weights.actual, weights.right, strict=True)
    ]


def _squares(shown: tuple, right: tuple) -> list[Cell]:
    return [
        Cell(i, j, "same" if abs(value - right[i][j]) <= SAME else "other", value)
        for i, row in enumerate(shown)
        for j, value in enumerate(row)
    ]


def place(error: float) -> float:
    """Where an error is on the logarithmic axis, in percent; what is off the axis is at its end."""
    if not error > 0:
        return 0.0 if error == 0 else 100.0  # NaN is as far off as can be
    exponent = math.log10(error) if math.isfinite(error) else HIGHEST
    return round(100 * (min(max(exponent, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST), 2)


def errors(score: Score) -> list[tuple[str, str, Measurement]]:
    """Check, outcome and comparison, of all public checks of equivalence that compared something."""
    return [
        (result.check.id, result.outcome, result.measurement)
        for result in score.public
        if result.measurement and result.check.tier.startswith("equivalence")
    ]


def gradient_bars(score: Score) -> list[tuple[str, list[Bar]]]:
    """For each public check that saw gradients, a bar for each of them, all on one scale."""
    found = [(result.check.id, result.gradients) for result in score.public if result.gradients]
    most = _ROOM * max((one.right for _, ones in found for one in ones), default=1.0) or 1.0
    return [(check, [_bar(gradient, most) for gradient in ones]) for check, ones in found]


def _bar(gradient: Gradient, most: float) -> Bar:
    size = gradient.actual if gradient.actual is not None else 0.0
    beyond = not size <= most
    length = 100.0 if beyond else 100 * size / most
    return Bar(gradient, round(length, 2), round(100 * gradient.right / most, 2), beyond)
