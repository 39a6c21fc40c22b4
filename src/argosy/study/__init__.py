"""Questions asked of many plans at once: calibration to measured steps, ablation."""

from argosy.study.calibrate import calibrate

__all__ = ["calibrate"]
