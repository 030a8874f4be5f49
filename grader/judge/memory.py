"""Remembers the truth: all submissions of a class are asked the same questions."""

import functools
from collections.abc import Callable, Hashable

import numpy as np
from torch import Tensor

MOST = 500  # answers of one function; a run of all checks needs about 200


def remembered(function: Callable) -> Callable:
    """A function of the oracle that computes each answer once.

    Inputs are told apart by their numbers. Where autograd watches one it is computed anew, since the answer
    then has a history of its own. Answers are copies: whoever changes one changes nobody else's.
    """
    known: dict[Hashable, object] = {}

    @functools.wraps(function)
    def answer(*args: object) -> object:
        if _is_watched(args):
            return function(*args)
        key = _key(args)
        if key not in known:
            if len(known) >= MOST:
                del known[next(iter(known))]  # the oldest
            known[key] = function(*args)
        return _copy(known[key])

    return answer


def _is_watched(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        return any(map(_is_watched, value.values()))
    return isinstance(value, tuple) and any(map(_is_watched, value))


def _key(value: object) -> Hashable:
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape, value.numpy().tobytes()
    if isinstance(value, np.ndarray):  # of whole numbers of Python's
        return value.shape, tuple(value.flat)
    if isinstance(value, dict):
        return tuple((name, _key(part)) for name, part in value.items())
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return value


def _copy(value: object) -> object:
    if isinstance(value, Tensor):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else tuple(map(_copy, value))
