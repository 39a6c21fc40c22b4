"""Power, heat, money, carbon and water of a fleet, each with its boundary."""

from argosy.facility.capital import Asset, Capital, capital
from argosy.facility.cooling import CLASSES, Overhead, Racks, needed_class, overhead, pack
from argosy.facility.cost import Usage, cost, is_rented, owned, rented
from argosy.facility.facility import BOUNDARY, ItLoad, embodied_carbon, facility
from argosy.facility.market import market, spot_interruptions_per_s
from argosy.facility.node import NodePower, node_power
from argosy.facility.phases import PowerPhases
from argosy.facility.site import SiteNumbers, site_numbers
from argosy.facility.timeline import PowerTimeline, step_timeline

__all__ = [
    "BOUNDARY",
    "CLASSES",
    "Asset",
    "Capital",
    "ItLoad",
    "NodePower",
    "Overhead",
    "PowerPhases",
    "PowerTimeline",
    "Racks",
    "SiteNumbers",
    "Usage",
    "capital",
    "cost",
    "embodied_carbon",
    "facility",
    "is_rented",
    "market",
    "needed_class",
    "node_power",
    "overhead",
    "owned",
    "pack",
    "rented",
    "site_numbers",
    "spot_interruptions_per_s",
    "step_timeline",
]
