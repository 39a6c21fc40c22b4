"""What an owned fleet was bought for, by class of asset, and what a year of each costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.facts import FactError, Values
from argosy.laws import economics as law
from argosy.spec import Prices

Array = Any  # float or numpy array (n,): one entry per draw
YEAR_S = 365.25 * 86400.0

# Classes of assets, in the order of a bill; hardware is maintained and repaired as IT, the rest as a plant.
HARDWARE = ("accelerators", "hosts", "spare nodes", "network", "storage")
PLANT = ("power plant", "cooling plant", "building")


@dataclass(frozen=True, slots=True)
class Asset:
    """One class of assets: price of all of it (USD), seconds over which it is written off, share of the price
    left then.
    """

    name: str
    usd: Array
    life_s: Array
    residual: Array = 0.0

    def yearly_usd(self, rate: Array) -> Array:
        """Capital recovery a year (USD) at a yearly cost of capital of `rate`, a fraction."""
        return law.annuity_with_residual(self.usd, self.residual, rate, self.life_s / YEAR_S)


@dataclass(frozen=True, slots=True)
class Capital:
    """Everything that an owned fleet was bought for."""

    assets: tuple[Asset, ...]

    def usd(self, names: tuple[str, ...] = (*HARDWARE, *PLANT)) -> Array:
        """Purchase price of some classes together, of all of them without `names` (USD)."""
        return sum((asset.usd for asset in self.assets if asset.name in names), start=0.0)

    def shares(self) -> dict[str, Array]:
        """Each class's share of the whole price, 0–1; they add up to 1."""
        total = self.usd()
        return {asset.name: asset.usd / total for asset in self.assets}

    def network_share(self) -> Array:
        """The network's share of the cluster's price (hardware, without plant and building), 0–1."""
        return self.usd(("network",)) / self.usd(HARDWARE)


def capital(
    values: Values,
    prices: Prices,
    node: str | None,
    accelerator: str,
    nodes: Array,
    accelerators_per_node: int,
    it_peak_w: Array,
    network_usd: Array | None = None,
    storage_bytes: Array | None = None,
    spare_nodes: Array = 0.0,
) -> Capital:
    """The assets of `nodes` nodes at work and `spare_nodes` more whose IT load peaks at `it_peak_w` watts.

    A node's price is the catalog's, or that of its accelerators as sold in a server; `server_factor` splits
    it into accelerators and host (cards included). `network_usd`: switches, modules and cables of all fabrics
    (USD), `storage_bytes`: usable capacity; where one is None it takes its usual share of the cluster's
    capital. Plant and building cost so much per IT watt. Raises FactError where no price is known: then the
    scenario must give a rental price.
    """
    each = node_price(values, node, accelerator, accelerators_per_node)
    servers, spares = nodes * each, spare_nodes * each
    chips = servers / values["facility.money.server_factor"]
    network_share = values["facility.money.network_share"] if network_usd is None else 0.0
    storage_share = values["facility.money.storage_share"] if storage_bytes is None else 0.0
    storage = 0.0 if storage_bytes is None else storage_bytes * values["facility.money.storage_price"]
    known = servers + spares + (0.0 if network_usd is None else network_usd) + storage
    cluster = known / (1.0 - network_share - storage_share)
    if network_usd is None:
        network_usd = cluster * network_share
    if storage_bytes is None:
        storage = cluster * storage_share
    site = it_peak_w * values["facility.money.site_capital"]
    power, cooling = (values[f"facility.money.{part}_plant_share"] for part in ("power", "cooling"))
    life, site_life = prices.lifetime, values["facility.money.site_life"]
    plant_life = site_life if prices.plant_lifetime is None else prices.plant_lifetime
    building_life = site_life if prices.building_lifetime is None else prices.building_lifetime
    return Capital(
        (
            Asset("accelerators", chips, life, prices.residual),
            Asset("hosts", servers - chips, life, prices.residual),
            Asset("spare nodes", spares, life, prices.residual),
            Asset("network", network_usd, prices.network_lifetime or life),
            Asset("storage", storage, life),
            Asset("power plant", site * power, plant_life),
            Asset("cooling plant", site * cooling, plant_life),
            Asset("building", site * (1.0 - power - cooling), building_life),
        )
    )


def node_price(values: Values, node: str | None, accelerator: str, accelerators_per_node: int) -> Array:
    """USD of one node with its accelerators and cards: its own price, or that of its accelerators in a server.

    Where the catalog knows a price of the bare chip alone, `server_factor` adds the server around it. FactError
    where it has no price of either.
    """
    path = price_path(values, node, accelerator)
    if path.startswith("nodes."):
        return values[path]
    factor = 1.0 if _in_server(values, path) else values["facility.money.server_factor"]
    return values[path] * accelerators_per_node * factor


def price_path(values: Values, node: str | None, accelerator: str) -> str:
    """The fact that a node's price comes from."""
    for path in (f"nodes.{node}.price", f"prices.{accelerator}.capital"):
        if path in values:
            return path
    raise FactError(f"no price of {node or accelerator} is known: give prices.accelerator_hour")


def price_basis(values: Values, node: str | None, accelerator: str) -> str:
    """In words, what a node's price is: the fact, what it counts, and what was added."""
    path = price_path(values, node, accelerator)
    bare = not (path.startswith("nodes.") or _in_server(values, path))
    fact = values.facts[path]
    added = ", × the usual ratio of server to chips" if bare else ""
    return f"{path}: {fact.kind}{added} ({fact.source})"


def _in_server(values: Values, path: str) -> bool:
    return any(word in values.facts[path].kind for word in ("server", "rack"))
