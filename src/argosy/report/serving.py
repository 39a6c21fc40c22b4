"""A service's fleet for people: terminal and Markdown, from the JSON of `argosy serving` (or an entry of a plan's `serving`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from argosy.report import text as write
from argosy.report.markdown import table as markdown_table
from argosy.report.terminal import closing, ledger, verdict

_LATENCIES = (
    ("ttft_s", "first token"),
    ("tpot_s", "each token after"),
    ("e2e_s", "whole request"),
)
_SHARES = ("p50", "p90", "p95", "p99")


def show_serving(answer: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the payload of `argosy serving` to `console`, or to standard output."""
    console = console or Console(highlight=False)
    console.print(verdict(answer))
    for part in service_parts(answer):
        console.print(part)
    for part in closing(answer):
        console.print(part)


def service_parts(entry: Mapping[str, Any], own_ledger: bool = True) -> list[RenderableType]:
    """The parts of a service's report, in order of reading; a plan has its ledger among others."""
    if entry.get("fleet") is None:
        return []
    parts: list[RenderableType] = [Group(*(Text(line) for line in sentences(entry))), latencies(entry)]
    if entry.get("step_times"):
        parts.append(steps(entry))
    if entry["classes"]:
        parts.append(_classes(entry))
    if own_ledger:
        title = Text(f"Where its GPU-seconds go, in GPU-hours of {_run(entry)}", style="bold")
        parts.append(Group(title, ledger(entry["ledger"])))
    parts += [Group(*(Text(line) for line in gap(entry))), front(entry)]
    broken = [check for check in entry["checks"] if not check["holds"]]
    if broken:
        parts.append(
            Text(
                "; ".join(f"{check['name']} broken: {check['detail']}" for check in broken), style="bold red"
            )
        )
    else:
        names = ", ".join(check["name"] for check in entry["checks"])
        parts.append(Text(f"checked in every run: {names}", style="dim"))
    return parts


def sentences(entry: Mapping[str, Any]) -> list[str]:
    """The fleet, its traffic, money and failures, a line each."""
    fleet, replica, traffic, fails = (entry[key] for key in ("fleet", "replica", "traffic", "failures"))
    by_pool = " + ".join(f"{pool['replicas']} × {pool['gpus_per_replica']}" for pool in fleet["pools"])
    lines = [
        f"{entry['name']}: {write.count(fleet['gpus'])} GPUs: replicas {by_pool}, and {fleet['spares']} spare; "
        f"{replica['label']}",
        f"  {write.significant(fleet['goodput_requests_per_s'])} requests/s within all promises, "
        f"{write.percent(fleet['slo_attainment'], 2)} of arrivals; iterations run "
        f"{write.percent(fleet['utilization'])} of the time",
        f"  traffic: {write.count(traffic['requests'])} requests in {write.duration(traffic['horizon_s'])}, "
        f"{write.significant(traffic['rate_per_s'])} a second (cv {traffic['arrival_cv']:.2f}, busiest minute "
        f"{traffic['peak_to_mean_minute']:.2f} × mean), {write.count(traffic['input_tokens_mean'])} tokens in and "
        f"{write.count(traffic['output_tokens_mean'])} out",
        f"  {_money(entry)}",
        f"  one replica fails every {_every(fails['replica_mtbf_s'])}; those needed are up "
        f"{_nines(fails['reached_availability'])} of the time"
        f"{_together(fails)}, {_nines(fails['promised_availability'])} asked for",
        f"  evidence: {replica['grade']}; one iteration {write.duration(replica['step_time_s']['nominal'])} "
        f"(90 %: {write.duration(replica['step_time_s']['p05'])} – {write.duration(replica['step_time_s']['p95'])}) "
        "at the largest batch",
    ]
    band = entry["band"]["reached_s"]
    if band:
        shown = ", ".join(
            f"{name} {_time(each['p10'])} – {_time(each['p90'])}" for name, each in band.items()
        )
        lines.append(f"  with the step model off by its 80 % interval: {shown}")
    if fails["simulated"]["failures"]:
        seen = fails["simulated"]
        lines.append(
            f"  in a run: {seen['failures']:.1f} replica failures, {seen['retried']:.1f} requests sent again, "
            f"{seen['not_served']:.1f} not served"
        )
    return lines


def _run(entry: Mapping[str, Any]) -> str:
    """Which part of a run the ledger is of, and what of it is left out."""
    spans = {each["name"]: each["seconds_s"] for each in entry["fleet"]["spans"]}
    before, after = write.duration(spans["warm-up"]), write.duration(spans["run-out"])
    return (
        f"{write.duration(spans['window'])} of a run, without {before} in which the fleet fills and {after} in "
        "which it empties"
    )


def _money(entry: Mapping[str, Any]) -> str:
    cost = entry["cost"]
    prices = [cost[f"usd_per_million_{side}_tokens"] for side in ("input", "output")]
    shown = ["–" if each is None else f"${write.significant(each)}" for each in prices]
    text = (
        f"{shown[0]} per million tokens in, {shown[1]} out, idle and spare GPUs included "
        f"(${cost['usd_per_gpu_hour']:.2f} per GPU-hour)"
    )
    if cost["cache"]["hit_share"]:
        without = write.significant(cost["cache"]["usd_per_million_input_tokens_without"])
        text += f"; the cache finds {write.percent(cost['cache']['hit_share'])} of the prompts, without it ${without} in"
    if cost["cache"]["evicted_share"]:
        text += f"; {write.percent(cost['cache']['evicted_share'])} of the prompts had to make room before they came again"
    return text


