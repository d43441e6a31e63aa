"""Figures as people read them: fractions rounded half up, from integer counts.

Python's own rounding gives 71.2 for 171 of 240 and numpy's does too; the essays' figures need 71.3.
"""

from decimal import ROUND_HALF_UP, Decimal


def half_up(value: float | Decimal, digits: int = 1) -> str:
    """Round a number half up; a float is read as the decimal that it prints as."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    return str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def percent(n: int, d: int, digits: int = 1) -> str:
    """Give n of d in percent; a dash when there is nothing to divide by."""
    return f"{half_up(Decimal(100 * n) / Decimal(d), digits)} %" if d else "–"


def counted(n: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def points(proportion: float, digits: int = 1) -> str:
    """Give a difference of proportions in percentage points, with its sign."""
    text = half_up(Decimal(repr(round(100 * proportion, 9))), digits)
    if not float(text):
        return text.removeprefix("-")
    return text if text.startswith("-") else f"+{text}"
