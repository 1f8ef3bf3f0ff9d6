CREATE TABLE ac_users (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    username VARCHAR(250) NOT NULL,
    first_name VARCHAR(250) NOT NULL,
    last_name VARCHAR(250) NOT NULL,
    email VARCHAR(250),
    active BOOLEAN NOT NULL,
    attributes TEXT NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_users_username UNIQUE (username)
);
CREATE TABLE ac_roles (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(250) NOT NULL,
    is_admin BOOLEAN NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_roles_name UNIQUE (name)
);
CREATE TABLE ac_databases (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    database_name VARCHAR(250) NOT NULL,
    uri TEXT NOT NULL,
    engine VARCHAR(250) NOT NULL,
    driver VARCHAR(250),
    configuration_method VARCHAR(250) NOT NULL,
    expose_in_sqllab BOOLEAN NOT NULL,
    allow_ctas BOOLEAN NOT NULL,
    allow_cvas BOOLEAN NOT NULL,
    allow_dml BOOLEAN NOT NULL,
    allow_file_upload BOOLEAN NOT NULL,
    allow_run_async BOOLEAN NOT NULL,
    impersonate_user BOOLEAN NOT NULL,
    force_ctas_schema VARCHAR(250),
    cache_timeout INTEGER,
    extra TEXT,
    secret_extra TEXT,
    ssh_tunnel TEXT,
    external_url TEXT,
    is_managed_externally BOOLEAN NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_databases_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_databases_database_name UNIQUE (database_name)
);
CREATE TABLE ac_charts (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    slice_name VARCHAR(250) NOT NULL,
    viz_type VARCHAR(250),
    datasource_id INTEGER,
    datasource_type VARCHAR(200),
    datasource_name TEXT,
    description TEXT,
    cache_timeout INTEGER,
    certified_by TEXT,
    certification_details TEXT,
    params TEXT,
    query_context TEXT,
    query_context_generation BOOLEAN,
    external_url TEXT,
    is_managed_externally BOOLEAN NOT NULL,
    last_saved_at DATETIME,
    last_saved_by INTEGER,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_charts_uuid UNIQUE (uuid)
);
CREATE TABLE ac_annotation_layers (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(250) NOT NULL,
    descr TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_annotation_layers_name UNIQUE (name)
);
CREATE TABLE ac_css_templates (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    template_name VARCHAR(250),
    css TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL
);
CREATE TABLE ac_tags (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(250) NOT NULL,
    type INTEGER NOT NULL,
    description TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_tags_name UNIQUE (type, name)
);
CREATE TABLE ac_dashboards (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    dashboard_title VARCHAR(500),
    slug VARCHAR(255),
    css TEXT,
    json_metadata TEXT,
    position_json TEXT,
    published BOOLEAN NOT NULL,
    certified_by TEXT,
    certification_details TEXT,
    external_url TEXT,
    is_managed_externally BOOLEAN NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_dashboards_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_dashboards_slug UNIQUE (slug)
);
CREATE TABLE ac_favourites (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    target VARCHAR(20) NOT NULL,
    target_id INTEGER NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_favourites_target UNIQUE (user_id, target, target_id)
);
CREATE TABLE ac_row_rules (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(255) NOT NULL,
    clause TEXT NOT NULL,
    filter_type VARCHAR(20) NOT NULL,
    group_key VARCHAR(255),
    description TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_row_rules_name UNIQUE (name)
);
CREATE TABLE ac_logs (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    action VARCHAR(512) NOT NULL,
    user_id INTEGER,
    dashboard_id INTEGER,
    slice_id INTEGER,
    dttm DATETIME,
    duration_ms INTEGER,
    json TEXT,
    referrer VARCHAR(1024),
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL
);
CREATE TABLE ac_key_values (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind VARCHAR(32) NOT NULL,
    "key" VARCHAR(128) NOT NULL,
    value TEXT NOT NULL,
    expires_on DATETIME,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_key_values_key UNIQUE (kind, "key")
);
CREATE TABLE ac_jobs (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job_id VARCHAR(64) NOT NULL,
    kind VARCHAR(32) NOT NULL,
    payload TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    claims TEXT,
    queue VARCHAR(250) NOT NULL,
    moment DATETIME,
    state VARCHAR(20) NOT NULL,
    cancel_requested BOOLEAN NOT NULL,
    worker VARCHAR(64),
    lease_until DATETIME,
    started_on DATETIME,
    ended_on DATETIME,
    bound VARCHAR(128),
    error TEXT,
    result_bytes INTEGER,
    expires_on DATETIME,
    traceparent VARCHAR(64),
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_jobs_job_id UNIQUE (job_id)
);
CREATE TABLE ac_job_workers (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    token VARCHAR(64) NOT NULL,
    lease_until DATETIME NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_job_workers_token UNIQUE (token)
);
CREATE TABLE ac_locks (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(250) NOT NULL,
    owner VARCHAR(64) NOT NULL,
    ends_on DATETIME NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_locks_name UNIQUE (name)
);
CREATE TABLE ac_user_roles (
    user_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    PRIMARY KEY (user_id, role_id),
    CONSTRAINT fk_ac_user_roles_user FOREIGN KEY(user_id) REFERENCES ac_users (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_user_roles_role FOREIGN KEY(role_id) REFERENCES ac_roles (id)
);
CREATE TABLE ac_role_grants (
    role_id INTEGER NOT NULL,
    target VARCHAR(20) NOT NULL,
    target_id INTEGER NOT NULL,
    schema VARCHAR(255) NOT NULL,
    PRIMARY KEY (role_id, target, target_id, schema),
    CONSTRAINT fk_ac_role_grants_role FOREIGN KEY(role_id) REFERENCES ac_roles (id) ON DELETE CASCADE
);
CREATE TABLE ac_datasets (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    database_id INTEGER NOT NULL,
    catalog VARCHAR(250) NOT NULL,
    schema VARCHAR(255) NOT NULL,
    table_name VARCHAR(250) NOT NULL,
    table_key VARCHAR(32) DEFAULT '' NOT NULL,
    sql TEXT,
    description TEXT,
    extra TEXT,
    default_endpoint TEXT,
    fetch_values_predicate TEXT,
    filter_select_enabled BOOLEAN NOT NULL,
    is_sqllab_view BOOLEAN NOT NULL,
    is_managed_externally BOOLEAN NOT NULL,
    external_url TEXT,
    main_dttm_col VARCHAR(255),
    always_filter_main_dttm BOOLEAN NOT NULL,
    "offset" INTEGER NOT NULL,
    cache_timeout INTEGER,
    template_params TEXT,
    primary_key TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_datasets_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_datasets_table_name UNIQUE (database_id, catalog, schema, table_name),
    CONSTRAINT fk_ac_datasets_database FOREIGN KEY(database_id) REFERENCES ac_databases (id)
);
CREATE TABLE ac_chart_owners (
    chart_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (chart_id, user_id),
    CONSTRAINT fk_ac_chart_owners_chart_id FOREIGN KEY(chart_id) REFERENCES ac_charts (id) ON DELETE CASCADE
);
CREATE TABLE ac_annotations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    layer_id INTEGER NOT NULL,
    start_dttm DATETIME NOT NULL,
    end_dttm DATETIME NOT NULL,
    short_descr VARCHAR(500) NOT NULL,
    long_descr TEXT,
    json_metadata TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT fk_ac_annotations_layer FOREIGN KEY(layer_id) REFERENCES ac_annotation_layers (id) ON DELETE CASCADE
);
CREATE TABLE ac_chart_tags (
    chart_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (chart_id, tag_id),
    CONSTRAINT fk_ac_chart_tags_chart FOREIGN KEY(chart_id) REFERENCES ac_charts (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_chart_tags_tag FOREIGN KEY(tag_id) REFERENCES ac_tags (id) ON DELETE CASCADE
);
CREATE TABLE ac_dashboard_owners (
    dashboard_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (dashboard_id, user_id),
    CONSTRAINT fk_ac_dashboard_owners_dashboard_id FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id) ON DELETE CASCADE
);
CREATE TABLE ac_dashboard_roles (
    dashboard_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    PRIMARY KEY (dashboard_id, role_id),
    CONSTRAINT fk_ac_dashboard_roles_dashboard FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_dashboard_roles_role FOREIGN KEY(role_id) REFERENCES ac_roles (id)
);
CREATE TABLE ac_dashboard_charts (
    dashboard_id INTEGER NOT NULL,
    chart_id INTEGER NOT NULL,
    PRIMARY KEY (dashboard_id, chart_id),
    CONSTRAINT fk_ac_dashboard_charts_dashboard FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_dashboard_charts_chart FOREIGN KEY(chart_id) REFERENCES ac_charts (id) ON DELETE CASCADE
);
CREATE TABLE ac_dashboard_tags (
    dashboard_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (dashboard_id, tag_id),
    CONSTRAINT fk_ac_dashboard_tags_dashboard FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_dashboard_tags_tag FOREIGN KEY(tag_id) REFERENCES ac_tags (id) ON DELETE CASCADE
);
CREATE TABLE ac_embedded_dashboards (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    dashboard_id INTEGER NOT NULL,
    allowed_domains TEXT NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_embedded_dashboards_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_embedded_dashboards_dashboard UNIQUE (dashboard_id),
    CONSTRAINT fk_ac_embedded_dashboards_dashboard FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id) ON DELETE CASCADE
);
CREATE TABLE ac_row_rule_roles (
    row_rule_id INTEGER NOT NULL,
    role_id INTEGER NOT NULL,
    PRIMARY KEY (row_rule_id, role_id),
    CONSTRAINT fk_ac_row_rule_roles_row_rule FOREIGN KEY(row_rule_id) REFERENCES ac_row_rules (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_row_rule_roles_role FOREIGN KEY(role_id) REFERENCES ac_roles (id)
);
CREATE TABLE ac_job_results (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job_record_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    data BLOB NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_job_results_position UNIQUE (job_record_id, position),
    CONSTRAINT fk_ac_job_results_job FOREIGN KEY(job_record_id) REFERENCES ac_jobs (id) ON DELETE CASCADE
);
CREATE TABLE ac_oauth2_tokens (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    database_id INTEGER NOT NULL,
    client VARCHAR(64) NOT NULL,
    access_token TEXT,
    access_token_expiration DATETIME,
    refresh_token TEXT,
    refresh_until DATETIME,
    useless_after DATETIME,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_oauth2_tokens_user UNIQUE (database_id, user_id),
    CONSTRAINT fk_ac_oauth2_tokens_database FOREIGN KEY(database_id) REFERENCES ac_databases (id) ON DELETE CASCADE
);
CREATE TABLE ac_report_schedules (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    name VARCHAR(150) NOT NULL,
    type VARCHAR(50) NOT NULL,
    crontab TEXT NOT NULL,
    timezone VARCHAR(100) NOT NULL,
    active BOOLEAN NOT NULL,
    creation_method VARCHAR(255) NOT NULL,
    description TEXT,
    context_markdown TEXT,
    chart_id INTEGER,
    dashboard_id INTEGER,
    database_id INTEGER,
    custom_width INTEGER,
    force_screenshot BOOLEAN NOT NULL,
    grace_period INTEGER,
    log_retention INTEGER,
    working_timeout INTEGER,
    report_format VARCHAR(50) NOT NULL,
    selected_tabs TEXT,
    sql TEXT,
    validator_type VARCHAR(100),
    validator_config_json TEXT,
    extra TEXT,
    recipients TEXT NOT NULL,
    executor_id INTEGER,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_report_schedules_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_report_schedules_name UNIQUE (type, name),
    CONSTRAINT fk_ac_report_schedules_chart FOREIGN KEY(chart_id) REFERENCES ac_charts (id),
    CONSTRAINT fk_ac_report_schedules_dashboard FOREIGN KEY(dashboard_id) REFERENCES ac_dashboards (id),
    CONSTRAINT fk_ac_report_schedules_database FOREIGN KEY(database_id) REFERENCES ac_databases (id)
);
CREATE TABLE ac_sql_queries (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    client_id VARCHAR(11) NOT NULL,
    user_id INTEGER NOT NULL,
    database_id INTEGER NOT NULL,
    sql TEXT NOT NULL,
    job_id VARCHAR(64) NOT NULL,
    state VARCHAR(16) NOT NULL,
    schema VARCHAR(256),
    tab_name VARCHAR(256),
    sql_editor_id VARCHAR(256),
    tmp_schema_name VARCHAR(256),
    tmp_table_name VARCHAR(256),
    template_params TEXT,
    select_sql TEXT,
    executed_sql TEXT,
    error_message TEXT,
    query_limit INTEGER,
    "limit" INTEGER,
    rows INTEGER,
    limiting_factor VARCHAR(64),
    results_key VARCHAR(64),
    ctas_method VARCHAR(64),
    error_type VARCHAR(64),
    expand_data BOOLEAN NOT NULL,
    select_as_cta BOOLEAN NOT NULL,
    select_as_cta_used BOOLEAN NOT NULL,
    progress INTEGER NOT NULL,
    tables TEXT NOT NULL,
    start_time DOUBLE,
    start_running_time DOUBLE,
    end_time DOUBLE,
    end_result_backend_time DOUBLE,
    extra TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_sql_queries_client UNIQUE (user_id, client_id),
    CONSTRAINT fk_ac_sql_queries_database FOREIGN KEY(database_id) REFERENCES ac_databases (id) ON DELETE CASCADE
);
CREATE TABLE ac_saved_statements (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    label VARCHAR(256) NOT NULL,
    database_id INTEGER NOT NULL,
    sql TEXT NOT NULL,
    description TEXT,
    template_params TEXT,
    schema VARCHAR(256),
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_saved_statements_uuid UNIQUE (uuid),
    CONSTRAINT fk_ac_saved_statements_database FOREIGN KEY(database_id) REFERENCES ac_databases (id) ON DELETE CASCADE
);
CREATE TABLE ac_dataset_columns (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    dataset_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    uuid VARCHAR(36),
    column_name VARCHAR(255) NOT NULL,
    verbose_name TEXT,
    description TEXT,
    expression TEXT,
    extra TEXT,
    type TEXT,
    advanced_data_type VARCHAR(255),
    python_date_format VARCHAR(255),
    filterable BOOLEAN NOT NULL,
    groupby BOOLEAN NOT NULL,
    is_active BOOLEAN NOT NULL,
    is_dttm BOOLEAN NOT NULL,
    nullable BOOLEAN,
    leads_index BOOLEAN,
    "collation" TEXT,
    stored_type TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    CONSTRAINT fk_ac_dataset_columns_dataset FOREIGN KEY(dataset_id) REFERENCES ac_datasets (id) ON DELETE CASCADE
);
CREATE TABLE ac_dataset_metrics (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    dataset_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    uuid VARCHAR(36),
    metric_name VARCHAR(255) NOT NULL,
    expression TEXT NOT NULL,
    verbose_name TEXT,
    description TEXT,
    metric_type VARCHAR(32),
    d3format VARCHAR(128),
    currency VARCHAR(128),
    warning_text TEXT,
    extra TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    CONSTRAINT fk_ac_dataset_metrics_dataset FOREIGN KEY(dataset_id) REFERENCES ac_datasets (id) ON DELETE CASCADE
);
CREATE TABLE ac_dataset_owners (
    dataset_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, user_id),
    CONSTRAINT fk_ac_dataset_owners_dataset_id FOREIGN KEY(dataset_id) REFERENCES ac_datasets (id) ON DELETE CASCADE
);
CREATE TABLE ac_row_rule_datasets (
    row_rule_id INTEGER NOT NULL,
    dataset_id INTEGER NOT NULL,
    PRIMARY KEY (row_rule_id, dataset_id),
    CONSTRAINT fk_ac_row_rule_datasets_row_rule FOREIGN KEY(row_rule_id) REFERENCES ac_row_rules (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_row_rule_datasets_dataset FOREIGN KEY(dataset_id) REFERENCES ac_datasets (id)
);
CREATE TABLE ac_report_schedule_owners (
    report_schedule_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (report_schedule_id, user_id),
    CONSTRAINT fk_ac_report_schedule_owners_report_schedule_id FOREIGN KEY(report_schedule_id) REFERENCES ac_report_schedules (id) ON DELETE CASCADE
);
CREATE TABLE ac_report_progress (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    schedule_id INTEGER NOT NULL,
    next_due_on DATETIME,
    last_eval_dttm DATETIME,
    last_state VARCHAR(50),
    last_value DOUBLE,
    last_value_row_json TEXT,
    last_success_on DATETIME,
    last_notice_on DATETIME,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_report_progress_schedule UNIQUE (schedule_id),
    CONSTRAINT fk_ac_report_progress_schedule FOREIGN KEY(schedule_id) REFERENCES ac_report_schedules (id) ON DELETE CASCADE
);
CREATE TABLE ac_report_executions (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    uuid VARCHAR(36) NOT NULL,
    schedule_id INTEGER NOT NULL,
    scheduled_dttm DATETIME NOT NULL,
    cause VARCHAR(20) NOT NULL,
    state VARCHAR(50) NOT NULL,
    start_dttm DATETIME,
    end_dttm DATETIME,
    error_message TEXT,
    value DOUBLE,
    value_row_json TEXT,
    job_id VARCHAR(64),
    attempts INTEGER NOT NULL,
    lease_until DATETIME,
    late_on DATETIME,
    manifest TEXT,
    error_type TEXT,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_report_executions_uuid UNIQUE (uuid),
    CONSTRAINT uq_ac_report_executions_scheduled_dttm UNIQUE (schedule_id, scheduled_dttm),
    CONSTRAINT fk_ac_report_executions_schedule FOREIGN KEY(schedule_id) REFERENCES ac_report_schedules (id) ON DELETE CASCADE
);
CREATE TABLE ac_saved_statement_tags (
    saved_statement_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (saved_statement_id, tag_id),
    CONSTRAINT fk_ac_saved_statement_tags_saved_statement FOREIGN KEY(saved_statement_id) REFERENCES ac_saved_statements (id) ON DELETE CASCADE,
    CONSTRAINT fk_ac_saved_statement_tags_tag FOREIGN KEY(tag_id) REFERENCES ac_tags (id) ON DELETE CASCADE
);
CREATE TABLE ac_report_deliveries (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    execution_id INTEGER NOT NULL,
    recipient_key VARCHAR(64) NOT NULL,
    address TEXT NOT NULL,
    state VARCHAR(20) NOT NULL,
    reason TEXT,
    subject TEXT,
    files TEXT,
    attempts INTEGER NOT NULL,
    created_on DATETIME NOT NULL,
    changed_on DATETIME NOT NULL,
    created_by INTEGER,
    changed_by INTEGER,
    version INTEGER NOT NULL,
    CONSTRAINT uq_ac_report_deliveries_recipient_key UNIQUE (execution_id, recipient_key),
    CONSTRAINT fk_ac_report_deliveries_execution FOREIGN KEY(execution_id) REFERENCES ac_report_executions (id) ON DELETE CASCADE
);
CREATE INDEX ix_ac_annotations_layer ON ac_annotations (layer_id, start_dttm);
CREATE INDEX ix_ac_chart_owners_user ON ac_chart_owners (user_id);
CREATE INDEX ix_ac_chart_tags_tag ON ac_chart_tags (tag_id);
CREATE INDEX ix_ac_charts_changed ON ac_charts (changed_on);
CREATE INDEX ix_ac_charts_datasource ON ac_charts (datasource_id);
CREATE INDEX ix_ac_charts_name ON ac_charts (slice_name);
CREATE INDEX ix_ac_dashboard_charts_chart ON ac_dashboard_charts (chart_id);
CREATE INDEX ix_ac_dashboard_owners_user ON ac_dashboard_owners (user_id);
CREATE INDEX ix_ac_dashboard_roles_role ON ac_dashboard_roles (role_id);
CREATE INDEX ix_ac_dashboard_tags_tag ON ac_dashboard_tags (tag_id);
CREATE INDEX ix_ac_dashboards_changed ON ac_dashboards (changed_on);
CREATE INDEX ix_ac_dashboards_title ON ac_dashboards (dashboard_title);
CREATE INDEX ix_ac_dataset_columns_dataset ON ac_dataset_columns (dataset_id);
CREATE INDEX ix_ac_dataset_metrics_dataset ON ac_dataset_metrics (dataset_id);
CREATE INDEX ix_ac_dataset_owners_user ON ac_dataset_owners (user_id);
CREATE INDEX ix_ac_datasets_changed ON ac_datasets (changed_on);
CREATE INDEX ix_ac_datasets_key ON ac_datasets (database_id, table_key);
CREATE INDEX ix_ac_datasets_table ON ac_datasets (table_name);
CREATE INDEX ix_ac_favourites_target ON ac_favourites (target, target_id);
CREATE INDEX ix_ac_jobs_end ON ac_jobs (ended_on);
CREATE INDEX ix_ac_jobs_expiry ON ac_jobs (expires_on);
CREATE INDEX ix_ac_jobs_user ON ac_jobs (user_id, id);
CREATE INDEX ix_ac_jobs_worker ON ac_jobs (worker);
CREATE INDEX ix_ac_key_values_expiry ON ac_key_values (kind, expires_on);
CREATE INDEX ix_ac_logs_dttm ON ac_logs (dttm);
CREATE INDEX ix_ac_logs_user ON ac_logs (user_id, dttm);
CREATE INDEX ix_ac_oauth2_tokens_useless ON ac_oauth2_tokens (useless_after);
CREATE INDEX ix_ac_oauth2_tokens_user ON ac_oauth2_tokens (user_id);
CREATE INDEX ix_ac_report_executions_end ON ac_report_executions (end_dttm, schedule_id, scheduled_dttm);
CREATE INDEX ix_ac_report_progress_due ON ac_report_progress (next_due_on);
CREATE INDEX ix_ac_report_schedule_owners_user ON ac_report_schedule_owners (user_id);
CREATE INDEX ix_ac_report_schedules_changed ON ac_report_schedules (changed_on);
CREATE INDEX ix_ac_report_schedules_chart ON ac_report_schedules (chart_id);
CREATE INDEX ix_ac_report_schedules_dashboard ON ac_report_schedules (dashboard_id);
CREATE INDEX ix_ac_report_schedules_database ON ac_report_schedules (database_id);
CREATE INDEX ix_ac_role_grants_target ON ac_role_grants (target, target_id);
CREATE INDEX ix_ac_row_rule_datasets_dataset ON ac_row_rule_datasets (dataset_id);
CREATE INDEX ix_ac_row_rule_roles_role ON ac_row_rule_roles (role_id);
CREATE INDEX ix_ac_row_rules_type ON ac_row_rules (filter_type);
CREATE INDEX ix_ac_saved_statement_tags_tag ON ac_saved_statement_tags (tag_id);
CREATE INDEX ix_ac_saved_statements_database ON ac_saved_statements (database_id);
CREATE INDEX ix_ac_sql_queries_database ON ac_sql_queries (database_id);
CREATE INDEX ix_ac_sql_queries_end ON ac_sql_queries (end_time);
CREATE INDEX ix_ac_sql_queries_job ON ac_sql_queries (job_id);
CREATE INDEX ix_ac_user_roles_role ON ac_user_roles (role_id);
