"""The fault dictionary: known mistakes as altered formulas, looked up by what a submission answered.

A mistake of the catalogue overrides one function of Formula. A submission whose answers all equal the
altered formula's, where they differ from the right one's, has that mistake. Read only after a check failed.
"""

import functools
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor

from grader.judge.call import Call
from grader.judge.exercise import PROJECTIONS, Todo, todo_of
from grader.judge.score import Result
from grader.judge.submission import Exchange
from grader.judge.text import LANGUAGES, Text

SAME = 1e-5  # relative to the largest number; float32 inside is within 1e-6, other mistakes differ by 1e-3
ORDINARY = 100  # inputs up to this size must match; beyond it float32 and float64 part ways
FINE = 5e-14  # in float64, for inputs up to MODERATE: different ways of writing the same are within 1e-14
MODERATE = 10
UNSTEADY = ("", "unsteady")  # the sign of a mistake that gives other answers to the same call


@dataclass(frozen=True)
class Words:
    """What a mistake is called, why it matters, and a hint that does not give the solution away.

    title completes "Your result equals the one you get when ...".
    """

    title: str
    explanation: str
    hint: str


@dataclass(frozen=True)
class Mistake:
    """A known mistake: `alter` overrides a function of Formula; a sign names it by a failed check instead.

    signs: (check id, key of what was seen) pairs, for what values cannot show.
    """

    id: str
    function: str
    words: dict[str, Words]
    alter: Callable | None = None
    parameters: tuple = ()
    fit: Callable | None = None
    same: float | None = None
    signs: tuple[tuple[str, str], ...] = ()

    @property
    def todo(self) -> Todo | None:
        """The TODO whose body it spoils; None for a given body."""
        return todo_of(self.function)

    def text(self, part: str) -> Text:
        """One part of its words: "title", "explanation" or "hint"."""
        own = {
            lang: getattr(self.words[lang], part).replace("{", "{{").replace("}", "}}") for lang in LANGUAGES
        }
        return Text(f"mistakes.{self.id}", own=own)


_MISTAKES: list[Mistake] = []


def mistake(
    id: str,
    en: tuple[str, str, str],
    zh: tuple[str, str, str],
    parameters: Iterable = (),
    fit: Callable | None = None,
    same: float | None = None,
) -> Callable[[Callable], Callable]:
    """Enter the decorated function, a method of Formula altered, into the catalogue.

    The name of the function says which body is wrong. en, zh: title, explanation, hint. parameters: values
    for its first argument, each a form of the same mistake. fit(formula, call, result): finds that value
    from one answer instead; None if there is none. same: how near to it counts as equal, if not SAME.
    """

    def enter(alter: Callable) -> Callable:
        words = {"en": Words(*en), "zh": Words(*zh)}
        _MISTAKES.append(Mistake(id, alter.__name__, words, alter, tuple(parameters), fit, same))
        return alter

    return enter


def signed_mistake(
    id: str,
    function: str,
    signs: Iterable[tuple[str, str]],
    en: tuple[str, str, str],
    zh: tuple[str, str, str],
    fit: Callable | None = None,
) -> None:
    """Enter a mistake that shows in a property, not in ordinary values. signs: (check id, key of seen)."""
    _MISTAKES.append(Mistake(id, function, {"en": Words(*en), "zh": Words(*zh)}, fit=fit, signs=tuple(signs)))


@functools.cache
def catalogue() -> tuple[Mistake, ...]:
    """All known mistakes, in the order of the files of the catalogue."""
    package = importlib.import_module("grader.judge.catalogue")
    for module in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return tuple(_MISTAKES)


