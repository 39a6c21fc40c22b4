"""Pictures of a fabric, drawn from `argosy.fabric.drawing`'s data: tiers and cables, rails, the heat of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import altair as alt

from argosy.report.charts import to_svg

_WIDTH, _ROW, _EDGE, _ARC = 960, 130, 26, 90  # pixels: of the drawing, from row to row, around, for arcs
_STEPS = 8  # points of half an arc
_LABELS = 250  # pixels for the names at the right
_INK, _LINE, _PAPER, _BOX = "#22303c", "#33658a", "#ffffff", "#eef3f7"
_ROWS = ["#dfe9e3", "#dce8f2", "#e9e2f0", "#f6ead7", "#f3dede"]
_RAILS = ["#33658a", "#c8553d", "#2a7f62", "#d9a441", "#6b5b95", "#3a9ea5", "#a3577e", "#7a8450"]
_HEAT = {0.0: "#f4f7f9", 0.5: "#a9cfe0", 1.0: "#f2c14e", 1.5: "#d1495b", 2.5: "#6a0f2b"}  # by load ÷ rate

Chart = Any


def _data(rows: Sequence[Mapping[str, Any]]) -> Any:
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]


def picture(drawing: Mapping[str, Any]) -> Chart:
    """Rows of boxes, hosts below; a line per bundle, its width by cables, its colour by load where there is one."""
    rows, boxes = drawing["rows"], {box["id"]: box for box in drawing["boxes"]}
    height = _height(drawing)
    per_row = {row["row"]: max(1, sum(box["row"] == row["row"] for box in boxes.values())) for row in rows}

    def x(box: Mapping[str, Any]) -> float:
        return float(box["x"]) * _WIDTH

    def y(row: float) -> float:
        return height - _EDGE - row * _ROW

    half = {row: min(_WIDTH / count * 0.42, 70.0) for row, count in per_row.items()}
    drawn = [
        {
            "x": x(box) - half[box["row"]],
            "x2": x(box) + half[box["row"]],
            "y": y(box["row"]) - 15,
            "y2": y(box["row"]) + 15,
            "middle": x(box),
            "centre": y(box["row"]),
            "label": box["label"] if box["count"] == 1 else f"× {box['label']}",
            "fill": _ROWS[min(box["row"], len(_ROWS) - 1)],
        }
        for box in boxes.values()
    ]
    lines = [_line(bundle, boxes, x, y, index) for index, bundle in enumerate(drawing["bundles"])]
    layers = [_bundles(lines, drawing)]
    layers += [
        alt.Chart(_data(drawn))
        .mark_rect(stroke=_INK, strokeWidth=0.7, cornerRadius=4)
        .encode(**_place("x", "y", height), x2="x2:Q", y2="y2:Q", fill=alt.Fill("fill:N", scale=None)),
        alt.Chart(_data(drawn))
        .mark_text(fontSize=12, color=_INK)
        .encode(**_place("middle", "centre", height), text="label:N"),
        *_names(rows, y, height),
    ]
    return alt.layer(*layers).properties(
        width=_WIDTH + _LABELS,
        height=height,
        title=_title(drawing["title"], _subtitle(drawing)),
        view=alt.ViewBackground(strokeOpacity=0),
    )


def _height(drawing: Mapping[str, Any]) -> float:
    """Pixels of the drawing; more above the top row where arcs rise from it."""
    top = max(row["row"] for row in drawing["rows"])
    row_of = {box["id"]: box["row"] for box in drawing["boxes"]}
    arcs = any(row_of[bundle["from"]] == row_of[bundle["to"]] for bundle in drawing["bundles"])
    return float(_ROW * top + 2 * _EDGE + (_ARC if arcs else 0))


def _place(x: str, y: str, height: float) -> dict[str, Any]:
    """Pixels as positions, without axes."""
    across = alt.Scale(domain=[0, _WIDTH + _LABELS], nice=False)
    down = alt.Scale(domain=[height, 0], nice=False)
    return {"x": alt.X(f"{x}:Q", scale=across, axis=None), "y": alt.Y(f"{y}:Q", scale=down, axis=None)}


def _line(
    bundle: Mapping[str, Any], boxes: Mapping[int, Any], x: Any, y: Any, index: int
) -> list[dict[str, Any]]:
    """The points of one bundle: straight between rows, an arc above its row within one."""
    ends = sorted((boxes[bundle["from"]], boxes[bundle["to"]]), key=lambda box: box["row"])
    low, high = ends
    common = {"bundle": index, "cables": bundle["cables"], "load": bundle["load"]}
    if low["row"] != high["row"]:
        points = [(x(low), y(low["row"]) - 15), (x(high), y(high["row"]) + 15)]
    else:
        level, middle, half = y(low["row"]) - 15, (x(low) + x(high)) / 2, (x(high) - x(low)) / 2
        rise = min(14 + 0.16 * abs(half), _ARC)
        points = [
            (middle + half * step / _STEPS, level - rise * (1 - (step / _STEPS) ** 2))
            for step in range(-_STEPS, _STEPS + 1)
        ]
    return [{**common, "order": step, "x": px, "y": py} for step, (px, py) in enumerate(points)]


def _bundles(lines: Sequence[Sequence[Mapping[str, Any]]], drawing: Mapping[str, Any]) -> Chart:
    height = _height(drawing)
    hottest_last = sorted(lines, key=lambda line: line[0]["load"] or 0.0)
    points = [point for line in hottest_last for point in line]
    most = max((point["cables"] for point in points), default=1)
    loaded = any(point["load"] is not None for point in points)
    colour: Any = (
        alt.Color("load:Q", scale=_heat_scale(points), legend=_legend("load of the busiest link"))
        if loaded
        else alt.value(_LINE)
    )
    width = alt.Size(
        "cables:Q",
        scale=alt.Scale(type="sqrt", domain=[0, most], range=[0.4, min(5.0, max(1.4, 300 / len(lines)))]),
        legend=None,
    )
    faint = min(0.85, 0.25 + 12 / max(len(lines), 1))
    return (
        alt.Chart(_data(points))
        .mark_trail(opacity=0.9 if loaded else faint)
        .encode(**_place("x", "y", height), size=width, color=colour, detail="bundle:N", order="order:Q")
    )


def _names(rows: Sequence[Mapping[str, Any]], y: Any, height: float) -> list[Chart]:
    """Right of each row what it is, and between rows what joins them."""
    names = [
        {
            "x": _WIDTH + 16,
            "y": y(row["row"]) - 7,
            "name": f"{row['count']:,} {row['name']}" + (" switches" if row["row"] else ""),
            "more": " · ".join(
                part
                for part in (row["switch"], f"{row['planes']} planes" if row["planes"] > 1 else "")
                if part
            ),
        }
        for row in rows
    ]
    between = [
        {"x": _WIDTH + 16, "y": y(row["row"] - 0.5), "text": row["below"]} for row in rows if row["below"]
    ]
    return [
        alt.Chart(_data(names))
        .mark_text(align="left", fontSize=14, fontWeight="bold", color=_INK)
        .encode(**_place("x", "y", height), text="name:N"),
        alt.Chart(_data(names))
        .mark_text(align="left", fontSize=11, dy=16, color="#5b6b79")
        .encode(**_place("x", "y", height), text="more:N"),
        alt.Chart(_data(between))
        .mark_text(align="left", fontSize=11, color="#5b6b79")
        .encode(**_place("x", "y", height), text="text:N"),
    ]


class _RailPlaces:
    """Where the parts of a picture of rails stand, in pixels: servers with their cards below, switches above."""

    height = 300.0

    def __init__(self, drawing: Mapping[str, Any]) -> None:
        self.drawing = drawing
        self.hosts, self.cards, self.leaves = drawing["hosts"], drawing["cards"], drawing["leaves"]
        self.width = float(_WIDTH)
        self.slot = self.width / self.hosts
        self.size = min(self.slot * 0.86 / self.cards, 64.0)

    def card_x(self, host: int, card: int) -> float:
        return float((host + 0.5) * self.slot + (card - (self.cards - 1) / 2) * self.size)

    def leaf_x(self, leaf: int) -> float:
        return float((leaf + 0.5) * self.width / self.leaves)

    @staticmethod
    def colour(rail: int) -> str:
        return _RAILS[rail % len(_RAILS)]

    def cables(self) -> list[dict[str, Any]]:
        """The two ends of every cable."""
        rows = []
        for index, line in enumerate(self.drawing["lines"]):
            own = {"line": index, "colour": self.colour(line["rail"])}
            rows.append({**own, "x": self.card_x(line["host"], line["card"]), "y": 213})
            rows.append({**own, "x": self.leaf_x(line["leaf"]), "y": 62})
        return rows

    def servers(self) -> list[dict[str, Any]]:
        """A frame around each server's cards."""
        half = self.size * self.cards / 2 + 8
        middles = [(h + 0.5) * self.slot for h in range(self.hosts)]
        return [{"x": middle - half, "x2": middle + half, "y": 205, "y2": 282} for middle in middles]

    def squares(self) -> list[dict[str, Any]]:
        """A square for each card."""
        return [
            {
                "x": (middle := self.card_x(h, c)) - self.size * 0.42,
                "x2": middle + self.size * 0.42,
                "y": 213,
                "y2": 251,
                "middle": middle,
                "label": f"GPU {c}" if self.size > 38 else f"{c}",
                "colour": self.colour(c),
            }
            for h in range(self.hosts)
            for c in range(self.cards)
        ]

    def switches(self) -> list[dict[str, Any]]:
        """A box for each switch, in its rail's colour where it is one rail's."""
        half = min(self.width / self.leaves * 0.8, 150.0) / 2
        name = self.drawing["leaf_name"]
        return [
            {
                "x": self.leaf_x(k) - half,
                "x2": self.leaf_x(k) + half,
                "y": 28,
                "y2": 62,
                "middle": self.leaf_x(k),
                "label": f"{name} {k}",
                "colour": self.colour(k) if name == "rail" else _INK,
            }
            for k in range(self.leaves)
        ]

    def titles(self) -> list[dict[str, Any]]:
        """The servers' names."""
        return [{"x": (h + 0.5) * self.slot, "y": 268, "label": f"server {h}"} for h in range(self.hosts)]


