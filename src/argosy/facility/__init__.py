"""Power, heat, money, carbon and water of a fleet, each with its boundary."""

from argosy.facility.building import Building, building
from argosy.facility.capital import Asset, Capital, capital
from argosy.facility.carbon import Made, carbon_payload, embodied, equivalents
from argosy.facility.cooling import Overhead, overhead
from argosy.facility.cost import Usage, cost, is_rented, owned, rented
from argosy.facility.facility import BOUNDARY, facility, made
from argosy.facility.load import ItLoad
from argosy.facility.market import WHEN_AUTO, market, spot_interruptions_per_s
from argosy.facility.mitigation import Mitigation, mitigations
from argosy.facility.money import Work, tco_payload, tornado
from argosy.facility.node import NodePower, board_limit, clock_at_cap, node_power
from argosy.facility.packing import CLASSES, Racks, needed_class, pack
from argosy.facility.phases import PowerPhases
from argosy.facility.site import SiteNumbers, site_numbers
from argosy.facility.timeline import PowerTimeline, step_timeline
from argosy.facility.tree_drawing import drawing, level_table
from argosy.facility.water import water_payload
from argosy.facility.waveform import (
    Spectrum,
    StageActivity,
    Stretch,
    Waveform,
    decimated,
    drawn_waveform,
    life_power,
    spectrum,
    step_power,
    waveform,
)

__all__ = [
    "BOUNDARY",
    "CLASSES",
    "WHEN_AUTO",
    "Asset",
    "Building",
    "Capital",
    "ItLoad",
    "Made",
    "Mitigation",
    "NodePower",
    "Overhead",
    "PowerPhases",
    "PowerTimeline",
    "Racks",
    "SiteNumbers",
    "Spectrum",
    "StageActivity",
    "Stretch",
    "Usage",
    "Waveform",
    "Work",
    "board_limit",
    "building",
    "capital",
    "carbon_payload",
    "clock_at_cap",
    "cost",
    "decimated",
    "drawing",
    "drawn_waveform",
    "embodied",
    "equivalents",
    "facility",
    "is_rented",
    "level_table",
    "life_power",
    "made",
    "market",
    "mitigations",
    "needed_class",
    "node_power",
    "overhead",
    "owned",
    "pack",
    "rented",
    "site_numbers",
    "spectrum",
    "spot_interruptions_per_s",
    "step_power",
    "step_timeline",
    "tco_payload",
    "tornado",
    "water_payload",
    "waveform",
]
