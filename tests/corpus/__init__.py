"""Wrong and right submissions, by which the judge is proven.

A case is a short override of the reference: code that is appended to solutions/attention.py, where the
last definition of a name wins. The topic files beside this one hold the cases.

`shown_by` of a wrong case is "value" where ordinary outputs differ: float64, N(0, 1), distinct sizes, by more
than 1e-6. Otherwise it says what shows the mistake:
    shape, raises, dtype, device, parameters, constructor (what __init__ takes), forbidden (not from scratch)
    gradient, mutation (of an argument), state (a later call, or a second module)
    large logits, exact zero (of blocked weights), float64 (tier 4 alone: below 1e-6)
    zero scores, zero tokens, B=1, L=1, length (more than 16 tokens)
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
REFERENCE = FOLDER.parents[1] / "solutions" / "attention.py"

OneOrMore = str | tuple[str, ...] | None


@dataclass(frozen=True)
class Case:
    name: str
    code: str
    todo: OneOrMore = None  # whose body it breaks; None: a given body, or nothing
    mistake: OneOrMore = None  # id in the catalogue; None: a right case
    shown_by: str = "value"  # what tells it from the reference; see below


def _cases(topic: str) -> list[Case]:
    modules = sorted(path.stem for path in FOLDER.glob(f"{topic}_*.py"))
    return [case for module in modules for case in import_module(f".{module}", __name__).CASES]


def wrong_cases() -> list[Case]:
    return _cases("wrong")


def right_cases() -> list[Case]:
    return _cases("right")


def source_of(case: Case) -> str:
    return REFERENCE.read_text(encoding="utf-8") + "\n\n" + case.code