class Formula:
    """Attention in a few vectorised lines, equal to the oracle: what the catalogue alters.

    All in float64. dtype: that of the call, for the few mistakes whose results depend on it.
    """

    dtype = torch.float64

    def __init__(self, n_heads: int = 1, projections: dict[str, Tensor] | None = None):
        self.n_heads = n_heads
        self.projections = projections or {}

    def causal_mask(self, length: int, device: torch.device | None = None) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool, device=device).tril()

    def attention_scores(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT / math.sqrt(query.shape[-1])

    def attention_weights(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return softmax(blocked(scores, mask))

    def scaled_dot_product_attention(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        weights = self.attention_weights(self.attention_scores(query, key), mask)
        return weights @ value, weights

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def combine_heads(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(-2) @ self.projections["W_O"].T

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        query, key, value = (self.split_heads(x @ self.projections[name].T) for name in ("W_Q", "W_K", "W_V"))
        heads, weights = self.scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights


def blocked(scores: Tensor, mask: Tensor | None, fill: float = -math.inf) -> Tensor:
    """The scores with `fill` where the mask blocks."""
    return scores if mask is None else scores.masked_fill(~mask, fill)


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """The softmax, in the judge's own words."""
    exps = torch.exp(scores - scores.amax(dim, keepdim=True))
    return exps / exps.sum(dim, keepdim=True)


def find(function: str, exchanges: Iterable[Exchange]) -> Mistake | None:
    """The mistake that explains every answer of `function` in these exchanges; None if no known one does.

    For a whole function, mistakes of its parts count too: it may have been rewritten around them.
    """
    calls = [e for e in exchanges if e.call.function == function and _has_weights(e.call)]
    known = [entry for entry in catalogue() if entry.alter]
    candidates = [entry for entry in known if entry.function == function]
    if todo_of(function) is None:
        candidates += [entry for entry in known if entry.function != function]
    for view in filter(None, map(_wrong_first, _views(calls))):
        found = next((entry for entry in candidates if _explains(entry, view)), None)
        if found:
            return found
    return _unsteady(function, calls)


def _unsteady(function: str, calls: list[Exchange]) -> Mistake | None:
    """A mistake that shows in other answers to the same call; with a fit, only if it fits every answer."""
    answered = [e for e in calls if e.answer and not e.call.module]
    if not any(_same_call(a.call, b.call) and not _same_answer(a, b) for a, b in combinations(answered, 2)):
        return None
    known = [entry for entry in catalogue() if entry.function == function and UNSTEADY in entry.signs]
    return next((entry for entry in known if all(_fitted(entry, [e]) for e in answered if entry.fit)), None)


def _same_call(one: Call, other: Call) -> bool:
    return len(one.args) == len(other.args) and all(
        a.shape == b.shape and torch.equal(a, b)
        if isinstance(a, Tensor) and isinstance(b, Tensor)
        else type(a) is type(b) and a == b
        for a, b in zip(one.args, other.args, strict=True)
    )


def _same_answer(one: Exchange, other: Exchange) -> bool:
    return _agree([*one.answer.results], [*other.answer.results], SAME)


@dataclass(frozen=True)
class View:
    """What a mistake has to explain: these calls, as near as `same`, and their gradients if `gradients`.

    A call without an answer is explained by a mistake that gives none either.
    """

    exchanges: list[Exchange]
    same: float = SAME
    gradients: bool = False


def _views(calls: list[Exchange]) -> Iterable[View]:
    """The first view in which a mistake explains everything counts.

    Results of ordinary calls, with those that raised; without them; gradients too; large inputs; and what
    shows in the last digits alone.
    """
    ordinary = [e for e in calls if _within(ORDINARY, e.call)]
    answered = [e for e in ordinary if e.answer]
    if len(answered) < len(ordinary):
        yield View(ordinary)
    yield View(answered)
    yield View(answered, gradients=True)
    large = [e for e in calls if e.answer and not _within(ORDINARY, e.call)]
    yield View(answered + [e for e in large if _dtype(e.call) == torch.float64])
    yield View(answered + large)
    fine = [e for e in answered if e.answer.results[0].dtype == torch.float64 == _dtype(e.call)]
    yield View([e for e in fine if _within(MODERATE, e.call)], FINE)


def _wrong_first(view: View) -> View | None:
    """The view with what is wrong in front, which rules most mistakes out; None if nothing is, or all raised."""
    wrong = [e for e in view.exchanges if not _explained(Formula, e, view, view.same)]
    answered = any(e.answer for e in view.exchanges)
    others = [e for e in view.exchanges if not any(e is one for one in wrong)]
    return replace(view, exchanges=[*wrong, *others]) if wrong and answered else None


def signed(function: str, result: Result) -> Mistake | None:
    """The mistake of `function` that a lost check stands for by itself; None if there is none."""
    sign = (result.check.id, result.finding.seen.key.partition(".")[2])
    own = (entry for entry in catalogue() if entry.function == function)
    return next((entry for entry in own if sign in entry.signs), None)


def _has_weights(call: Call) -> bool:
    """Whether the judge knows the weights that the answer depends on."""
    needed = {"forward": PROJECTIONS, "combine_heads": ("W_O",)}.get(call.function, ())
    return not call.module or set(needed) <= set(call.module.projections)


def _within(size: float, call: Call) -> bool:
    return all(bool((tensor.abs() <= size).all()) for tensor in _numbers(call))


def _dtype(call: Call) -> torch.dtype | None:
    return next((tensor.dtype for tensor in _numbers(call)), None)


def _numbers(call: Call) -> list[Tensor]:
    return [arg for arg in call.args if isinstance(arg, Tensor) and arg.is_floating_point()]


def _explains(entry: Mistake, view: View) -> bool:
    return any(
        all(_explained(altered, exchange, view, entry.same or view.same) for exchange in view.exchanges)
        for altered in _forms(entry, view.exchanges)
    )


def _explained(kind: type[Formula], exchange: Exchange, view: View, same: float) -> bool:
    call, answer = exchange.call, exchange.answer
    expected = _evaluate(kind, call, view.gradients or not answer)
    if not answer:
        return expected is None
    answered = [*answer.results]
    if view.gradients:
        answered += [*answer.gradients, *answer.parameter_gradients.values()]
    return _agree(expected, answered, same)


def _forms(entry: Mistake, exchanges: list[Exchange]) -> Iterable[type[Formula]]:
    """Formula altered by a mistake: once, or once for each of its parameters."""
    if not entry.fit and not entry.parameters:
        yield type("Altered", (Formula,), {entry.function: entry.alter})
    for value in _fitted(entry, exchanges) if entry.fit else entry.parameters:
        yield type("Altered", (Formula,), {entry.function: functools.partialmethod(entry.alter, value)})


def _fitted(entry: Mistake, exchanges: list[Exchange]) -> tuple:
    """The value of the first answer that shows one; none for a whole function, which hides its parts."""
    for exchange in exchanges:
        call, answer = exchange.call, exchange.answer
        if answer and entry.function == call.function:
            try:
                value = entry.fit(_formula(Formula, call), call, answer.results[0].double())
            except (RuntimeError, ArithmeticError, IndexError, ValueError, TypeError):  # another shape
                continue
            if value is not None:
                return (value,)
    return ()


def _formula(kind: type[Formula], call: Call) -> Formula:
    module = call.module
    formula = kind()
    if module:
        weights = {name: weight.double() for name, weight in module.projections.items()}
        formula = kind(module.n_heads, weights)
    formula.dtype = _dtype(call) or formula.dtype
    return formula


def _evaluate(kind: type[Formula], call: Call, gradients: bool) -> list[Tensor | None] | None:
    """Results of a formula, with gradients if they are called for; None if it cannot take these arguments."""
    gradients = gradients and call.upstream is not None
    formula = _formula(kind, call)
    args = [arg.double() if isinstance(arg, Tensor) and arg.is_floating_point() else arg for arg in call.args]
    if gradients:
        args = [_leaf(arg) if isinstance(arg, Tensor) and arg.is_floating_point() else arg for arg in args]
        formula.projections = {name: _leaf(weight) for name, weight in formula.projections.items()}
    try:
        results = getattr(formula, call.function)(*args)
        results = results if isinstance(results, tuple) else (results,)
        found = _gradients(results[0], call.upstream, args, formula) if gradients else []
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None
    return [*results, *found]


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.clone().requires_grad_()


def _gradients(result: Tensor, upstream: Tensor, args: list, formula: Formula) -> list[Tensor | None]:
    (result * upstream.double()).sum().backward()  # not backward(upstream): that would import sympy
    of_args = [arg.grad if isinstance(arg, Tensor) else None for arg in args]
    return [*of_args, *(weight.grad for weight in formula.projections.values())]


def _agree(expected: list[Tensor | None] | None, actual: list[Tensor | None], same: float) -> bool:
    if expected is None or len(expected) != len(actual):
        return False
    return all(_same(one, other, same) for one, other in zip(expected, actual, strict=True))


def _same(one: Tensor | None, other: Tensor | None, same: float) -> bool:
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.device != other.device or one.device.type == "meta":
        return one.shape == other.shape and one.device == other.device
    one, other = one.detach().double(), other.double()
    largest = float(one.nan_to_num(0, 0, 0).abs().max()) if one.numel() else 0.0
    return torch.allclose(one, other, rtol=0, atol=same * largest, equal_nan=True)
