"""One mark and one colour for each status of a promise: told apart by shape alone."""

from __future__ import annotations

import math

from markupsafe import Markup

from coterie.studio.charts.svg import path, tag

COLOUR = {"proved": 3, "bounded": 6, "conditional": 5, "heuristic": 4, "refuted": 2, "none": 7}


def mark(status: str, x: float, y: float, *, hollow: bool = False) -> Markup:
    """proved a star, bounded a square, conditional a triangle, heuristic a diamond, refuted a cross, none a circle."""
    class_ = f"l{COLOUR[status]}" if hollow else f"s{COLOUR[status]}"
    if status == "proved":
        corners = []
        for turn in range(10):
            reach = 9.0 if turn % 2 == 0 else 3.8
            angle = math.pi * (turn / 5 - 0.5)
            corners.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
        return path(corners, class_, closed=True)
    if status == "bounded":
        return path([(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)], class_, closed=True)
    if status == "conditional":
        return path([(x, y - 7), (x + 7, y + 6), (x - 7, y + 6)], class_, closed=True)
    if status == "heuristic":
        return path([(x, y - 8), (x + 7, y), (x, y + 8), (x - 7, y)], class_, closed=True)
    if status == "refuted":
        cross = (
            (-7, -4),
            (-4, -7),
            (0, -3),
            (4, -7),
            (7, -4),
            (3, 0),
            (7, 4),
            (4, 7),
            (0, 3),
            (-4, 7),
            (-7, 4),
            (-3, 0),
        )
        return path([(x + a, y + b) for a, b in cross], class_, closed=True)
    return tag("circle", cx=x, cy=y, r=6.0, class_=class_)
