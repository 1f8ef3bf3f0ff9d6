"""Load an export of Superset and ask its dashboards: `python superset_export.py EXPORT.zip DATABASE_URL NAME_THERE`."""

import sys

import analytics_core


def main(export, url, name):
    core = analytics_core.connect(url)
    report = core.load_bundle(export, databases={name: 1})
    print(report)
    for record in report.records:
        for note in record.notes:
            print(f"  {record.kind} {record.name}: {note}")
    for dashboard in report.of("dashboard"):
        for chart in core.dashboards.data(dashboard.id):
            rows = "" if chart.error else f"{chart.answer.results[0].rowcount} rows"
            print(f"{dashboard.name} / {chart.name}: {chart.error or rows}")
    core.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
