"""The text that a student wrote into the answer cells, out of a notebook file that may hold anything."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 20_000  # characters of one answer


@dataclass(frozen=True)
class Answers:
    """grade_id -> the texts of the cells with that id, in order; several if a student has copied one."""

    texts: dict[str, tuple[str, ...]]
    valid: bool = True

    def of(self, grade_id: str, released: str) -> str:
        """The answer to one question: the first that is not what was released."""
        changed = [text for text in self.texts.get(grade_id, ()) if text.strip() != released.strip()]
        return changed[0] if changed else released


def read_answers(file: Path) -> Answers:
    """The answers in a notebook file; none if it is no notebook."""
    try:
        with open(file, encoding="utf-8") as stream:
            cells = json.load(stream)["cells"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError, MemoryError):
        return Answers({}, valid=False)
    if not isinstance(cells, list):
        return Answers({}, valid=False)
    texts: dict[str, tuple[str, ...]] = {}
    for cell in cells:
        grade_id, text = _at(cell, "metadata", "nbgrader", "grade_id"), _text(_at(cell, "source"))
        if isinstance(grade_id, str) and text is not None:
            texts[grade_id] = (*texts.get(grade_id, ()), text)
    return Answers(texts)


def shown_as_written(text: str) -> str:
    """Markdown that shows a text as it is: nothing in it is read as HTML, as Markdown or as a formula."""
    kept = text if len(text) <= LONGEST else text[:LONGEST] + " [cut here]"
    safe = "".join(c if c.isalnum() or c in " \n.,;" else f"&#{ord(c)};" for c in kept if _is_text(c))
    return f'<pre style="white-space: pre-wrap">\n{safe}\n</pre>'


def _is_text(character: str) -> bool:
    code = ord(character)
    return (code >= 32 or character == "\n") and not 0xD800 <= code <= 0xDFFF and not 0x7F <= code < 0xA0


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(source: Any) -> str | None:
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return source if isinstance(source, str) else None
