"""A choice of sentence, and a player for each: what an animation is in a notebook.

The players are matplotlib's own (to_jshtml). They are changed in what a notebook on a bare machine needs:
the first frame shows without script, symbols stand for the icons that would come over the network, and the
buttons speak the notebook's language.
"""

import base64
import html
import io
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.animation import FuncAnimation
from PIL import Image

from student.pictures.style import WIDTH, Picture

MILLISECONDS = 1100  # a frame is there to be read
LABELS = {
    "en": {
        "choose": "Choose a sentence:",
        "First frame": "First frame",
        "Previous frame": "Previous frame",
        "Pause": "Pause",
        "Play": "Play",
        "Next frame": "Next frame",
        "Last frame": "Last frame",
    },
    "zh": {
        "choose": "换一句话：",
        "First frame": "第一帧",
        "Previous frame": "上一帧",
        "Pause": "暂停",
        "Play": "播放",
        "Next frame": "下一帧",
        "Last frame": "最后一帧",
    },
}
# HTML, not drawn; the sign after each keeps it a letter where a system would make it a coloured picture
SYMBOLS = {
    "First frame": "|&#9664;&#xFE0E;",
    "Previous frame": "&#9664;&#xFE0E;",
    "Pause": "&#10074;&#10074;",
    "Play": "&#9654;&#xFE0E;",
    "Next frame": "&#9654;&#xFE0E;|",
    "Last frame": "&#9654;&#xFE0E;&#9654;&#xFE0E;|",
}

# A browser that does not know :has shows all players, one below the other.
STYLE = """<style>
@supports selector(:has(a)) {{{rules}}}
#{name} .choices {{margin: 6px 0 10px; line-height: 1.8}}
#{name} .choices span {{white-space: nowrap; margin-right: 14px}}
#{name} .anim-buttons button {{width: 46px; height: 32px; font-size: 14px; cursor: pointer}}
</style>"""


@dataclass(frozen=True)
class Scene:
    """One sentence's animation: `draw(n)` redraws the picture as its n-th frame."""

    sentence: str
    alt: str
    picture: Picture
    frames: int
    draw: Callable[[int], None]


class Player:
    """Scenes, one at a time, in a notebook."""

    def __init__(self, scenes: list[Scene], lang: str):
        self.scenes, self.lang = scenes, lang
        self._panels = [panel(scene, lang) for scene in scenes]

    def _repr_html_(self) -> str:
        """Return HTML with ids of its own, however often it is shown on a page."""
        name = f"scenes-{uuid.uuid4().hex}"
        rules = [f"#{name} > .scene {{display: none}}"]
        choices, panels = [], []
        for n, (scene, shown) in enumerate(zip(self.scenes, self._panels, strict=True)):
            key, checked = f"{name}-{n}", " checked" if n == 0 else ""
            rules.append(f"#{name}:has(#{key}:checked) > #{key}-panel {{display: block}}")
            radio = f'<input type="radio" name="{name}" id="{key}"{checked}>'
            choices.append(f'<span>{radio} <label for="{key}">{html.escape(scene.sentence)}</label></span>')
            panels.append(f'<div class="scene" id="{key}-panel">{with_own_id(shown)}</div>')
        choose = f"<strong>{LABELS[self.lang]['choose']}</strong>"
        style = STYLE.format(name=name, rules=" ".join(rules))
        choice = f'<div class="choices" role="radiogroup">{choose} {" ".join(choices)}</div>'
        return f'<div id="{name}">{style}{choice}{"".join(panels)}</div>'


def panel(scene: Scene, lang: str) -> str:
    """Return matplotlib's player of a scene, made fit for a notebook without a network."""
    animation = FuncAnimation(scene.picture, scene.draw, frames=scene.frames, interval=MILLISECONDS)
    page = animation.to_jshtml(default_mode="once")
    page = re.sub(r'"data:image/png;base64,([^"]+)"', lambda found: f'"{small(found[1])}"', page)
    first = re.search(r'frames\[0\] = "([^"]+)"', page)[1]
    size = f"width:100%;max-width:{WIDTH}px;height:auto"
    image = f'<img src="{first}" alt="{html.escape(scene.alt)}" style="{size}" '
    page = re.sub(r"<link[^>]*>", "", page)
    page = page.replace("<img ", image).replace('class="anim-state"', 'class="anim-state" hidden')
    page = re.sub(r"<button title.*?</button>", lambda found: button(found[0], lang), page, flags=re.DOTALL)
    # Play at the end starts again, which matplotlib's own does not
    return re.sub(
        r"(anim\w+)\.play_animation\(\)\"",
        r"if (\1.current_frame == \1.frames.length - 1) \1.first_frame(); \1.play_animation()" + '"',
        page,
    )


def small(data: str) -> str:
    """Return a frame (base64, in lines that end in a backslash) as a data URL of a PNG with 128 colours."""
    frame, smaller = Image.open(io.BytesIO(base64.b64decode(data.replace("\\\n", "")))), io.BytesIO()
    frame.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(smaller, format="png")
    return "data:image/png;base64," + base64.b64encode(smaller.getvalue()).decode("ascii")


def button(original: str, lang: str) -> str:
    """Return a button with a symbol and a title in the language; nothing for one that is not needed."""
    title = re.search(r'title="([^"]*)"', original)[1]
    if title not in SYMBOLS:
        return ""
    symbol = f'<span aria-hidden="true">{SYMBOLS[title]}</span>'
    return re.sub(r"<i [^>]*></i>", symbol, original.replace(f'"{title}"', f'"{LABELS[lang][title]}"'))


def with_own_id(page: str) -> str:
    """Return a player with a new id, so that the same one can be on a page twice."""
    return page.replace(re.search(r'id="_anim_img(\w+)"', page)[1], uuid.uuid4().hex)
