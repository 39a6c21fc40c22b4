"""The scenario: what an answer depends on, as frozen values."""

from argosy.spec.architectures import names as model_names
from argosy.spec.architectures import resolve as resolve_model
from argosy.spec.assertions import AssertionResult, check_assertions
from argosy.spec.capacity import Capacity
from argosy.spec.carbon import CarbonAccount, Profile
from argosy.spec.facility import Facility, Site
from argosy.spec.fleet import CatalogChoice, Fabric, Fleet, Spares, Storage
from argosy.spec.hazards import Domain, RateOverride
from argosy.spec.load import load, loads, presets
from argosy.spec.model import MixtureOfExperts, ModelArchitecture, ModelError, MultiHeadLatentAttention
from argosy.spec.power_tree import Hall, PowerStage, PowerTree
from argosy.spec.prices import Currency, Period, Prices, Tariff
from argosy.spec.problems import Problem, ScenarioError
from argosy.spec.reliability import Checkpoint, Maintenance, Reliability
from argosy.spec.scenario import Assertion, Assumptions, Defaulted, Scenario
from argosy.spec.scheduling import JobClass, MoreNodes, Quota, Rolling, Scheduling, Work
from argosy.spec.schema import FieldRow, field_table, json_schema
from argosy.spec.serving import Lengths, ReplicaShape, Serving
from argosy.spec.training import Layout, Overlap, Precision, Search, Stage, Training

__all__ = [
    "Assertion",
    "AssertionResult",
    "Assumptions",
    "Capacity",
    "CarbonAccount",
    "CatalogChoice",
    "Checkpoint",
    "Currency",
    "Defaulted",
    "Domain",
    "Fabric",
    "Facility",
    "FieldRow",
    "Fleet",
    "Hall",
    "JobClass",
    "Layout",
    "Lengths",
    "Maintenance",
    "MixtureOfExperts",
    "ModelArchitecture",
    "ModelError",
    "MoreNodes",
    "MultiHeadLatentAttention",
    "Overlap",
    "Period",
    "PowerStage",
    "PowerTree",
    "Precision",
    "Prices",
    "Problem",
    "Profile",
    "Quota",
    "RateOverride",
    "Reliability",
    "ReplicaShape",
    "Rolling",
    "Scenario",
    "ScenarioError",
    "Scheduling",
    "Search",
    "Serving",
    "Site",
    "Spares",
    "Stage",
    "Storage",
    "Tariff",
    "Training",
    "Work",
    "check_assertions",
    "field_table",
    "json_schema",
    "load",
    "loads",
    "model_names",
    "presets",
    "resolve_model",
]
