"""What can be done about a power swing, what it leaves of it, and what it costs in energy, speed and money."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argosy.facility.load import ItLoad
from argosy.facility.waveform import Waveform, spectrum
from argosy.facts import Values
from argosy.laws import waveform as law


@dataclass(frozen=True)
class Mitigation:
    """A remedy: the waveform it leaves, extra mean watts of IT, share of the job's speed it takes, and what is bought."""

    name: str
    how: str
    wave: Waveform
    extra_w: float
    slowdown: float
    capital_usd: float


def mitigations(values: Values, load: ItLoad, wave: Waveform) -> list[Mitigation]:
    """Each remedy alone, at the level that the catalog has for it: floor, dummy load, storage, staggering.

    Scalars only; all act on the nodes' own power, network and storage stay.
    """
    moving = wave.watts - wave.steady_w
    return [
        _none(wave),
        _filled(values, wave, "floor", "power floor"),
        _filled(values, wave, "dummy", "dummy load"),
        _stored(values, load, wave, moving),
        _flattened(values, load, wave, moving),
        _staggered(values, load, wave, moving),
    ]


def _none(wave: Waveform) -> Mitigation:
    return Mitigation("none", "as the schedule has it", wave, 0.0, 0.0, 0.0)


def _filled(values: Values, wave: Waveform, entry: str, name: str) -> Mitigation:
    """Power that never falls below a share of its highest; see the facts of `mitigations.<entry>`."""
    level = float(values[f"mitigations.{entry}.level"])
    slow = float(values.get(f"mitigations.{entry}.slowdown", 0.0))
    moving = wave.boards_w - wave.steady_w
    filled = np.maximum(moving, level * moving.max())
    after = Waveform.of(wave.dt_s, wave.steady_w + filled, wave.steady_w, wave.lag_s)
    how = f"never below {level:.0%} of the step's highest power"
    return Mitigation(name, how, after, float((filled - moving).mean()), slow, 0.0)


def _stored(values: Values, load: ItLoad, wave: Waveform, moving: np.ndarray) -> Mitigation:
    """A store per accelerator that smooths as slowly as its energy allows."""
    each = float(values["mitigations.storage.energy"])
    usable = _accelerators(load) * each * float(values["mitigations.storage.efficiency"])
    supplied, slowness = law.smoothing_with_store(moving, wave.dt_s, usable)
    how = f"{each:.0f} J per accelerator: changes take {slowness:.2g} s"
    return _with_store(values, wave, moving, supplied, _accelerators(load) * each, "storage", how)


def _flattened(values: Values, load: ItLoad, wave: Waveform, moving: np.ndarray) -> Mitigation:
    """A store that is large enough to draw the step's mean all the time."""
    supplied = np.full(moving.size, moving.mean())
    joules = law.stored_joules(moving, supplied, wave.dt_s) / float(values["mitigations.storage.efficiency"])
    how = f"{joules / _accelerators(load):,.0f} J per accelerator: the step's mean at all times"
    return _with_store(values, wave, moving, supplied, joules, "storage that flattens", how)


def _with_store(
    values: Values,
    wave: Waveform,
    moving: np.ndarray,
    supplied: np.ndarray,
    joules: float,
    name: str,
    how: str,
) -> Mitigation:
    """What a store of `joules` leaves, its losses paid on what passes through it and its energy bought."""
    passing = float(np.maximum(supplied - moving, 0.0).mean())
    loss = passing * (1.0 / float(values["mitigations.storage.efficiency"]) - 1.0)
    after = replace(wave, watts=wave.steady_w + supplied + loss)
    return Mitigation(
        name, how, after, loss, 0.0, joules * float(values["mitigations.storage.usd_per_joule"])
    )


def _accelerators(load: ItLoad) -> float:
    return float(load.nodes) * load.node.accelerators


def _staggered(values: Values, load: ItLoad, wave: Waveform, moving: np.ndarray) -> Mitigation:
    """Replicas that start one after another over a window and wait for the last one at the end of the step."""
    window = float(values["mitigations.staggering.window"])
    waiting = float(load.nodes) * float(load.node.at(values["facility.activity.idle"]))
    added = max(1, round(window * moving.size))
    longer = np.concatenate([moving, np.full(added, waiting)])
    mixed = law.spread(longer, wave.dt_s, added * wave.dt_s)
    after = replace(wave, watts=wave.steady_w + mixed)
    how = f"starts spread over {window:.0%} of the step, which it grows by"
    extra = float(mixed.mean() - moving.mean())
    return Mitigation("staggering", how, after, extra, added / longer.size, 0.0)


def table(
    values: Values,
    found: list[Mitigation],
    duration_s: float,
    pue: float,
    usd_per_j: float,
    run_usd: float,
    ramp_limit_w_per_s: float | None = None,
) -> list[dict[str, object]]:
    """Remedies as rows: swing, ramps, strongest line; energy and money over `duration_s` seconds of the run.

    Money is extra energy at the meter (`pue`, `usd_per_j`), the share of the run's cost `run_usd` that the lost speed
    takes, and what is bought outright. `within_limit` compares the change within one second with the utility's limit.
    """
    rows: list[dict[str, object]] = []
    for each in found:
        lines = spectrum(values, each.wave)
        longer = 1.0 / (1.0 - each.slowdown)
        base_w = each.wave.mean_w - each.extra_w
        joules = (each.wave.mean_w * longer - base_w) * duration_s * pue
        lost = run_usd * (longer - 1.0)
        ramp = each.wave.ramp_1s_w_per_s
        rows.append(
            {
                "name": each.name,
                "how": each.how,
                "swing_w": each.wave.swing_w,
                "ramp_w_per_s": each.wave.ramp_w_per_s,
                "ramp_1s_w_per_s": ramp,
                "dominant_hz": lines.dominant_hz,
                "dominant_w": float(lines.amplitude_w.max()) if lines.hz.size else 0.0,
                "mean_w": each.wave.mean_w,
                "extra_kwh": joules / 3.6e6,
                "slowdown": each.slowdown,
                "usd": joules * usd_per_j + lost + each.capital_usd,
                "usd_parts": {"energy": joules * usd_per_j, "time": lost, "bought": each.capital_usd},
                "within_limit": None if ramp_limit_w_per_s is None else ramp <= ramp_limit_w_per_s,
            }
        )
    return rows