def rails(drawing: Mapping[str, Any]) -> Chart:
    """Servers with their cards below, one switch per rail above, a line per cable in its rail's colour."""
    places = _RailPlaces(drawing)
    shade = alt.Color("colour:N", scale=None)

    def at(x: str, y: str) -> dict[str, Any]:
        return {
            "x": alt.X(f"{x}:Q", scale=alt.Scale(domain=[0, places.width], nice=False), axis=None),
            "y": alt.Y(f"{y}:Q", scale=alt.Scale(domain=[places.height, 0], nice=False), axis=None),
        }

    boxes = [*places.squares(), *places.switches()]
    return alt.layer(
        alt.Chart(_data(places.servers()))
        .mark_rect(fill=_BOX, stroke="#b6c3ce", cornerRadius=6)
        .encode(**at("x", "y"), x2="x2:Q", y2="y2:Q"),
        alt.Chart(_data(places.cables()))
        .mark_line(strokeWidth=2, opacity=0.85)
        .encode(**at("x", "y"), color=shade, detail="line:N"),
        alt.Chart(_data(boxes))
        .mark_rect(cornerRadius=4)
        .encode(**at("x", "y"), x2="x2:Q", y2="y2:Q", fill=alt.Fill("colour:N", scale=None)),
        alt.Chart(_data([{**b, "centre": (b["y"] + b["y2"]) / 2} for b in boxes]))
        .mark_text(color=_PAPER, fontSize=12, fontWeight="bold")
        .encode(**at("middle", "centre"), text="label:N"),
        alt.Chart(_data(places.titles()))
        .mark_text(color=_INK, fontSize=12)
        .encode(**at("x", "y"), text="label:N"),
    ).properties(
        width=places.width,
        height=places.height,
        title=_title(drawing["title"], f"{len(drawing['lines'])} cables"),
        view=alt.ViewBackground(strokeOpacity=0),
    )


