"""From rows to one scorecard: boosting, tables, bands, directions, calibration, points."""
