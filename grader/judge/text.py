"""Messages in English and Chinese: a key and the values that fill it in; said only at the end."""

import functools
import tomllib
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("en", "zh")
_LONGEST = 300


@dataclass(frozen=True)
class Text:
    """A message of messages/<lang>.toml, as "group.key", with the values that it names.

    A value may be a Text itself. Every other value is made printable when it is said.
    own: templates by language, where they stand elsewhere (the docstring of a check, a known mistake).
    """

    key: str
    values: dict = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)

    def say(self, lang: str) -> str:
        """The message in a language. KeyError if the language lacks it."""
        group, key = self.key.split(".", 1)
        values = {
            name: value.say(lang) if isinstance(value, Text) else printable(value)
            for name, value in self.values.items()
        }
        template = self.own[lang] if lang in self.own else catalogue(lang)[group][key]
        return template.format(**values)


def text(key: str, **values: object) -> Text:
    """Short for Text(key, values)."""
    return Text(key, values)


@functools.cache
def catalogue(lang: str) -> dict[str, dict[str, str]]:
    """All messages of a language, by group and key."""
    file = Path(__file__).parent / "messages" / f"{lang}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def printable(value: object, longest: int = _LONGEST) -> str:
    """A value as one line that is safe to show: no control, escape, surrogate or direction characters."""
    line = harmless(" ".join(str(value)[: 4 * longest].split()))
    return line if len(line) <= longest else line[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def harmless(words: str) -> str:
    """A text without control, escape, surrogate or direction characters; line ends and tabs stay."""
    if words.isprintable():
        return words
    return "".join(
        c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in words
    )