def _time(seconds: float | None) -> str:
    return "never" if seconds is None else write.duration(seconds)


def _nines(share: float) -> str:
    """A share near one with as many digits as tell it from one: `99.9 %`, `99.99996 %`."""
    digits = 1
    while digits < 9 and 100.0 - share * 100.0 < 5.0 * 10.0**-digits:
        digits += 1
    return write.percent(share, digits)


def _together(fails: Mapping[str, Any]) -> str:
    """The domains that take several replicas at once, where there are any."""
    names = ", ".join(dict.fromkeys(each["name"] for each in fails["domains"]))
    return f", shared domains counted ({names})" if names else ""


def _every(seconds: list[float | None]) -> str:
    return " and ".join("never" if each is None else write.duration(each) for each in seconds)


def latencies(entry: Mapping[str, Any]) -> Table:
    """Percentiles over all arrivals, with the promises."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("over all arrivals")
    for name in _SHARES:
        table.add_column(name, justify="right")
    table.add_column("promised")
    for key, label in _LATENCIES:
        own = [each for each in entry["objectives"] if each["name"].startswith(key[: key.index("_")])]
        promised = ", ".join(
            f"{each['name'].partition('_')[2]} {write.duration(each['limit_s'])}{'' if each['met'] else ' (missed)'}"
            for each in own
        )
        values = entry["replica"][key]
        cells = [_time(values[name]) for name in _SHARES]
        table.add_row(label, *cells, promised)
    return table


def steps(entry: Mapping[str, Any]) -> Table:
    """Predicted iterations with their band and the hardware's bound."""
    table = Table(
        title="One iteration", title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
    for name in ("prompt tokens", "sequences", "context", "predicted", "5 %", "95 %", "bound"):
        table.add_column(name, justify="right")
    for row in entry["step_times"]:
        cells = [write.count(row[key]) for key in ("prompt_tokens", "batch", "context")]
        times = [
            "–" if row[key] is None else write.duration(row[key])
            for key in ("nominal_s", "p05_s", "p95_s", "floor_s")
        ]
        table.add_row(*cells, *times)
    return table


def _classes(entry: Mapping[str, Any]) -> Table:
    table = Table("priority", "requests", "within promises", "first token, p99", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in entry["classes"]:
        late = "–" if row["ttft_p99_s"] is None else write.duration(row["ttft_p99_s"])
        table.add_row(
            str(row["priority"]), write.count(row["requests"]), write.percent(row["slo_attainment"], 2), late
        )
    return table


def gap(entry: Mapping[str, Any]) -> list[str]:
    """What an autoscaler that knows the future would save, and why."""
    found = entry["autoscaling"]
    held = found["held_gpu_s"] or 1.0
    parts = ", ".join(
        f"{name.replace('_', ' ')} {write.percent(value / held)}"
        for name, value in found["parts_gpu_s"].items()
    )
    return [
        f"a perfect autoscaler would hold {write.percent(found['bound_gpu_s'] / held)} of these GPU-seconds; the gap: {parts}"
    ]


def front(entry: Mapping[str, Any]) -> Table:
    """Fleets that no other beats in GPUs, time to first token and time per token at once (spares apart)."""
    table = Table(
        title="Cost against latency (spares apart; $/M out bears the whole cost)",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("replica", overflow="fold")
    for name in ("GPUs", "TTFT p99", "TPOT p95", "in time", "$/M out"):
        table.add_column(name, justify="right")
    for row in entry["pareto"]:
        price = row["usd_per_million_output_tokens_bearing_all"]
        table.add_row(
            row["label"], write.count(row["gpus"]), write.duration(row["ttft_p99_s"]), write.duration(row["tpot_p95_s"]),
            write.percent(row["slo_attainment"]), "–" if price is None else f"${write.significant(price)}",
            style=None if row["met"] else "dim",
        )  # fmt: skip
    return table


def serving_markdown(answer: Mapping[str, Any]) -> str:
    """The payload of `argosy serving` as Markdown, for a pull request."""
    judged = answer["verdict"]
    binding = f"; what binds: {judged['binding']}" if judged["binding"] else ""
    lines = [f"## {answer['scenario']['name']}: {judged['status']}{binding}", ""]
    lines += [f"- {reason}" for reason in judged["reasons"]]
    return "\n".join([*lines, *service_markdown(answer)]) + "\n"


def service_markdown(entry: Mapping[str, Any]) -> list[str]:
    """A service as lines of Markdown."""
    if entry.get("fleet") is None:
        return []
    lines = ["", *(f"- {line.strip()}" for line in sentences(entry)), ""]
    rows = [
        [
            label,
            *(
                "–" if entry["replica"][key][name] is None else write.duration(entry["replica"][key][name])
                for name in _SHARES
            ),
        ]
        for key, label in _LATENCIES
    ]
    lines += markdown_table(["over all arrivals", *_SHARES], rows)
    tree = entry["ledger"]
    whole = tree["amount"] or 1.0
    leaves = [leaf for child in tree["children"] for leaf in (child["children"] or [child])]
    rows = [
        [leaf["name"], write.large(leaf["amount"] / 3600), write.percent(leaf["amount"] / whole)]
        for leaf in leaves
    ]
    return [*lines, "", *markdown_table(["ledger", "GPU-hours", "share"], rows)]
