"""Where published failure rates must not be carried to: what they were counted on, against what a scenario has."""

from __future__ import annotations

from argosy.facts import load_catalog
from argosy.reliability.rates import SECTION

FAR = 2.0
"""A fleet this many times larger or smaller than those counted is told so: an assumption about what "like them" means."""


def extrapolations(preset: str, accelerator: str, accelerators: int) -> list[str]:
    """What is doubtful about the rates of `preset` for a fleet of `accelerators` of the kind `accelerator`, in words.

    `accelerator`: a name of the catalog. Empty where hardware and scale are those of the count. A rate replayed on the
    very fleet that it was counted on predicts nothing, which is said too.
    """
    text = load_catalog().entry(SECTION, preset).text
    hardware, counted = text.get("hardware", ""), text.get("accelerators", "")
    if not counted:
        return [f"failure rates of {preset}: {text.get('limits', 'no fleet is named for them')}"]
    low, high = _range(counted)
    alike = accelerator.casefold().startswith(hardware.casefold())
    if alike and low * 0.98 <= accelerators <= high * 1.02:
        return [
            f"the failure rates of {preset} were counted on a fleet like this one: they repeat what happened there and "
            "predict nothing about it"
        ]
    told = []
    if not alike:
        told.append(f"were counted on {hardware}, this fleet has {accelerator}")
    if not low / FAR <= accelerators <= high * FAR:
        far = accelerators / high if accelerators > high else low / accelerators
        size = "larger" if accelerators > high else "smaller"
        told.append(f"were counted on {counted} accelerators, this fleet is {far:.2g} times {size}")
    return [f"the failure rates of {preset} " + ", and ".join(told)] if told else []


def _range(counted: str) -> tuple[float, float]:
    """`16384` or `8 to 1024` as its ends."""
    ends = [float(part) for part in counted.split(" to ")]
    return ends[0], ends[-1]
