"""What the HTML pages share: the template engine, its texts in two languages, and what a page may do.

A page is one file: no network, and no script but the one that it names by its hash. All that is put into it
is escaped by the engine and rid of control and direction characters, whoever wrote it.
"""

import base64
import functools
import hashlib
import tomllib
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from grader.judge.text import harmless, printable

_HERE = Path(__file__).parent
_HTML_LANG = {"en": "en", "zh": "zh-Hans"}
LONGEST = 2000  # characters of a text of several lines


def render(template: str, lang: str, script: str | None = None, **values: Any) -> str:
    """A page from a template; `script` is the name of the one file that may run in it."""
    code = _text(script) if script else ""
    page = _engine().get_template(template)
    return page.render(
        values,
        lang=_HTML_LANG[lang],
        t=functools.partial(say, lang),
        style=Markup(_text("style.css")),
        script=Markup(code),
        policy=_policy(code),
    )


def say(lang: str, key: str, **values: object) -> str:
    """A text of messages/<lang>.toml, with its values filled in."""
    return texts(lang)[key].format_map({name: printable(value) for name, value in values.items()})


@functools.cache
def texts(lang: str) -> dict[str, str]:
    """The texts of the pages in a language."""
    return tomllib.loads((_HERE / "messages" / f"{lang}.toml").read_text(encoding="utf-8"))


@functools.cache
def _engine() -> jinja2.Environment:
    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    engine.filters |= {"short": printable, "cut": cut, "points": points}
    return engine


def _shown(value: object) -> object:
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def points(number: float | None) -> str:
    """A number of points; a dash where there is no verdict."""
    return "–" if number is None else f"{number:g}"


def cut(words: str, notice: str) -> str:
    """A long text without its middle; `notice` with {count} stands there."""
    if len(words) <= LONGEST:
        return words
    head, tail = LONGEST * 3 // 4, LONGEST // 4
    return f"{words[:head]}\n{notice.format(count=len(words) - head - tail)}\n{words[-tail:]}"


def _policy(script: str) -> str:
    """A Content-Security-Policy: style of the page's own, that one script, and nothing else."""
    allowed = f"; script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    return (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        f"{allowed if script else ''}"
    )


@functools.cache
def _text(name: str) -> str:
    return (_HERE / "templates" / name).read_text(encoding="utf-8")
