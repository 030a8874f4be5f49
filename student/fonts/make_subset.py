"""Cut Noto Sans CJK SC down to the characters that the lesson's pictures use.

Run it again whenever a picture or attention_from_scratch.py gains a character (a test says so):

    python student/fonts/make_subset.py [NotoSansCJK-Regular.ttc]

It needs fontTools, which comes with matplotlib, and the full font (Debian: apt-get install fonts-noto-cjk).
The same font gives the same bytes each time. The licence of the result is in OFL.txt beside it.
"""

import ast
import shutil
import string
import subprocess
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection, TTFont

FAMILY = "Noto Sans CJK SC"
FONTS = Path(__file__).resolve().parent
SUBSET = FONTS / "NotoSansCJKsc-subset.otf"
DEBIAN = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"


def characters() -> set[str]:
    """Return printable ASCII and every character of a string literal in the files that draw or print."""
    found = set(string.ascii_letters + string.digits + string.punctuation + " ")
    found.add("\N{MINUS SIGN}")  # matplotlib puts it before negative numbers by itself
    student = FONTS.parent
    for file in (
        student / "attention_from_scratch.py",
        *student.glob("measures/*.py"),
        *student.glob("pictures/*.py"),
    ):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(filter(str.isprintable, node.value))
    return found


def installed_font() -> str:
    """Return the path of the installed Noto Sans CJK."""
    if shutil.which("fc-match"):
        command = ["fc-match", "--format=%{file}", f"{FAMILY}:style=Regular"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if "NotoSansCJK" in path:  # without it, fc-match answers with some other font
            return path
    return DEBIAN


def open_font(path: str) -> TTFont:
    """Open the Simplified Chinese face of a font file or of a collection."""
    is_collection = Path(path).suffix.lower() in (".ttc", ".otc")
    faces = TTCollection(path).fonts if is_collection else [TTFont(path)]
    for face in faces:
        if face["name"].getDebugName(1) == FAMILY:
            face.recalcTimestamp = False  # the time of the cut would change the bytes
            return face
    raise SystemExit(f"{path} holds no {FAMILY}")


def main() -> None:
    font = open_font(sys.argv[1] if len(sys.argv) > 1 else installed_font())
    wanted = characters()
    lacking = sorted(c for c in wanted if ord(c) not in font.getBestCmap())
    if lacking:
        raise SystemExit(f"{FAMILY} has no glyph for {' '.join(lacking)}: draw something else")

    options = Options(hinting=False, layout_features=["kern"], name_IDs=["*"], notdef_outline=True)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=map(ord, wanted))
    subsetter.subset(font)
    font.save(SUBSET)
    print(f"{SUBSET.name}: {len(wanted)} characters, {SUBSET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
