"""The checks that a full run has: read off the test modules, not off what happened to run."""

import functools
import importlib
from collections.abc import Callable

from grader.judge.exercise import TODOS
from grader.judge.score import TIERS, Check

_PUBLIC = {f"grader.{tier.module}": tier.id for tier in TIERS}
_HIDDEN = {f"grader.hidden.{tier.module}": tier.id for tier in TIERS}  # not in a student's copy


@functools.cache
def checks(official: bool = False) -> tuple[tuple[Check, Callable], ...]:
    """The public checks of all tiers in order, and the hidden ones if official, each with its function."""
    modules = [importlib.import_module(name) for name in [*_PUBLIC, *(_HIDDEN if official else ())]]
    functions = [
        item for module in modules for name, item in vars(module).items() if name.startswith("test_")
    ]
    return tuple((check_of(function), function) for function in functions)


def check_of(function: Callable) -> Check:
    """The entry of one check: its tier is its module's, its TODO and its weight are pytest marks."""
    marks = {mark.name: mark for mark in getattr(function, "pytestmark", [])}
    todo = next((todo.name for todo in TODOS if todo.marker in marks), None)
    weight = marks["weight"].args[0] if "weight" in marks else 1
    name = function.__name__.removeprefix("test_")
    if function.__module__ in _HIDDEN:
        tier = _HIDDEN[function.__module__]
        return Check(f"hidden_{tier}_{name}", tier, todo, "hidden", weight)
    return Check(name, _PUBLIC[function.__module__], todo, "public", weight)
