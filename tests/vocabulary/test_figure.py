import pytest

from toolsel_assets.vocabulary.figure import half_up, percent, points


@pytest.mark.parametrize(
    ("n", "d", "text"),
    [(171, 240, "71.3 %"), (213, 240, "88.8 %"), (226, 240, "94.2 %"), (13, 31, "41.9 %"), (202, 240, "84.2 %"),
     (0, 5, "0.0 %"), (0, 0, "–"), (900, 4100, "22.0 %")],
)  # fmt: skip
def test_percentages_are_rounded_half_up_from_counts(n: int, d: int, text: str) -> None:
    assert percent(n, d) == text


def test_points_carry_their_sign_and_zero_has_none() -> None:
    shown = [points(x) for x in (0.5, -0.5, 0.0, -0.0, -0.00001, 0.0125)]
    assert shown == ["+50.0", "-50.0", "0.0", "0.0", "0.0", "+1.3"]
    assert half_up(2.25) == "2.3" and half_up(1.124, 2) == "1.12"
