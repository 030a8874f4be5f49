"""Comparisons. Each raises CheckFailed with what was seen; the check itself says what it means."""

import numpy as np
import torch
from torch import Tensor

from grader.judge import oracle
from grader.judge.score import Gradient, Measurement, Weights
from grader.judge.text import Text, text

__tracebackhide__ = True  # pytest shows a student the check and their own lines


class CheckFailed(AssertionError):
    """A property does not hold; `seen` says what was observed, str() in English."""

    def __init__(self, seen: Text):
        super().__init__(seen.say("en"))
        self.seen = seen


class Expect:
    """The comparisons of one check, and what the report's pictures are made of.

    `measurement` keeps the comparison nearest to its tolerance, and the largest error of torch's own.
    """

    def __init__(self):
        self.measurement: Measurement | None = None
        self.leak_map: tuple[tuple[float, ...], ...] | None = None
        self.weights: Weights | None = None
        self.gradients: tuple[Gradient, ...] = ()

    def that(self, condition: bool, key: str, **values: object) -> None:
        """A condition of the check's own, with its message (messages/*.toml, group "seen")."""
        if not condition:
            raise CheckFailed(text(f"seen.{key}", **values))

    def shape(self, actual: Tensor, *expected: int) -> None:
        """The sizes of a tensor."""
        self.that(tuple(actual.shape) == expected, "shape", actual=tuple(actual.shape), expected=expected)

    def dtype(self, actual: Tensor, expected: torch.dtype) -> None:
        """The type of the numbers of a tensor."""
        self.that(actual.dtype == expected, "dtype", actual=actual.dtype, expected=expected)

    def finite(self, actual: Tensor) -> None:
        """No NaN and no infinity."""
        bad = ~torch.isfinite(actual)
        self.that(not bad.any(), "not_finite", count=int(bad.sum()), index=_first(bad))

    def close(
        self, actual: Tensor, truth: Tensor, tolerance: float, torch_result: Tensor | None = None
    ) -> None:
        """Largest absolute error at most `tolerance`. torch_result: torch's own, to state beside it."""
        self._comparable(actual, tuple(truth.shape))
        error = (actual.double() - truth.double()).abs()
        torch_error = None
        if torch_result is not None:
            torch_error = float((torch_result.double() - truth.double()).abs().max())
        self._at_most(error, actual, truth, tolerance, torch_error)

    def close_to_exact(
        self, actual: Tensor, truth: np.ndarray, tolerance: float, torch_result: Tensor
    ) -> None:
        """As `close`, against exact numbers, where float64 would be too coarse a ruler."""
        self._comparable(actual, truth.shape)
        error = oracle.rounded(abs(oracle.exact(actual) - truth))
        self._at_most(error, actual, oracle.rounded(truth), tolerance, oracle.max_error(torch_result, truth))

    def zero(self, actual: Tensor, where: Tensor) -> None:
        """Exactly 0 at the places where the bool tensor `where` (it broadcasts) is True."""
        self.at_most(0, actual, where)

    def at_most(self, largest: float, actual: Tensor, where: Tensor) -> None:
        """No larger than `largest`, of either sign, at the places where the bool tensor `where` is True."""
        self.finite(actual)
        bad = (actual.abs() > largest) & where
        if bad.any():
            index = _first(bad)
            raise CheckFailed(
                text("seen.not_zero", count=int(bad.sum()), index=index, actual=_short(actual[index]))
            )

    def no_leak(self, changes: Tensor, tolerance: float) -> None:
        """(L, L): how far output i moves when token j changes; nothing above the diagonal.

        Kept in `leak_map` for the report.
        """
        self.finite(changes)
        self.leak_map = tuple(tuple(row) for row in changes.tolist())
        leaks = (changes > tolerance).triu(1)
        if leaks.any():
            i, j = _first(leaks)
            raise CheckFailed(text("seen.leak", output=i, token=j, count=int(leaks.sum())))

    def equal(self, actual: Tensor, truth: Tensor) -> None:
        """The same bools everywhere."""
        self.shape(actual, *truth.shape)
        self.dtype(actual, torch.bool)
        bad = actual != truth
        if bad.any():
            index = _first(bad)
            expected = bool(truth[index])
            raise CheckFailed(text("seen.not_equal", count=int(bad.sum()), index=index, expected=expected))

    def rows_sum_to_one(self, weights: Tensor, tolerance: float) -> None:
        """Each row of (..., L_q, L_k) sums to 1."""
        self.finite(weights)
        sums = weights.double().sum(-1)
        error = (sums - 1).abs()
        index = _worst(error)
        self._note(float(error[index]), tolerance)
        self.that(float(error[index]) <= tolerance, "row_sum", index=index, actual=_short(sums[index]))

    def unchanged(self, names: tuple[str, ...], before: tuple, after: tuple) -> None:
        """The arguments of a call are bitwise what they were."""
        for name, old, new in zip(names, before, after, strict=False):
            if isinstance(old, Tensor):
                self.that(new is not None and torch.equal(old, new), "changed", name=name)

    def gradients_close(
        self, actual: dict[str, Tensor | None], truth: dict[str, Tensor], tolerance: float
    ) -> None:
        """The gradients of arguments and parameters, by name and value. All sizes go into the report."""
        self.gradients += tuple(
            Gradient(name, None if actual[name] is None else _norm(actual[name]), _norm(truth[name]))
            for name in truth
        )
        for name, gradient in actual.items():
            self.that(gradient is not None, "no_gradient", name=name)
            bad = ~torch.isfinite(gradient)
            self.that(not bad.any(), "gradient_not_finite", name=name, index=_first(bad))
            self.close(gradient, truth[name], tolerance)

    def show_weights(self, actual: Tensor, truth: Tensor) -> None:
        """(B, H, L_q, L_k): put the weights of the first sample into the report. No comparison."""
        if actual.shape == truth.shape and actual.is_floating_point():
            self.weights = Weights(_nested(actual[0].tolist()), _nested(truth[0].tolist()))

    def _comparable(self, actual: Tensor, shape: tuple[int, ...]) -> None:
        self.shape(actual, *shape)
        self.that(actual.is_floating_point(), "not_floating", actual=actual.dtype)
        self.finite(actual)

    def _at_most(
        self, error: Tensor, actual: Tensor, truth: Tensor, tolerance: float, torch_error: float | None
    ) -> None:
        index = _worst(error)
        worst = float(error[index])
        self._note(worst, tolerance, torch_error)
        values = {
            "error": f"{worst:.2g}",
            "tolerance": f"{tolerance:g}",
            "index": index,
            "actual": _short(actual[index]),
            "expected": _short(truth[index]),
        }
        if torch_error is None:
            self.that(worst <= tolerance, "error", **values)
        else:
            self.that(worst <= tolerance, "error_beside_torch", torch_error=f"{torch_error:.2g}", **values)

    def _note(self, error: float, tolerance: float, torch_error: float | None = None) -> None:
        old = self.measurement
        if old and old.torch_error is not None:
            torch_error = max(old.torch_error, torch_error or 0.0)
        if old and error * old.tolerance < old.error * tolerance:
            error, tolerance = old.error, old.tolerance
        self.measurement = Measurement(error, tolerance, torch_error)


def _worst(error: Tensor) -> tuple[int, ...]:
    # numpy's and not torch's, which imports sympy: half a second and 30 MB
    return tuple(int(i) for i in np.unravel_index(int(error.argmax()), error.shape))


def _norm(tensor: Tensor) -> float:
    return float(tensor.detach().double().square().sum().sqrt())


def _nested(numbers: list) -> tuple:
    return tuple(_nested(one) if isinstance(one, list) else one for one in numbers)


def _first(bad: Tensor) -> tuple[int, ...]:
    return tuple(bad.nonzero()[0].tolist()) if bad.any() else ()


def _short(number: Tensor) -> str:
    return f"{float(number):.4g}"
