"""The catalog's failure rates as tables for docs/reliability.md; `python -m argosy.reliability.reference` prints them."""

from __future__ import annotations

from argosy.facts import Values, load_catalog
from argosy.reliability.domains import SECTION as DOMAINS
from argosy.reliability.rates import SECTION, failure_rates, presets

DAY, YEAR = 86400.0, 365.25 * 86400.0
_EFFECTS = {
    "node": "node lost", "lose": "its nodes lost", "slow": "job slows", "stop": "job stops", "job": "job stops",
}  # fmt: skip


def preset_table() -> str:
    """Markdown: every preset, its fleet, failures per 1,000 days of a node of eight, and where it must not be carried."""
    values = Values(load_catalog().facts)
    lines = [
        "| preset | counted on | per 1,000 node-days | where it must not be carried |",
        "|---|---|---|---|",
    ]
    for name in presets(values):
        text = load_catalog().entry(SECTION, name).text
        rate = float(failure_rates(values, name, 8.0, 1.0).per_s) * DAY * 1000
        lines.append(f"| `{name}` | {text['system']} | {rate:.3g} | {text['limits'].strip()} |")
    return "\n".join(lines) + "\n"


def domain_table() -> str:
    """Markdown: the tree of failure domains, what a failure does, and the typical rate of one where there is one."""
    lines = [
        "| domain | inside | a failure | one fails every (90 %) | back or over after | source |",
        "|---|---|---|---|---|---|",
    ]
    for entry in load_catalog().section(DOMAINS):
        text, facts = entry.text, entry.facts
        rate = facts.get("rate")
        every = source = back = ""
        if rate is not None:
            ends = [YEAR * each for each in (rate.value, rate.high or rate.value, rate.low or 0.0)]
            longest = f"{1 / ends[2]:,.3g} years" if ends[2] else "never"
            every = f"{1 / ends[0]:,.3g} years ({1 / ends[1]:,.3g} years to {longest})"
            source = rate.source
            hours = (facts.get("repair") or facts["lasts"]).value / 3600
            back = f"{hours:.3g} h" if hours >= 0.1 else f"{hours * 3600:.3g} s"
        elif text.get("categories"):
            every = f"as {text['categories']}"
        lines.append(
            f"| `{entry.name}`: {text['what']} | {text['inside']} | {_EFFECTS[text['effect']]} | {every} | {back} | {source} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(preset_table())
    print(domain_table(), end="")
