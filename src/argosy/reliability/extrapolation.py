"""Where published failure rates must not be carried to: what they were counted on, against what a scenario has."""

from __future__ import annotations

from argosy.facts import load_catalog
from argosy.reliability.rates import SECTION
from argosy.spec.hazards import Observed

DAY = 86400.0

FAR = 2.0
"""A fleet this many times larger or smaller than those counted is told so: an assumption about what "like them" means."""


def extrapolations(
    preset: str, accelerator: str, accelerators: int, observed: Observed | None = None, wears: bool = False
) -> list[str]:
    """What is doubtful about failure rates for a fleet of `accelerators` of the kind `accelerator`, in words.

    `accelerator`: a name of the catalog. The rates are those of `preset`, or were `observed` on a fleet of the scenario's
    own; `wears`: they change with age. Empty where hardware and scale are those of the count. A rate replayed on the very
    fleet that it was counted on predicts nothing, which is said too.
    """
    text = load_catalog().entry(SECTION, preset).text
    whose, hardware, counted = (
        f"failure rates of {preset}",
        text.get("hardware", ""),
        text.get("accelerators", ""),
    )
    if observed is not None:
        whose, hardware = f"failure rates of {observed.source or 'the log'}", observed.hardware or ""
        counted = str(observed.accelerators or "")
    counted = " to ".join(f"{float(end):,.0f}" for end in counted.split(" to ")) if counted else ""
    told = []
    if wears and observed is not None and observed.time is not None:
        told.append(f"say nothing of parts older than the {observed.time / DAY:.3g} days that were watched")
    if not counted:
        limits = [] if observed is not None else [text.get("limits", "no fleet is named for them")]
        return [f"the {whose} {each}" for each in told] + [f"the {whose}: {each}" for each in limits]
    low, high = _range(counted)
    alike = not hardware or accelerator.casefold().startswith(hardware.casefold())
    if observed is None and alike and low * 0.98 <= accelerators <= high * 1.02:
        return [
            f"the {whose} were counted on a fleet like this one: they repeat what happened there and predict nothing about it"
        ]
    if not alike:
        told.append(f"were counted on {hardware}, this fleet has {accelerator}")
    if not low / FAR <= accelerators <= high * FAR:
        far = accelerators / high if accelerators > high else low / accelerators
        size = "larger" if accelerators > high else "smaller"
        times = f"{far:,.0f}" if far >= 10 else f"{far:.2g}"
        told.append(f"were counted on {counted} accelerators, this fleet is {times} times {size}")
    return [f"the {whose} " + ", and ".join(told)] if told else []


def _range(counted: str) -> tuple[float, float]:
    """`16,384` or `8 to 1,024` as its ends."""
    ends = [float(part.replace(",", "")) for part in counted.split(" to ")]
    return ends[0], ends[-1]
