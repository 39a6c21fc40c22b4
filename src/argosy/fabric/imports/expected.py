"""What a run of nccl-tests should have shown: the expected range of its bus bandwidth by message size.

The range is the central 90 % of three things drawn together: the network's facts with their bands (what the wire
delivers, how long a hop takes), the error of the collectives' fit by message size, and how far whole platforms differ
from the model (`spread`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from argosy.fabric import pairs
from argosy.fabric.build import Transport, network_over
from argosy.fabric.fit_collectives import SIZES
from argosy.fabric.imports.nccl_tests import Benchmark
from argosy.fabric.network import TieredNetwork
from argosy.fabric.topologies import Design, build
from argosy.facts import Values, load_catalog
from argosy.laws import collectives

DRAWS, SEED = 400, 0
LOW, HIGH = 5.0, 95.0  # percentiles
NORMAL_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)  # of a standard normal: its mean absolute value


@dataclass(frozen=True)
class Expectation:
    """Expected bus bandwidth (byte/s) of every row of a run, shape (rows,): `low`, `nominal`, `high`; `bound`: what the
    wires carry at most; `algorithms`: per algorithm its bus bandwidth; `error`: of the fit, as a share, per row;
    `range`: of the message size, spread.RANGES' index, per row; `judged`: whether the row was
    past warming up.
    """

    low: np.ndarray
    nominal: np.ndarray
    high: np.ndarray
    bound: np.ndarray
    algorithms: dict[str, np.ndarray]
    error: np.ndarray
    range: np.ndarray
    judged: np.ndarray


def expect(
    run: Benchmark, kind: str, network: Callable[[Any], Any], values: Values, generation: str
) -> Expectation:
    """The expectation for a run of the collective `kind`.

    `network(values)` builds the network whose first ranks ran it; `generation`: of its scale-up links, for the error of
    the fit.
    """
    size = np.array([point.bytes for point in run.points])
    central, drawn = (_benchmarked(network(own)) for own in (values, values.sample(DRAWS, SEED)))
    from argosy.fabric.imports.spread import platform_spread, range_of, warmed_up

    which = range_of(size)
    judged = warmed_up(size, np.array([point.seconds for point in run.points]))
    error = fit_errors(generation, kind)[which]
    offset, width = np.array(platform_spread())[which].T
    seconds = np.asarray(drawn.collective(kind, size[:, None], run.ranks, 1), dtype=float)
    fit, platform = np.random.default_rng(SEED).standard_normal((2, DRAWS))
    log = error[:, None] / NORMAL_MEAN_ABSOLUTE * fit + width[:, None] * platform
    spread = seconds * np.exp(log - offset[:, None])

    def bus(times: np.ndarray) -> np.ndarray:
        return np.asarray(collectives.bus_bandwidth(kind, size, run.ranks, times), dtype=float)

    slow, fast = np.percentile(np.broadcast_to(spread, (len(size), DRAWS)), [HIGH, LOW], axis=1)
    found = {
        name: np.asarray(s, dtype=float) for name, s in central.algorithms(kind, size, run.ranks, 1).items()
    }
    nominal = np.asarray(central.collective(kind, size, run.ranks, 1), dtype=float)
    bound = np.asarray(central.bound(kind, size, run.ranks, 1), dtype=float)
    with np.errstate(divide="ignore"):
        algorithms = {
            name: bus(np.broadcast_to(s, size.shape)) for name, s in found.items() if np.isfinite(s).all()
        }
        return Expectation(bus(slow), bus(nominal), bus(fast), bus(bound), algorithms, error, which, judged)


def node_network(
    accelerator: str,
    accelerators_per_node: int,
    nodes: int,
    cards: int,
    rate: float,
    protocol: str,
    domain: int = 1,
) -> Callable[[Any], Any]:
    """A builder of the network of `nodes` equal nodes on a fabric without oversubscription.

    `cards` of `rate` bit/s per node; the node's `accelerators_per_node` share them. Scale-up links join those of a
    node, or `domain` accelerators where a rack is joined (NVL72).
    """
    radix = max(64, 2 * nodes)  # one leaf per rail: what a benchmark of a few nodes sees
    design = Design(
        "rail-optimized", max(nodes, 2), cards, radix, rate, accelerators_per_host=accelerators_per_node
    )
    count = nodes * accelerators_per_node

    joined = max(domain, accelerators_per_node)

    def of(values: Any) -> Any:
        return network_over(build(design), values, accelerator, joined, Transport(protocol), count)

    return of


def _benchmarked(network: Any) -> Any:
    """The network as a benchmark sees it: one group from rank 0 on."""
    return network.of_one_group() if isinstance(network, TieredNetwork) else network


def node_of(device: str) -> tuple[Any, Any, int]:
    """The catalog's accelerator, the first node that carries it (None without one), and the accelerators that scale-up
    links join beyond one node (1: none beyond). FactError for a device that is not known.
    """
    catalog = load_catalog()
    entry = catalog.entry("accelerators", device)
    node = next((one for one in catalog.section("nodes") if one.text.get("accelerator") == entry.name), None)
    joined = int(entry.facts["scale_up_domain"].value)
    beyond = node is not None and joined > int(node.facts["accelerators"].value)
    return entry, node, joined if beyond else 1


def link_generation(accelerator: Any) -> str:
    """The measured generation of scale-up links that a catalog entry has, or the nearest to its rate."""
    rate = float(accelerator.facts["scale_up_bandwidth"].value)
    return pairs.links_of_chip(accelerator.text.get("generation", "")) or pairs.nearest_generation(rate)


def model_of_run(device: str, ranks: int, nodes: int, protocol: str, size: np.ndarray) -> np.ndarray:
    """Modelled seconds of all-reduces of `size` bytes (rows,) on nodes as the catalog has them, at central facts."""
    entry, node, joined = node_of(device)
    cards, rate = int(node.facts["nics"].value), float(node.facts["nic_rate"].value)
    build_of = node_network(entry.name, -(-ranks // nodes), nodes, cards, rate, protocol, joined)
    network = _benchmarked(build_of(Values(load_catalog().facts)))
    return np.asarray(network.collective("all_reduce", size, ranks, 1), dtype=float)


def fit_errors(generation: str, kind: str) -> np.ndarray:
    """The fit's mean absolute relative error per range of message sizes: the larger of that over fitted curves and that
    over those kept aside.
    """
    return np.array(_errors(generation, "exchange" if kind == "all_to_all" else "ring"))


@cache
def _errors(generation: str, family: str) -> tuple[float, ...]:
    """The error per size range of the shipped table; a range without points has the largest of the others."""
    table = json.loads(pairs.TABLE.read_text(encoding="utf-8"))[generation][family]["errors"]
    found = []
    for low, high in SIZES:
        keys = [f"{part} {low:.0f}-{high:.0f} bytes" for part in ("fitted", "aside")]
        known = [table[key]["mean_absolute"] for key in keys if table[key]["mean_absolute"] is not None]
        found.append(max(known, default=None))
    worst = max(error for error in found if error is not None)
    return tuple(worst if error is None else error for error in found)
