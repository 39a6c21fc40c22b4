"""Questions asked of many plans at once: calibration, ablation."""