def heat_map(maps: Sequence[Mapping[str, Any]], title: str, subtitle: str) -> Chart:
    """Loads of links: a panel per boundary and way, a row per switch below, a column per uplink."""
    cells = [cell for one in maps for cell in one["cells"]]
    scale = _heat_scale(cells)
    panels = []
    for one in maps:
        rows, columns = one["shape"]
        below, above = one["boundary"].split("-", 1) if "-" in one["boundary"] else (one["boundary"], "")
        what = "chips" if below == "chip" else f"{below} switches"
        way = f"{below} → {above}" if one["up"] else f"{above} → {below}"
        folded = (
            ""
            if (one["rows"], one["columns"]) == tuple(one["shape"])
            else ", the largest of several links a cell"
        )
        panels.append(
            alt.Chart(_data(one["cells"]))
            .mark_rect(stroke="white", strokeWidth=0.25)
            .encode(
                x=alt.X("column:O", axis=None, title=None),
                y=alt.Y("row:O", axis=None),
                color=alt.Color("load:Q", scale=scale, legend=_legend("load ÷ rate")),
            )
            .properties(
                view=alt.ViewBackground(strokeOpacity=0),
                width=max(120, min(460, columns * 9)),
                height=max(120, min(430, rows * 9)),
                title=alt.TitleParams(
                    way,
                    subtitle=f"{one['rows']:,} {what} down, {one['columns']} links each across{folded}",
                    fontSize=13,
                    subtitleFontSize=10,
                    subtitleColor="#5b6b79",
                    anchor="start",
                ),
            )
        )
    return alt.concat(*panels, columns=2, spacing=28).properties(title=_title(title, subtitle))


def _heat_scale(points: Sequence[Mapping[str, Any]]) -> Any:
    """White to blue below a link's rate, amber at it, red beyond: the same colours in every picture."""
    most = max((point["load"] for point in points if point["load"] is not None), default=1.0)
    marks: list[float] = sorted(_HEAT)
    domain: list[Any] = [*marks[:-1], max(marks[-1], float(most))]
    colours: list[Any] = [_HEAT[mark] for mark in marks]
    return alt.Scale(domain=domain, range=colours, interpolate="lab", clamp=True)


def _legend(title: str) -> Any:
    return alt.Legend(title=title, orient="bottom", gradientLength=260, titleLimit=300, format=".2~f")


def _title(title: str, subtitle: str) -> Any:
    return alt.TitleParams(
        title,
        subtitle=subtitle,
        anchor="start",
        fontSize=17,
        subtitleFontSize=12,
        subtitleColor="#5b6b79",
        offset=14,
    )


def _subtitle(drawing: Mapping[str, Any]) -> str:
    boxed = any(box["count"] > 1 for box in drawing["boxes"])
    lines = "a box stands for as many neighbours as it says, a line for all cables between two boxes"
    within = f"; {drawing['within']:,} cables run within boxes" if drawing["within"] else ""
    return (lines if boxed else "every line is one cable, wider ones are several") + within


def save(chart: Chart, path: Path) -> None:
    """Write a chart by its suffix: .svg, .png (at twice the size), .html (self-contained). ValueError for others."""
    kind = path.suffix.lower()
    if kind == ".svg":
        path.write_text(to_svg(chart), encoding="utf-8")
    elif kind == ".png":
        import vl_convert

        path.write_bytes(
            vl_convert.svg_to_png(
                to_svg(chart).replace("<svg ", '<svg style="background:white" ', 1), scale=2
            )
        )
    elif kind == ".html":
        path.write_text(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>fabric</title></head>'
            f"<body><figure>{to_svg(chart)}</figure></body></html>\n",
            encoding="utf-8",
        )
    else:
        raise ValueError(f"{escape(str(path))}: write a name that ends in .svg, .png or .html")
