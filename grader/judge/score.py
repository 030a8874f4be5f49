"""Tiers, points, checks and the score: plain data, no input or output."""

from dataclasses import dataclass, field
from typing import Any

from grader.judge.text import Text

SCHEMA = 1


@dataclass(frozen=True)
class Tier:
    """A tier of checks; `module` is the test file that holds its public checks."""

    id: str
    points: float
    module: str


TIERS = (
    Tier("shape", 15, "test_1_shape"),
    Tier("causality", 25, "test_2_causality"),
    Tier("equivalence-1e-6", 25, "test_3_equivalence_1e_6"),
    Tier("equivalence-1e-16", 15, "test_4_equivalence_1e_16"),
    Tier("gradient-flow", 20, "test_5_gradient_flow"),
)
MAX_SCORE = sum(tier.points for tier in TIERS)
GATED = ("equivalence-1e-6", "equivalence-1e-16", "gradient-flow")  # closed to code that is not from scratch

LOST = ("failed", "not_attempted", "error", "timeout", "crashed", "forbidden")  # through the submission
OUTCOMES = ("passed", *LOST, "grader_error")


@dataclass(frozen=True)
class Finding:
    """Why a check was lost: what was seen, what it means, where to look, what to read."""

    seen: Text
    meaning: Text
    function: str | None  # of the exercise
    line: int | None  # of the student's file
    section: int | None  # of the lesson
    mistake: str | None = None  # id in the catalogue of known mistakes
    title: Text | None = None  # what that mistake is called
    hint: Text | None = None


@dataclass(frozen=True)
class Measurement:
    """A comparison with the truth: largest absolute errors of the student and of torch on the same inputs."""

    error: float
    tolerance: float
    torch_error: float | None = None


@dataclass(frozen=True)
class Weights:
    """Attention weights of one sample, (H, L_q, L_k): the student's and the right ones."""

    actual: tuple[tuple[tuple[float, ...], ...], ...]
    right: tuple[tuple[tuple[float, ...], ...], ...]


@dataclass(frozen=True)
class Gradient:
    """The size (Euclidean norm) of the gradient of one argument or parameter; None where none arrived."""

    name: str
    actual: float | None
    right: float


@dataclass(frozen=True)
class Check:
    """A check that a full run has; `todo` is None for a check of the whole functions."""

    id: str
    tier: str
    todo: str | None
    visibility: str  # "public" or "hidden"
    weight: float = 1


@dataclass(frozen=True)
class Result:
    """A check and what came of it. Only the outcome "passed" earns."""

    check: Check
    outcome: str
    finding: Finding | None = None
    measurement: Measurement | None = None
    leak_map: tuple[tuple[float, ...], ...] | None = None  # (L, L): output i moves so far with token j
    weights: Weights | None = None
    gradients: tuple[Gradient, ...] = ()
    printed: str = ""  # by the student's code, as far as it may be shown


@dataclass(frozen=True)
class TierScore:
    """What a tier earned, in points, and its checks, by number."""

    tier: Tier
    score: float
    passed: int
    total: int


@dataclass(frozen=True)
class Score:
    """The verdict on one submission.

    expected: the checks of a full run; one without a result earns nothing.
    """

    path: str
    sha256: str | None
    visibility: str  # "public" or "official"
    isolation: str  # "in-process", "process" or "sandbox"
    expected: tuple[Check, ...]
    results: tuple[Result, ...]
    environment: dict[str, Any] = field(default_factory=dict)
    duration_s: float = 0.0

    @property
    def tiers(self) -> tuple[TierScore, ...]:
        """Tier score = tier points x passed weight / weight of the tier's expected checks."""
        passed = {result.check.id for result in self.results if result.outcome == "passed"}
        scores = []
        for tier in TIERS:
            checks = [check for check in self.expected if check.tier == tier.id]
            earned = [check for check in checks if check.id in passed]
            share = sum(check.weight for check in earned) / (sum(check.weight for check in checks) or 1)
            scores.append(TierScore(tier, round(tier.points * share, 2), len(earned), len(checks)))
        return tuple(scores)

    @property
    def score(self) -> float | None:
        """The points in all; None when the grader itself failed somewhere: that is no verdict."""
        if any(result.outcome == "grader_error" for result in self.results):
            return None
        return round(sum(tier.score for tier in self.tiers), 2)

    @property
    def leak_map(self) -> tuple[tuple[float, ...], ...] | None:
        """(L, L): how far output i moves when token j changes; None if that was not seen."""
        return next((result.leak_map for result in self.public if result.leak_map), None)

    @property
    def weights(self) -> Weights | None:
        """Attention weights beside the right ones; None if none were seen."""
        return next((result.weights for result in self.public if result.weights), None)

    @property
    def public(self) -> tuple[Result, ...]:
        """The results of the public checks: numbers of the others would tell about their inputs."""
        return tuple(result for result in self.results if result.check.visibility == "public")

    @property
    def complete(self) -> bool:
        """Whether every expected check has a result."""
        return {check.id for check in self.expected} == {result.check.id for result in self.results}

    def of_todo(self, todo: str | None) -> tuple[Result, ...]:
        """The results of one TODO's own checks; of the whole functions for None."""
        return tuple(result for result in self.results if result.check.todo == todo)
