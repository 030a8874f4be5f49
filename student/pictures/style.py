"""The look that all pictures share: colours, the font that ships, a sheet of pixels and a few marks on it."""

import base64
import html
import io
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.text import Text

INK, QUIET, ACCENT, BLUE = "#1b2733", "#5b6875", "#c2410c", "#1f66ad"
PALE_BLUE, PALE_ACCENT, RULE = "#dbe9f6", "#fbe3d6", "#d3d7db"
BLOCKED = "#eceef0"
CENTRED = {"ha": "center", "va": "center"}
HATCHED = {"facecolor": BLOCKED, "edgecolor": RULE, "hatch": "////", "linewidth": 0}
# One hue from light to dark, with orange as the only accent: told apart by every kind of colour vision.
COLOURS = LinearSegmentedColormap.from_list(
    "attention", ["#f4f8fc", "#b5d2ea", "#5a9bd0", "#1f66ad", "#08306b"]
)
WIDTH = 900  # of every picture, in pixels of a notebook
FONT = Path(__file__).resolve().parent.parent / "fonts" / "NotoSansCJKsc-subset.otf"
LEFT = 30  # where titles begin


class Picture(Figure):
    """A matplotlib Figure that shows itself in a notebook, at most 900 pixels wide, with an alt text."""

    alt = ""

    def _repr_html_(self) -> str:
        data = io.BytesIO()
        self.savefig(data, format="png")
        source = "data:image/png;base64," + base64.b64encode(data.getvalue()).decode("ascii")
        size = f"width:100%;max-width:{WIDTH}px;height:auto"
        return f'<img src="{source}" alt="{html.escape(self.alt)}" style="{size}">'


def font(size: float) -> FontProperties:
    """Return the font that ships with the lesson: it has every character that is drawn, Chinese ones too."""
    return FontProperties(fname=FONT, size=size)


def sheet(height: int, title: str, note: str = "", dpi: int = 200) -> tuple[Picture, Axes]:
    """Return an empty picture with its message on top, and axes that count its pixels from the lower left."""
    picture = Picture(figsize=(WIDTH / 100, height / 100), dpi=dpi, facecolor="white")
    picture.alt = f"{title}. {note}".replace("\n", " ")
    axes = picture.add_axes((0, 0, 1, 1))
    clear(axes, height)
    write(axes, LEFT, height - 32, title, 15, ha="left")
    write(axes, LEFT, height - 60, note, 11, QUIET, ha="left")
    return picture, axes


def clear(axes: Axes, height: int) -> None:
    """Wipe a sheet."""
    axes.clear()
    axes.set(xlim=(0, WIDTH), ylim=(0, height))
    axes.set_axis_off()


def write(axes: Axes, x: float, y: float, text: str, size: float = 11, colour: str = INK, **style) -> Text:
    """Write a text, centred on a point of the sheet unless the style says otherwise."""
    return axes.text(x, y, text, color=colour, fontproperties=font(size), **{**CENTRED, **style})


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str = "", **style) -> None:
    """Draw a rounded box around a point, and a text in it. Style: face, edge, colour, size, line."""
    corner = (x - width / 2, y - height / 2)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            width,
            height,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor=style.get("face", PALE_BLUE),
            edgecolor=style.get("edge", "none"),
            linewidth=style.get("line", 1.5),
            zorder=2,
        )
    )
    size, colour = style.get("size", 11), style.get("colour", INK)
    if "\n" in text:
        write(axes, x, y, text, size, colour, zorder=3, linespacing=1.4)
    else:  # words with and without descenders stand on one line
        write(axes, x, y - 0.48 * size, text, size, colour, zorder=3, va="baseline")


def arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = QUIET, **style
) -> None:
    """Draw an arrow between two points of the sheet."""
    look = {"arrowstyle": "-|>", "mutation_scale": 11, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, color=colour, **{**look, **style}))


def cells(
    axes: Axes, left: float, top: float, numbers: np.ndarray, side: float, digits: int = 2, **style
) -> None:
    """Draw a matrix as cells, its upper left corner at a point; colours show weights, if `weights` is true.

    Cells that are -inf or, among weights, exactly 0 are hatched. `size` is that of the numbers; 0 draws none.
    """
    weights, size = style.get("weights", False), style.get("size", 11)
    for (i, j), number in np.ndenumerate(numbers):
        corner, inner = (left + j * side, top - (i + 1) * side), side - 2
        blocked = number == -np.inf or (weights and number == 0)
        face = COLOURS(number) if weights else style.get("face", BLOCKED)
        look = HATCHED if blocked else {"facecolor": face, "linewidth": 0}
        axes.add_patch(Rectangle((corner[0] + 1, corner[1] + 1), inner, inner, **look))
        if size and not blocked:
            colour = ink_on(number) if weights else INK
            text = f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")
            write(axes, corner[0] + side / 2, corner[1] + side / 2, text, size, colour)


def plot(picture: Picture, place: tuple[float, float, float, float], x_label: str, title: str = "") -> Axes:
    """Return axes for curves at (left, bottom, width, height) in pixels; the title stands above them."""
    height = picture.get_figheight() * 100
    left, bottom, wide, high = place
    axes = picture.add_axes((left / WIDTH, bottom / height, wide / WIDTH, high / height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.tick_params(which="both", length=0)
    axes.minorticks_off()
    axes.grid(color=BLOCKED, linewidth=1)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label, fontproperties=font(11), color=QUIET, labelpad=6)
    axes.text(0, 1.06, title, transform=axes.transAxes, fontproperties=font(12), color=INK)
    return axes


def ticks(axes: Axes, which: str, values, labels=None) -> None:
    """Set the ticks of the "x" or "y" axis; none of matplotlib's own, which would use another font."""
    axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
    axis.set_ticks(values, [f"{value:g}" for value in values] if labels is None else labels)
    axis.set_ticks([], minor=True)
    for label in axis.get_ticklabels():
        label.set(fontproperties=font(10.5), color=QUIET)


def scientific(value: float) -> str:
    """Return a number in a few characters, plain where that is readable: 0.34, 42, 3e-16."""
    if value == 0 or 0.001 <= abs(value) < 1000:
        return f"{value:.2g}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")


def ink_on(weight: float) -> str:
    """Return the colour of a number that reads best on the colour of its cell."""
    return "white" if luminance(COLOURS(weight)) < 0.18 else "black"  # either way a contrast of 4.5 or more


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance (0 black, 1 white) of an sRGB colour, as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
