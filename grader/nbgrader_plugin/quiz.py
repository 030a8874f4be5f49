"""Retrieval practice: what an answer's text says, and whether that is right. Nothing in it is executed."""

import functools
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path

LONGEST = 200  # characters of an answer; the right ones have up to 15
_ROUNDED = 0.02  # how far a fraction may be rounded; whole numbers may not be
_MARKUP = "*`$ \t\r\n"
_LABEL = re.compile(r"^\s*(answer|答案|答)\s*:", flags=re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?)(?:\s*/\s*(\d+(?:\.\d+)?))?\s*(%?)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_CHOICE = re.compile(r"(?:option|choice|选项?)?\s*([a-d])")

Value = float | tuple[int, ...] | str


@dataclass(frozen=True)
class Question:
    """A question of the notebook. form: "number", "shape" or "choice"; why: the explanation by language."""

    form: str
    right: Value
    why: dict[str, str]

    def outcome(self, answer: str) -> str:
        """What came of an answer: "right", "wrong", "unreadable" or "unanswered"."""
        if not _content(answer):
            return "unanswered"
        value = read(answer, self.form)
        if value is None:
            return "unreadable"
        return "right" if self._is_right(value) else "wrong"

    def feedback(self, outcome: str, lang: str) -> list[str]:
        """What to tell: the verdict, and the explanation whatever the verdict is."""
        words = _data()["words"][lang]
        rounded = f"{self.right:.2f}" if isinstance(self.right, float) else str(self.right)
        return [words[outcome].format(answer=rounded, form=words[self.form]), self.why[lang]]

    def _is_right(self, value: Value) -> bool:
        if self.form != "number":
            return value == self.right
        rounded = 0 if float(self.right).is_integer() else _ROUNDED
        return abs(value - self.right) <= max(rounded * abs(self.right), 1e-9)


@functools.cache
def questions() -> dict[str, Question]:
    """grade_id -> the question."""
    return {name: _question(entry) for name, entry in _data()["questions"].items()}


def read(answer: str, form: str) -> Value | None:
    """The value that a text states in a form; None if none. Full-width characters count as ASCII."""
    if len(answer.strip()) > LONGEST:
        return None
    return {"number": _number, "shape": _shape, "choice": _choice}[form](_content(answer))


def _content(answer: str) -> str:
    """An answer without its label, and without signs that change nothing."""
    text = unicodedata.normalize("NFKC", answer.strip()[: LONGEST + 1]).translate({0x2212: "-", 0x2044: "/"})
    text = _LABEL.sub("", text.strip(_MARKUP)).strip(_MARKUP)
    return text.lstrip("=≈~ ").rstrip(".。!; ").lower()


def _number(text: str) -> float | None:
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    value, divisor, percent = float(found[1]), float(found[2] or 1), 100 if found[3] else 1
    return value / divisor / percent if divisor else None


def _shape(text: str) -> tuple[int, ...] | None:
    sizes = re.split(r"\s*[,、×x]\s*|\s+", text.removeprefix("torch.size").strip("()[], "))
    if not all(re.fullmatch(r"\d{1,9}", size) for size in sizes):
        return None
    return tuple(int(size) for size in sizes)


def _choice(text: str) -> str | None:
    found = _CHOICE.fullmatch(text.strip("()[] "))
    return found[1] if found else None


@functools.cache
def _data() -> dict:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _question(entry: dict) -> Question:
    form = next(form for form in ("number", "shape", "choice") if form in entry)
    right = tuple(entry[form]) if form == "shape" else entry[form]
    return Question(form, right, {lang: entry[lang] for lang in _data()["words"]})
