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
from typing import NamedTuple

import torch
from torch import Tensor

from grader.judge.call import Call
from grader.judge.exercise import PROJECTIONS, Todo, todo_of
from grader.judge.score import Result
from grader.judge.submission import Exchange
from grader.judge.text import LANGUAGES, Text

INNER = "scaled_dot_product_attention"  # which forward calls
SAME = 1e-5  # relative to the largest number; float32 inside is within 1e-6, other mistakes differ by 1e-3
ORDINARY = 100  # inputs up to this size must match; beyond it float32 and float64 part ways
FINE = 5e-14  # in float64, for inputs up to MODERATE: different ways of writing the same are within 1e-14
MODERATE = 10


class Sign(NamedTuple):
    """A lost check that stands for a mistake: its id or "*", the key of what was seen, what values it has."""

    check: str
    key: str
    when: Callable[[dict], bool] = lambda values: True


UNSTEADY = Sign("", "unsteady")  # of a mistake that gives other answers to the same call


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

    function: whose body it spoils; "" where a sign is the same for all. signs: lost checks that show what
    values cannot; alone: if no other check of that function is lost; certain: whatever the values say.
    holds(formula, call, answer): true of every answer, where no formula gives the same one.
    """

    id: str
    function: str
    words: dict[str, Words]
    alter: Callable | None = None
    parameters: tuple = ()
    fit: Callable | None = None
    same: float | None = None
    signs: tuple[Sign, ...] = ()
    alone: bool = False
    certain: bool = False
    holds: Callable | None = None

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
    signs: Iterable[tuple] = (),
) -> Callable[[Callable], Callable]:
    """Enter the decorated function, a method of Formula altered, into the catalogue.

    The name of the function says which body is wrong. en, zh: title, explanation, hint. parameters: values
    for its first argument, each a form of the same mistake. fit(formula, call, result): finds that value
    from one answer instead; None if there is none. same: how near to it counts as equal, if not SAME.
    signs: see Mistake; for calls where the values cannot show it.
    """

    def enter(alter: Callable) -> Callable:
        words = {"en": Words(*en), "zh": Words(*zh)}
        own = tuple(Sign(*sign) for sign in signs)
        _MISTAKES.append(Mistake(id, alter.__name__, words, alter, tuple(parameters), fit, same, own))
        return alter

    return enter


def signed_mistake(
    id: str,
    function: str,
    signs: Iterable[tuple],
    en: tuple[str, str, str],
    zh: tuple[str, str, str],
    fit: Callable | None = None,
    alone: bool = False,
    certain: bool = False,
    holds: Callable | None = None,
) -> None:
    """Enter a mistake that shows in a property, not in ordinary values. For the arguments see Mistake."""
    words, own = {"en": Words(*en), "zh": Words(*zh)}, tuple(Sign(*sign) for sign in signs)
    _MISTAKES.append(
        Mistake(id, function, words, fit=fit, signs=own, alone=alone, certain=certain, holds=holds)
    )


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
    exchanges = [e for e in exchanges if _has_weights(e.call) and not _is_without_numbers(e.call)]
    calls = [e for e in exchanges if e.call.function == function]
    shown = {entry.id for entry in catalogue() if entry.certain}  # what was seen says so, or it is not that
    known = [entry for entry in catalogue() if entry.alter and entry.id not in shown]
    candidates = [entry for entry in known if entry.function == function]
    if todo_of(function) is None:
        candidates += [entry for entry in known if entry.function != function]
        candidates = _in_question(function, candidates, exchanges)
    return (
        _first_that_explains(candidates, calls)
        or _unsteady(function, calls)
        or _seen_in_the_whole(candidates, calls, exchanges)
        or _held(function, calls)
    )


def _is_without_numbers(call: Call) -> bool:
    """Whether it asks for a result on the device without them: torch loads its compiler for it, a second."""
    return any(isinstance(arg, torch.device) and arg.type == "meta" for arg in call.args)


def _in_question(function: str, candidates: list[Mistake], exchanges: list[Exchange]) -> list[Mistake]:
    """What can be wrong in a whole function: before its weights if they are wrong, else after them."""
    inner = [e for e in exchanges if e.call.function == INNER != function and _within(ORDINARY, e.call)]
    if any(not e.answer for e in inner) or _wrong_first(View(inner)):
        candidates.sort(key=lambda entry: entry.function != INNER)  # what is wrong inside is so outside
    view = _wrong_first(View([e for e in exchanges if e.answer and e.call.function == function]))
    if not view:
        return candidates
    first = view.exchanges[0]
    right = _same(_evaluate(Formula, first.call, False)[1], first.answer.results[1], SAME)
    out = ("attention_scores", "attention_weights") if right else ("combine_heads",)
    return [entry for entry in candidates if entry.function not in out]


def _first_that_explains(candidates: list[Mistake], calls: list[Exchange]) -> Mistake | None:
    unexplained = False
    for view, is_more in _views(calls):
        if not (unexplained and is_more):  # what does not explain the results will not explain more than them
            view = _wrong_first(view)
            found = view and next((entry for entry in candidates if _explains(entry, view)), None)
            if found:
                return found
            unexplained = bool(view)
    return None


def _seen_in_the_whole(
    candidates: list[Mistake], calls: list[Exchange], exchanges: list[Exchange]
) -> Mistake | None:
    """A mistake of a method that uses weights which only calls of `forward` make known."""
    function = calls[0].call.function if calls else None
    if function not in ("split_heads", "combine_heads"):
        return None
    answered = [e for e in calls if e.answer]
    open_ones = [
        entry
        for entry in candidates
        if not any(_evaluate(form, e.call, False) for e in answered[:1] for form in _forms(entry, answered))
    ]
    return _first_that_explains(open_ones, [e for e in exchanges if e.call.function == "forward"])


def _held(function: str, calls: list[Exchange]) -> Mistake | None:
    """A mistake of which every answer has what it has to have, and one at least is wrong."""
    answered = [e for e in calls if e.answer and _within(ORDINARY, e.call)]
    view = View(answered)
    if all(_explained(Formula, e, view, SAME) for e in answered):
        return None
    known = [entry for entry in catalogue() if entry.function == function and entry.holds]
    return next((entry for entry in known if all(_holds(entry, e) for e in answered)), None)


def _holds(entry: Mistake, exchange: Exchange) -> bool:
    try:
        return bool(entry.holds(_formula(Formula, exchange.call), exchange.call, exchange.answer))
    except (RuntimeError, ArithmeticError, LookupError, ValueError, TypeError):
        return False


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


def _views(calls: list[Exchange]) -> Iterable[tuple[View, bool]]:
    """The first view in which a mistake explains everything counts; with each, whether it has more in it.

    Results of ordinary calls, with those that raised; without them; gradients too; large inputs; and what
    shows in the last digits alone, for which the whole functions are left out.
    """
    ordinary = [e for e in calls if _within(ORDINARY, e.call)]
    answered = [e for e in ordinary if e.answer]
    if len(answered) < len(ordinary):
        yield View(ordinary), False
    yield View(answered), False
    yield View(answered, gradients=True), True
    large = [e for e in calls if e.answer and not _within(ORDINARY, e.call)]
    yield View(answered + [e for e in large if _dtype(e.call) == torch.float64]), True
    yield View(answered + large), True
    fine = [e for e in answered if e.answer.results[0].dtype == torch.float64 == _dtype(e.call)]
    is_whole = any(todo_of(e.call.function) is None for e in fine)
    yield View([e for e in fine if _within(MODERATE, e.call)], FINE), is_whole


def _wrong_first(view: View) -> View | None:
    """The view, the wrong answers first, since they rule most mistakes out; None if none is or all raised."""
    wrong = [e for e in view.exchanges if not _explained(Formula, e, view, view.same)]
    answered = any(e.answer for e in view.exchanges)
    others = [e for e in view.exchanges if not any(e is one for one in wrong)]
    wrong.sort(key=lambda e: e.answer is None)
    first = [] if wrong and wrong[0].answer else others[:1]  # quicker than to see whether a formula raises
    return replace(view, exchanges=[*first, *wrong, *others[len(first) :]]) if wrong and answered else None


def signed(function: str, result: Result, lost: list[Result], certain: bool = False) -> Mistake | None:
    """The mistake of `function` that a lost check stands for by itself; `lost`: all of that function."""
    own = (e for e in catalogue() if e.function in (function, "") and (e.certain or not certain))
    return next((e for e in own if all(_shows(e, one) for one in (lost if e.alone else [result]))), None)


def _shows(entry: Mistake, result: Result) -> bool:
    check, seen = result.check.id, result.finding.seen
    return any(
        sign.check in (check, "*") and sign.key == seen.key.partition(".")[2] and sign.when(seen.values)
        for sign in entry.signs
    )


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
    if not answer:
        return _evaluate(kind, call, gradients=True) is None
    if not _agree(_evaluate(kind, call, gradients=False), [*answer.results], same):
        return False
    if not view.gradients or call.upstream is None:
        return True
    answered = [*answer.results, *answer.gradients, *answer.parameter_gradients.values()]
    return _agree(_evaluate(kind, call, gradients=True), answered, same)


def _forms(entry: Mistake, exchanges: list[Exchange]) -> Iterable[type[Formula]]:
    """Formula altered by a mistake: once, or once for each of its parameters."""
    if entry.fit:
        return [_altered(entry, value) for value in _fitted(entry, exchanges)]
    number = id(entry)
    if number not in _FORMS:
        _FORMS[number] = [_altered(entry, value) for value in entry.parameters] or [_altered(entry)]
    return _FORMS[number]


_FORMS: dict[int, list[type[Formula]]] = {}  # by the id of the entry: a class costs more than its use


def _altered(entry: Mistake, *value: object) -> type[Formula]:
    alter = functools.partialmethod(entry.alter, *value) if value else entry.alter
    return type("Altered", (Formula,), {entry.function: alter})


def _fitted(entry: Mistake, exchanges: list[Exchange]) -> tuple:
    """The value of the first answer that shows one; none for a whole function, which hides its parts."""
    for exchange in exchanges:
        call, answer = exchange.call, exchange.answer
        if answer and entry.function == call.function and not answer.results[0].is_complex():
            try:
                value = entry.fit(_formula(Formula, call), call, answer.results[0].double())
            except (RuntimeError, ArithmeticError, LookupError, ValueError, TypeError):  # another shape
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
    except (RuntimeError, LookupError, ValueError, TypeError):
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
    if other.is_complex():  # no formula is
        return False
    if one.shape != other.shape or one.device != other.device or one.device.type == "meta":
        return one.shape == other.shape and one.device == other.device
    one, other = one.detach().double(), other.double()
    if not one.numel():
        return True
    largest, difference = float(one.abs().max()), float((one - other).abs().max())
    if math.isfinite(largest) and math.isfinite(difference):
        return difference <= same * largest
    largest = float(one.nan_to_num(0, 0, 0).abs().max())
    return torch.allclose(one, other, rtol=0, atol=same * largest, equal_nan=True)
