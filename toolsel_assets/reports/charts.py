"""Charts of the report as inline SVG, written by hand: no script, no font, real text, the same bytes every time.

What belongs here: numbers to shapes. What does not: which numbers (html.py). Each chart has a title for screen
readers, and the page repeats its figures in a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

INK, GRID, BAR, SOFT, BASE = "#1f2933", "#d7dce1", "#2f6f8f", "#a9c7d6", "#c0c6cc"


@dataclass(frozen=True)
class Bar:
    """One bar: a rate with its counts and interval, and the first rung's rate as a tick when there is one."""

    label: str
    n_correct: int
    n: int
    low: float
    high: float
    before: float | None = None


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Draw horizontal bars from 0 to 100 % with 95 % intervals, and `n of n` beside each."""
    left, width, step, top = 230, 420, 30, 26
    height = top + step * len(rows) + 8
    parts = [_axis(left, width, top, height)]
    for i, row in enumerate(rows):
        y = top + step * i
        rate = row.n_correct / row.n if row.n else 0.0
        middle = y + 11
        parts.append(_text(left - 8, middle + 4, row.label, "end"))
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{rate * width:.1f}" height="16" fill="{SOFT}"/>')
        low, high = left + row.low * width, left + row.high * width
        parts.append(f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="{BAR}" stroke-width="2"/>')
        parts.append(f'<circle cx="{left + rate * width:.1f}" cy="{middle}" r="4" fill="{BAR}"/>')
        if row.before is not None:
            x = left + row.before * width
            parts.append(f'<path d="M{x:.1f} {y + 1}V{y + 21}" stroke="{INK}" stroke-width="2"/>')
        parts.append(_text(left + width + 12, middle + 4, f"{row.n_correct} of {row.n}", "start"))
    return _svg(title, left + width + 110, height, parts)


@dataclass(frozen=True)
class Rung:
    """One rung: its mean rate, and the lowest and highest rate over order seeds."""

    label: str
    mean: float
    lowest: float
    highest: float


def ladder(title: str, rungs: Sequence[Rung]) -> str:
    """Draw the rate of each rung with its spread over order seeds; the first rung's band runs across."""
    left, width, top, height = 60, 640, 20, 170
    space = width / max(len(rungs), 1)

    def y(rate: float) -> float:
        return top + (1 - rate) * height

    parts = []
    for percent in (0, 25, 50, 75, 100):
        at = y(percent / 100)
        parts.append(f'<path d="M{left} {at:.1f}H{left + width}" stroke="{GRID}"/>')
        parts.append(_text(left - 8, at + 4, f"{percent} %", "end"))
    if rungs:
        band = rungs[0]
        parts.append(
            f'<rect x="{left}" y="{y(band.highest) - 1:.1f}" width="{width}" '
            f'height="{y(band.lowest) - y(band.highest) + 2:.1f}" fill="{BASE}" opacity="0.6"/>'
        )
    for i, rung in enumerate(rungs):
        x = left + space * (i + 0.5)
        parts.append(f'<path d="M{x:.1f} {y(rung.lowest):.1f}V{y(rung.highest):.1f}" stroke="{BAR}" stroke-width="3"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y(rung.mean):.1f}" r="5" fill="{BAR}"/>')
        parts.append(_text(x, y(rung.mean) - 10, f"{100 * rung.mean:.1f} %", "middle"))
        parts.append(_text(x, top + height + 20, rung.label, "middle"))
    return _svg(title, left + width + 20, top + height + 34, parts)


def _axis(left: int, width: int, top: int, height: int) -> str:
    lines = []
    for percent in (0, 25, 50, 75, 100):
        x = left + width * percent / 100
        lines.append(f'<path d="M{x:.1f} {top - 6}V{height}" stroke="{GRID}"/>')
        lines.append(_text(x, top - 10, f"{percent} %", "middle"))
    return "".join(lines)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _svg(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width:.0f} {height:.0f}" font-size="13" font-family="system-ui, sans-serif" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )
