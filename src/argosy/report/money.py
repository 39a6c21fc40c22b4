"""Money, carbon and water in the terminal: purchase, bill, owning beside the market, tokens, tornado, carbon by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import text as write

_YEAR_S = 365.25 * 86400.0
_BARS, _HALF = 10, 8  # rows of the tornado, characters of each of its sides


def show_money(payload: Mapping[str, Any]) -> None:
    """Print the payload of `argosy cost` to standard output."""
    console = Console(highlight=False)
    for part in parts(payload):
        console.print(part)


def parts(payload: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The answer first, then what it is made of."""
    tco, carbon, water = payload["tco"], payload["carbon"], payload["water"]
    yield Text(headline(tco), "bold")
    yield Text(tco["boundary"], "dim")
    if tco["per_token"]:
        yield Text(token_sentence(tco["per_token"]))
    for service in tco.get("services", ()):
        yield Text(service_sentence(service))
    for told in payload.get("left_out", ()):
        yield Text(told, "yellow")
    if tco["in_currency"]:
        yield Text(currency_sentence(tco["in_currency"]))
    yield _bill(tco)
    if tco["capital"]:
        yield _capital(tco["capital"], tco["price_basis"])
    if tco["rent_or_buy"]:
        yield _market(tco)
    yield _paths(tco["paths"])
    if tco["tornado"]:
        yield _tornado(tco)
    yield _carbon(carbon)
    yield Text(people_sentence(carbon["equivalents"]))
    yield Text(water_sentence(water))


def headline(tco: Mapping[str, Any]) -> str:
    """What the run costs, in all and per accelerator-hour; owned beside it where it is rented."""
    told = f"{write.dollars(tco['total_usd'])}, ${tco['usd_per_gpu_hour']:.3f} per accelerator-hour"
    bands, own = tco["quantiles"], tco["owned"]
    if bands:
        total, hour = bands["total_usd"], bands["usd_per_gpu_hour"]
        told += (
            f" (P10 to P90: {write.dollars(total['p10'])} to {write.dollars(total['p90'])}, "
            f"${hour['p10']:.3f} to ${hour['p90']:.3f})"
        )
    if own is not None and own["usd_per_gpu_hour"] != tco["usd_per_gpu_hour"]:
        told += f"; bottom-up, owned, it would be {write.dollars(own['total_usd'])}, ${own['usd_per_gpu_hour']:.3f}"
    return told


def token_sentence(per_token: Mapping[str, Any]) -> str:
    """The price of a million useful tokens, and of a point of MFU."""
    return (
        f"a million useful tokens cost ${per_token['usd_per_million_tokens']:.4g}, "
        f"${per_token['usd_per_million_tokens_if_nothing_failed']:.4g} if nothing failed "
        f"(goodput {write.percent(per_token['goodput'])}); one point of MFU above {write.percent(per_token['mfu'])} saves "
        f"{write.dollars(per_token['usd_saved_by_one_point_of_mfu'])}"
    )


def service_sentence(service: Mapping[str, Any]) -> str:
    """A service's GPUs and prices of tokens, idle and spare GPUs included."""
    prices = [service[f"usd_per_million_{side}_tokens"] for side in ("input", "output")]
    shown = ["–" if each is None else f"${each:.4g}" for each in prices]
    return f"{service['name']}: {service['gpus']:,} GPUs; a million tokens in cost {shown[0]}, out {shown[1]}"


def currency_sentence(shown: Mapping[str, Any]) -> str:
    """The total in the scenario's currency, with the rate."""
    return (
        f"{write.large(shown['total'])} {shown['currency']} in all, {shown['per_gpu_hour']:.3g} an accelerator-hour, at "
        f"{shown['usd']:g} USD for one {shown['currency']} on {shown['date']} ({shown['source']})"
    )


def _rows(title: str, headings: Sequence[str], names: int = 1) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < names else "right", no_wrap=number < names)
    return table


def _bill(tco: Mapping[str, Any]) -> Table:
    table = _rows("Bill of the run", ("line", "USD", "share"))
    for line in tco["lines"]:
        share = line["usd"] / tco["total_usd"] if tco["total_usd"] else 0.0
        table.add_row(line["name"], write.dollars(line["usd"]), write.percent(share))
    return table


def _capital(capital: Mapping[str, Any], basis: str) -> Table:
    share = write.percent(capital["network_share_of_hardware"])
    title = f"Purchase: {write.dollars(capital['total_usd'])}; the network is {share} of the hardware"
    table = _rows(title, ("class", "USD", "share", "life", "left then", "USD a year"))
    for asset in capital["assets"]:
        table.add_row(
            asset["name"],
            write.dollars(asset["usd"]),
            write.percent(asset["share"]),
            f"{asset['life_s'] / _YEAR_S:.3g} years",
            write.percent(asset["residual"], 0),
            write.dollars(asset["usd_per_year"]),
        )
    table.caption = f"a node by {basis}"
    return table


def _market(tco: Mapping[str, Any]) -> Table:
    own = tco["owned"]["usd_per_gpu_hour"]
    table = _rows(
        f"Market, beside ${own:.3f} owned", ("path", "$/hour", "band", "owning pays from", "earlier")
    )
    for row, against in zip(tco["market"], tco["rent_or_buy"], strict=True):
        use = against["break_even_use"]
        past = [f"{year['year']}: {year['usd']:.3g}" for year in row["history"][-3:]]
        table.add_row(
            row["path"],
            f"{row['usd_per_gpu_hour']:.2f}",
            f"{row['low']:.2f}–{row['high']:.2f}" if None not in (row["low"], row["high"]) else "",
            f"{write.percent(use, 0)} use" if use is not None and use <= 1 else "never",
            ", ".join(past),
        )
    return table


def _paths(paths: Sequence[Mapping[str, Any]]) -> Table:
    table = _rows(
        "The same work paid in another way", ("path", "USD", "$/hour", "$/M tokens", "days", "goodput")
    )
    for row in paths:
        table.add_row(
            row["path"],
            write.dollars(row["total_usd"]),
            f"{row['usd_per_gpu_hour']:.2f}",
            "–" if row["usd_per_million_tokens"] is None else f"{row['usd_per_million_tokens']:.4g}",
            write.significant(row["days"]),
            "–" if row["goodput"] is None else write.percent(row["goodput"]),
        )
    return table


def _tornado(tco: Mapping[str, Any]) -> Table:
    rows = tco["tornado"][:_BARS]
    table = _rows("What moves the cost most, each at the ends of its band", ("", "less", "", "more"))
    largest = (
        max((abs(row[end]) for row in rows for end in ("effect_low", "effect_high")), default=1.0) or 1.0
    )
    for row in rows:
        below = min(row["effect_low"], row["effect_high"], 0.0)
        above = max(row["effect_low"], row["effect_high"], 0.0)
        less, more = ("█" * round(_HALF * abs(end) / largest) for end in (below, above))
        bar = f"{less:>{_HALF}}│{more:<{_HALF}}".replace(" ", "\u00a0")  # spaces at the ends are kept
        name = row["fact"].removeprefix("facility.")
        table.add_row(name, f"−{write.dollars(-below)}", bar, f"+{write.dollars(above)}")
    return table


def _carbon(carbon: Mapping[str, Any]) -> Table:
    place, contract, made = carbon["location_based"], carbon["market_based"], carbon["embodied"]
    total = carbon["total_kg"]
    low, high = (write.significant(total[end] / 1e3) for end in ("low", "high"))
    table = _rows(f"Carbon: {low} to {high} t CO2e with what was made", ("", "t CO2e", "low", "high"))
    bands = carbon["quantiles"]
    ends = [
        write.significant(bands["location_based_kg"][end] / 1e3) if bands else "" for end in ("p10", "p90")
    ]
    table.add_row(
        f"electricity, {place['kg_per_kwh'] * 1e3:.0f} g/kWh", write.significant(place["kg"] / 1e3), *ends
    )
    matched = write.percent(contract["matched"], 0)
    table.add_row(f"  by contract, {matched} matched", write.significant(contract["kg"] / 1e3), "", "")
    for line in made["lines"]:
        cells = [
            write.significant(line[end] / 1e3) if line[end] else "–" for end in ("central", "low", "high")
        ]
        table.add_row(f"making {line['name']}", *cells)
    table.caption = f"{place['basis']}; {place['method']}"
    return table


def people_sentence(equivalents: Mapping[str, Any]) -> str:
    """What the energy means to people, with the definition."""
    return (
        f"as much electricity as {write.count(equivalents['households'])} households ({equivalents['household']}); "
        f"{write.significant(equivalents['towns'])} towns of {equivalents['town']}"
    )


def water_sentence(water: Mapping[str, Any]) -> str:
    """Water on site and at the power plants, with the bases."""
    return (
        f"water: {write.large(water['on_site_litres'])} L on site ({water['on_site_basis']}, "
        f"{water['wue_litres_per_it_kwh']:.2f} L/kWh), {write.large(water['at_source_litres'])} L at power plants "
        f"({water['at_source_basis']})"
    )


def chart(tco: Mapping[str, Any]) -> Any:
    """The tornado: what each uncertain number does to the cost of the run, at the low and at the high end of its band."""
    import altair as alt

    from argosy.report.charts import WIDTH

    rows = [
        {
            "fact": row["fact"].removeprefix("facility."),
            "end": end,
            "usd": row[f"effect_{end}"],
        }
        for row in tco["tornado"][:_BARS]
        for end in ("low", "high")
    ]
    order = list(dict.fromkeys(row["fact"] for row in rows))
    colour = alt.Scale(domain=["low", "high"], range=["#33658a", "#d9a441"])
    return (
        alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]
        .mark_bar()
        .encode(
            x=alt.X("usd:Q", title="change of the run's cost, USD", axis=alt.Axis(format="~s")),
            y=alt.Y("fact:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
            color=alt.Color("end:N", title="end of its band", scale=colour),
        )
        .properties(title=f"What moves the cost of {write.dollars(tco['total_usd'])}", width=WIDTH)
    )
