"""Moist air: what evaporation can cool to, from temperature and relative humidity."""

from __future__ import annotations

import numpy as np

from argosy.laws.arrays import Array, require


def saturation_pressure_pa(temperature_c: Array) -> Array:
    """Pascals of water vapour over water at saturation: 610.94·exp(17.625·t/(t + 243.04)).

    `temperature_c`: °C, −40 to 50 (error below 0.4 %). Source: Alduchov and Eskridge 1996 (Magnus form).
    """
    return 610.94 * np.exp(17.625 * temperature_c / (temperature_c + 243.04))


def dew_point_c(temperature_c: Array, humidity: Array) -> Array:
    """Temperature in °C at which the air's vapour condenses: the Magnus form inverted.

    `temperature_c`: °C, −40 to 50; `humidity`: relative, above 0 to 1. ValueError outside of it.
    """
    require(
        (np.asarray(humidity) > 0) & (np.asarray(humidity) <= 1), "humidity must be above 0 and at most 1"
    )
    logarithm = np.log(humidity) + 17.625 * temperature_c / (temperature_c + 243.04)
    return 243.04 * logarithm / (17.625 - logarithm)


def wet_bulb_c(temperature_c: Array, humidity: Array) -> Array:
    """Wet-bulb temperature in °C at sea level, the lowest that evaporation reaches.

    T·atan(0.151977·√(h + 8.313659)) + atan(T + h) − atan(h − 1.676331) + 0.00391838·h^1.5·atan(0.023101·h) − 4.686035
    with h in per cent. `temperature_c`: dry bulb, −20 to 50 °C; `humidity`: relative, 0.05 to 0.99. Within 1 °C,
    mean error 0.3 °C. Source: Stull 2011, Journal of Applied Meteorology and Climatology 50:2267.
    """
    percent = 100.0 * np.clip(humidity, 0.05, 0.99)
    return (
        temperature_c * np.arctan(0.151977 * np.sqrt(percent + 8.313659))
        + np.arctan(temperature_c + percent)
        - np.arctan(percent - 1.676331)
        + 0.00391838 * percent**1.5 * np.arctan(0.023101 * percent)
        - 4.686035
    )


def evaporated_litres_per_kwh(concentration_cycles: Array, latent_j_per_kg: Array = 2.43e6) -> Array:
    """Litres that a cooling tower takes in per kWh of heat that it evaporates away: 3.6e6/λ·c/(c − 1).

    `concentration_cycles` (c): how often the water goes round before it is bled off, above 1; `latent_j_per_kg` (λ):
    heat of vaporisation, J/kg, at 30 °C by default. Sensible heat and drift are neglected, which overstates by up to
    a fifth in cold weather. Source: mass balance of a tower. ValueError for cycles of 1 or fewer.
    """
    require(np.asarray(concentration_cycles) > 1, "concentration cycles must be above 1")
    return 3.6e6 / latent_j_per_kg * concentration_cycles / (concentration_cycles - 1.0)
