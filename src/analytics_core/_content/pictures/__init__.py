"""Pictures of charts and dashboards: drawn, kept, saved, shown in notebooks."""
