"""The scenario: what an answer depends on, as frozen values."""

from argosy.spec.facility import Facility, Prices, Site
from argosy.spec.fleet import CatalogChoice, Fabric, Fleet, Spares, Storage
from argosy.spec.model import MixtureOfExperts, ModelArchitecture, MultiHeadLatentAttention
from argosy.spec.reliability import Checkpoint, Maintenance, RateOverride, Reliability
from argosy.spec.scenario import Assertion, Assumptions, Defaulted, Scenario
from argosy.spec.serving import Serving
from argosy.spec.training import Layout, Overlap, Precision, Search, Stage, Training

__all__ = [
    "Assertion",
    "Assumptions",
    "CatalogChoice",
    "Checkpoint",
    "Defaulted",
    "Fabric",
    "Facility",
    "Fleet",
    "Layout",
    "Maintenance",
    "MixtureOfExperts",
    "ModelArchitecture",
    "MultiHeadLatentAttention",
    "Overlap",
    "Precision",
    "Prices",
    "RateOverride",
    "Reliability",
    "Scenario",
    "Search",
    "Serving",
    "Site",
    "Spares",
    "Stage",
    "Storage",
    "Training",
]
