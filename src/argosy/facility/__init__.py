"""Power, heat, money, carbon and water of a fleet, each with its boundary."""

from argosy.facility.building import Building, building
from argosy.facility.capital import Asset, Capital, capital
from argosy.facility.carbon import Made, carbon_payload, embodied, equivalents
from argosy.facility.cooling import Overhead, overhead
from argosy.facility.cost import Usage, cost, is_rented, owned, rented
from argosy.facility.facility import BOUNDARY, facility, made
from argosy.facility.load import ItLoad
from argosy.facility.market import WHEN_AUTO, market, spot_interruptions_per_s
from argosy.facility.money import Work, tco_payload, tornado
from argosy.facility.node import NodePower, clock_at_cap, node_power
from argosy.facility.packing import CLASSES, Racks, needed_class, pack
from argosy.facility.phases import PowerPhases
from argosy.facility.site import SiteNumbers, site_numbers
from argosy.facility.timeline import PowerTimeline, step_timeline
from argosy.facility.tree_drawing import drawing, level_table
from argosy.facility.water import water_payload

__all__ = [
    "BOUNDARY",
    "CLASSES",
    "WHEN_AUTO",
    "Asset",
    "Building",
    "Capital",
    "ItLoad",
    "Made",
    "NodePower",
    "Overhead",
    "PowerPhases",
    "PowerTimeline",
    "Racks",
    "SiteNumbers",
    "Usage",
    "Work",
    "building",
    "capital",
    "carbon_payload",
    "clock_at_cap",
    "cost",
    "drawing",
    "embodied",
    "equivalents",
    "facility",
    "is_rented",
    "level_table",
    "made",
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
    "tco_payload",
    "tornado",
    "water_payload",
]
