"""The floor of each package, and which tests are its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FLOOR: Final = 70
"""Per cent of a package's mutants that its tests catch."""
FLOORS: Final = {"_engine/compile": 80, "_engine/gate": 80, "_engine/rights": 80, "_engine/oauth": 80, "_reports": 80}

_SQL: Final = (
    *("unit/fence", "unit/totality", "unit/fragments_without_fences", "unit/allowed_functions"),
    *("unit/rules_in_every_dialect", "unit/lowering_statements"),
)
TESTS: Final[dict[str, tuple[str, ...]]] = {
    "_content": (
        *("unit/resources_*", "unit/guest_*", "unit/markdown_tables", "unit/jobs", "integration/look_ups"),
        *("integration/dashboard_states", "integration/load_bundle", "integration/checks_of_content"),
        *("integration/differences_of_content", "integration/bundle_r*", "integration/dashboards"),
        *("integration/life_of_every_resource", "integration/further_acts", "unit/report_*", "integration/reports"),
        *("integration/report_runs", "integration/shared_content", "integration/changes_that_agree"),
        *("integration/report_mails", "integration/report_turns", "integration/report_pictures"),
        "integration/pictures",
        *("integration/dataset*", "integration/database_flags", "integration/bundles_that_almost_load"),
        *("integration/relations_and_grants", "integration/time_columns_of_dashboards", "integration/dashboard_data"),
        *("integration/rights_to_change_sql", "integration/charts_by_name", "integration/later_changes"),
        *("integration/parts_of_bundles", "integration/messages_of_reports", "integration/filters_of_lists"),
        *("integration/guests", "integration/cache_control", "integration/explore", "unit/user_tokens"),
        *("integration/form_fields_in_errors", "integration/batches", "integration/oauth"),
        *("integration/notebook_shell", "integration/jobs_road", "integration/advanced_data_types"),
        *("unit/ssh_tunnel_payloads", "integration/keys_of_stored_json", "properties/dashboard_laws"),
        *("integration/saved_queries_in_bundles", "integration/picks_of_dashboards"),
    ),
    "_content/jobs": ("unit/job*", "unit/turns", "integration/jobs_road"),
    "_content/lookups": (
        *("unit/gate", "unit/rule_sets", "integration/look_ups", "integration/template_lookups", "unit/guest_*"),
        *("integration/guests", "integration/guests_and_annotations", "integration/annotation_layers"),
        "integration/chart_data_results",
    ),
    "_content/storage": (
        *("unit/storage_*", "unit/stored_bytes", "unit/unread_parts", "unit/secrets_in_text", "unit/resources_listing"),
        *("conformance/metadata_store_suite", "integration/storage_*", "integration/store_reliability"),
        *("integration/forked_children", "integration/writers_of_one_record", "integration/logs"),
    ),
    "_core": (
        *("integration/facade", "integration/operating", "integration/ways_to_*", "integration/connect_ends"),
        *("integration/what_is_not_connected", "integration/walls_of_what_is_in_hand", "integration/columns_of_frames"),
        *("integration/replaced_files", "integration/before_connect", "integration/guest_jobs", "unit/network"),
        *("integration/dates_of_text_files", "unit/settings_from_env", "unit/guest_facade"),
        *("unit/sources_in_hand", "unit/parts_of_hosts", "unit/resources_arguments", "integration/dataset_from"),
        *("integration/notebook_shell", "integration/reading_of_text_files", "integration/hosts_people_and_policy"),
        *("integration/load_bundle", "integration/jobs_road", "integration/kept_namespaces"),
        *("integration/command_line", "integration/close_stops_questions", "integration/thread_limit", "unit/ports"),
    ),
    "_core/adapters": (
        *("unit/guarded_cache", "unit/memory_cache", "unit/network", "unit/secret_box", "unit/ports", "unit/outbox"),
        *("unit/server_authorities", "unit/purposes_of_keys", "conformance/[cjlnop]*"),
        *("conformance/secret_box_suite", "integration/chat_notifiers"),
        *("integration/email_notifier", "integration/*observer", "integration/otel", "integration/token_endpoint"),
        *("integration/forked_children", "integration/progress", "integration/vega_renderer"),
        *("integration/renderer_ends", "integration/replaced_files"),
    ),
    "_engine/compile": (
        *(*_SQL, "unit/calendar", "unit/exact_numbers", "unit/fragments_*", "unit/planner_*", "unit/time_*"),
        *("unit/template*", "unit/python_values", "unit/row_*", "unit/fingerprints", "golden/*"),
        *("unit/parse_cost", "properties/fragments_laws", "properties/plan_laws", "properties/time_*"),
        "integration/advanced_data_types",
    ),
    "_engine/engines": (
        *("unit/engines_*", "unit/coltypes", "unit/statement_kinds", "unit/connection_*", "golden/*"),
        "unit/newest_partitions",
    ),
    "_engine/execution": (
        *("unit/execution_*", "unit/connection_*", "unit/batch_stream", "unit/ssh_tunnel_payloads", "unit/forwarder"),
        *("unit/server_authorities", "unit/user_tokens", "unit/secrets_in_text", "unit/gate", "unit/shared_runs"),
        *("integration/engines_*", "integration/rewritten_statements", "integration/sessions_stay_read_only"),
        *("integration/columns_of_frames", "integration/uploads", "integration/request_budget", "unit/resources_data*"),
        *("integration/sqlite_moments", "integration/tables_without_datasets", "integration/duckdb_files_that_change"),
        *("unit/budgets", "unit/cost_estimates", "integration/budgets", "integration/sql_estimates", "unit/tunnels"),
        *("integration/ways_to_connect", "integration/replaced_files", "integration/one_reader_of_files"),
        *("integration/reading_of_text_files", "integration/trino_client", "integration/sql_scripts"),
        *("integration/cut_buckets", "integration/close_stops_questions", "integration/interrupts"),
        *("integration/thread_limit", "integration/tls_of_addresses", "integration/values_of_every_type"),
        *("integration/execution_servers", "integration/servers_that_hang", "integration/ssh_tunnels"),
        *("integration/guarded_servers", "integration/pools_after_changes"),
        *("integration/connection_parameters_on_servers", "integration/row_rules_on_engines"),
    ),
    "_engine/files": (
        *("unit/uploads_*", "integration/reading_of_text_files", "integration/dates_of_text_files"),
        *("integration/uploads", "integration/uploads_round_trip", "integration/one_reader_of_files"),
    ),
    "_engine/forecast": ("unit/forecast_*", "unit/operation_forecast", "properties/forecast_laws"),
    "_engine/frames": (
        *("unit/operation_*", "unit/cache_entry", "unit/csv_text", "unit/stored_bytes", "unit/exact_numbers"),
        *("unit/answer", "properties/operation_rolling_reference", "properties/pandas_frames"),
    ),
    "_engine/gate": (
        *("unit/gate", "unit/guard_*", "unit/statement_kinds", "unit/row_*", "unit/fence", "unit/names_of_databases"),
        *("unit/newest_partitions", "unit/script_parts", "integration/sql_scripts"),
        *("integration/row_rules_on_engines", "integration/row_rules_when_*", "integration/isolation_of_rows"),
        *("integration/tables_without_datasets", "integration/cached_names", "integration/uploads"),
        *("integration/progress", "unit/parse_cost"),
    ),
    "_engine/oauth": (
        *("unit/user_tokens", "unit/oauth_*", "unit/purposes_of_keys", "integration/oauth*"),
        *("unit/resources_databases", "integration/tokens_of_drivers", "integration/token_endpoint"),
    ),
    "_engine/querying": (
        *("unit/context_reader", "unit/ready_queries", "unit/shared_runs", "unit/summed_metrics"),
        *("unit/resources_row_level_security", "integration/chart_data_*", "integration/explain"),
        *("integration/strict_queries", "integration/template_lookups", "integration/annotation_layers"),
        *("integration/charts_of_forms", "integration/cut_buckets", "integration/pages_of_rows"),
        *("integration/time_comparison", "integration/progress", "integration/cache*", "integration/explore"),
        *("integration/placeholder_values", "unit/exact_numbers", "unit/templates_values", "integration/observer"),
        *("integration/guests_and_annotations", "integration/batches", "integration/reports", "integration/sql_*"),
        *("integration/stored_statements_as_datasources", "integration/time_axis"),
    ),
    "_engine/results": (
        *("unit/answer*", "unit/batch_stream", "unit/cache_entry", "unit/client_processing", "unit/coltypes"),
        *("unit/column_formats", "unit/csv_text", "unit/displays", "unit/exact_numbers", "unit/readable_columns"),
        *("unit/pivot_table_reference", "unit/xlsx_book", "integration/batches", "integration/charts_by_name"),
        *("integration/dashboard_data", "integration/pictures", "integration/columns_of_frames"),
        *("integration/answer_bytes", "properties/json_records", "integration/forked_children"),
        *("integration/report_mails", "integration/chart_data_results"),
    ),
    "_engine/rights": (
        *("unit/guest_*", "unit/policy", "unit/purposes_of_keys", "unit/row_rule_*", "unit/rule_sets", "unit/scopes"),
        *("unit/origins", "unit/resources_row_level_security", "unit/resources_people", "unit/context_reader"),
        *("properties/list_visibility", "integration/isolation_of_rows", "integration/hosts_people_and_policy"),
        *("unit/jobs", "unit/gate", "integration/rights_to_change_sql", "integration/digests_of_bounds"),
    ),
    "_notebook/builder": ("unit/builder_*", "properties/builder_laws", "integration/builder_*"),
    "_notebook/sources": (
        *("integration/ways_to_*", "integration/connect_ends", "integration/what_is_not_connected"),
        *("integration/walls_of_what_is_in_hand", "integration/columns_of_frames", "integration/replaced_files"),
        *("integration/before_connect", "integration/dates_of_text_files", "unit/sources_in_hand"),
        *("integration/dataset_from", "integration/reading_of_text_files", "integration/one_reader_of_files"),
    ),
    "_pictures": (
        *("unit/picture_*", "unit/page_layout", "unit/markdown_*", "unit/safe_*", "unit/builder_charts"),
        *("integration/pictures", "integration/report_pictures", "integration/kept_pictures"),
    ),
    "_reports": (
        *("unit/alert_verdicts", "unit/chat_text", "unit/deliveries", "unit/mail", "unit/report_*", "unit/due_runs"),
        *("properties/schedule_laws", "integration/reports", "integration/report_runs", "integration/report_turns"),
        *("integration/report_mails", "integration/report_pictures", "integration/messages_of_reports"),
        "attacks/reports",
    ),
    "_sql": (
        *("integration/sql_*", "integration/saved_queries", "integration/later_changes"),
        *("integration/life_of_every_resource", "properties/answers_given_back", "integration/lineage"),
        *("integration/saved_queries_in_bundles", "integration/stored_statements_as_datasources"),
    ),
    "_superset": (
        *("unit/form_*", "unit/picture_forms", "golden/forms", "integration/charts_of_forms", "integration/explore"),
        *("integration/layers_of_maps", "integration/form_fields_in_errors", "integration/kinds_of_charts"),
    ),
    "_tools/display": ("unit/displays", "unit/picture_numbers", "integration/notebook_shell"),
    "_tools/formats": ("unit/chart_formats", "unit/column_formats", "unit/picture_numbers"),
    "_tools/pivots": ("unit/picture_pivots", "unit/pivot_table_reference", "properties/pivot_table_laws"),
}
"""By package the test modules, under `tests` and without `test_`, whose subject it is; a mutant meets those of their
tests that reach its lines. A package is a folder of the library, without what has a line of its own below it."""


def floor_of(package: str) -> int:
    """Return the least percentage of mutants that must be caught."""
    return FLOORS.get(package, FLOOR)


def modules_of(package: str, root: Path) -> list[Path]:
    """Return the test modules of a package, as paths from the project's folder.

    Raises:
        FileNotFoundError: The table names a module that is not there.
    """
    found: list[Path] = []
    for name in TESTS.get(package, ("unit/*",)):
        folder, _, subject = name.partition("/")
        files = sorted((root / "tests" / folder).glob(f"test_{subject}.py"))
        if not files:
            raise FileNotFoundError(f"no tests at {name}, which the table of {package} names")
        found += files
    return [file.relative_to(root) for file in dict.fromkeys(found)]
