"""What a check holds in its hand: the student's functions, called as if they were here."""

import itertools
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from grader.judge import contract
from grader.judge.call import Answer, Argument, Call, Module, StudentError
from grader.judge.source import Source
from grader.judge.text import text

__tracebackhide__ = True  # pytest shows a student the check and their own lines


class Submission(Protocol):
    """Anything that answers calls: LocalSubmission in this process, a worker behind a wire."""

    source: Source

    def answer(self, call: Call) -> Answer:
        """The answer to one call. StudentError if there is none."""

    def parameters(self, module: Module) -> dict[str, Tensor]:
        """The distinct parameters of a MultiHeadAttention by name. StudentError as above."""

    def printed(self) -> str:
        """What it has printed since this was last asked, where that does not go to our own output."""

    def close(self) -> object:
        """Let go of everything that it holds."""


@dataclass(frozen=True)
class Exchange:
    """A call and what came of it: what a diagnosis works on. answer is None while there is none."""

    call: Call
    answer: Answer | None = None


class Student:
    """The functions of a submission; every call is kept in `exchanges` for the diagnosis."""

    _handles = itertools.count()

    def __init__(self, submission: Submission | None, refusal: StudentError | None, from_scratch: bool):
        self._submission = submission
        self._refusal = refusal  # raised at every call, if there is one
        self._from_scratch = from_scratch  # whether torch's own attention is out of bounds
        self.exchanges: list[Exchange] = []

    def call(
        self, function: str, *args: Argument, module: Module | None = None, upstream: Tensor | None = None
    ) -> Answer:
        """Call a function of the exercise; with `upstream`, a tensor like the first result, gradients too."""
        call = Call(function, args, module, upstream)
        self.exchanges.append(Exchange(call))
        if self._refusal:
            raise self._refusal
        try:
            answer = self._submission.answer(call)
        except StudentError as error:
            # what it comes from has the lines of the student's own
            raise error.with_traceback(None) from error.__cause__
        self.exchanges[-1] = Exchange(call, answer)
        if self._from_scratch and answer.ready_made:
            raise StudentError("forbidden", text("seen.ready_made", name=answer.ready_made))
        contract.hold(call, answer)
        return answer

    def parameters(self, module: Module) -> dict[str, Tensor]:
        """The distinct parameters of a MultiHeadAttention by name."""
        if self._refusal:
            raise self._refusal
        return self._submission.parameters(module)

    def causal_mask(self, length: int, *device: torch.device) -> Tensor:
        """-> bool (L, L)"""
        return self.call("causal_mask", length, *device).results[0]

    def attention_scores(self, query: Tensor, key: Tensor) -> Tensor:
        """(..., L_q, d_k), (..., L_k, d_k) -> (..., L_q, L_k)"""
        return self.call("attention_scores", query, key).results[0]

    def attention_weights(self, scores: Tensor, *mask: Tensor | None) -> Tensor:
        """(..., L_q, L_k) -> (..., L_q, L_k)"""
        return self.call("attention_weights", scores, *mask).results[0]

    def scaled_dot_product_attention(
        self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """-> output (..., L_q, d_v), weights (..., L_q, L_k)"""
        return self.call("scaled_dot_product_attention", query, key, value, *mask).results

    def multi_head_attention(
        self,
        d_model: int,
        n_heads: int,
        projections: dict[str, Tensor] | None = None,
        reloaded: bool = False,
    ) -> "StudentModule":
        """A MultiHeadAttention of the student's, built at its first call, with the given weights if any."""
        return StudentModule(self, Module(next(self._handles), d_model, n_heads, projections or {}, reloaded))


@dataclass(frozen=True)
class StudentModule:
    """One MultiHeadAttention object of the student's."""

    student: Student
    module: Module

    def with_weights(self, projections: dict[str, Tensor]) -> "StudentModule":
        """The same object with other weights, as after a step of training."""
        return replace(self, module=replace(self.module, projections=projections))

    def call(self, method: str, *args: Tensor | None, upstream: Tensor | None = None) -> Answer:
        """Call a method; with `upstream`, a tensor like the first result, gradients too."""
        return self.student.call(method, *args, module=self.module, upstream=upstream)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, L, d_model) -> (B, H, L, d_head)"""
        return self.call("split_heads", x).results[0]

    def combine_heads(self, heads: Tensor) -> Tensor:
        """(B, H, L, d_head) -> (B, L, d_model)"""
        return self.call("combine_heads", heads).results[0]

    def forward(self, x: Tensor, *mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """(B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L)"""
        return self.call("forward", x, *mask).results

    def parameters(self) -> dict[str, Tensor]:
        """The distinct parameters by name."""
        return self.student.parameters(self.module)

    def raised_when_built(self) -> str | None:
        """The name of the type of the exception that the constructor raises; None if it raises none."""
        try:
            self.parameters()
        except StudentError as error:
            return error.raised
        return None
