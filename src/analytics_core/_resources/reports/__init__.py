"""`core.reports`: schedules of alerts and reports, their runs, and what they would do now."""
