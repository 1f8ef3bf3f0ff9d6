"""Functions that no user's SQL may call, engine by engine: files, network, sleep, locks, session, hidden SQL.

The second wall is the session itself (read-only, limits, grants); this list stops what it would still let through.
A name may also be a package (`utl_http`): it denies every function in it. `has_*_privilege` denies a family of names,
`!pg_typeof` takes one out of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from analytics_core._engines.name_sets import NameSet, name_set

_POSTGRES_FILES: Final = """
    pg_read_file pg_read_binary_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir pg_ls_archive_statusdir
    pg_ls_logicalmapdir pg_ls_logicalsnapdir pg_ls_replslotdir pg_stat_file pg_file_write pg_file_read pg_file_rename
    pg_file_unlink pg_file_sync pg_logdir_ls pg_current_logfile pg_hba_file_rules pg_ident_file_mappings
    lo_import lo_export lo_create lo_creat lo_open lo_unlink lo_put lo_get lo_from_bytea lo_truncate lo_truncate64
    lo_lseek lo_lseek64 lo_tell lo_tell64 lo_close loread lowrite pg_read_server_files aws_s3
"""
_POSTGRES_SESSION: Final = """
    set_config pg_sleep pg_sleep_for pg_sleep_until pg_notify pg_listening_channels nextval setval lastval currval
    pg_advisory_lock pg_advisory_lock_shared pg_advisory_unlock pg_advisory_unlock_all pg_advisory_unlock_shared
    pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_try_advisory_lock pg_try_advisory_lock_shared
    pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared pg_export_snapshot
    pg_cancel_backend pg_terminate_backend pg_reload_conf pg_rotate_logfile pg_promote pg_log_backend_memory_contexts
    pg_switch_wal pg_create_restore_point pg_backup_start pg_backup_stop pg_start_backup pg_stop_backup
    pg_wal_replay_pause pg_wal_replay_resume pg_stat_reset pg_stat_reset_shared pg_stat_reset_single_table_counters
    pg_stat_reset_single_function_counters pg_stat_reset_slru pg_stat_reset_replication_slot pg_stat_statements_reset
    pg_create_physical_replication_slot pg_create_logical_replication_slot pg_drop_replication_slot
    pg_replication_slot_advance pg_logical_slot_get_changes pg_logical_slot_peek_changes
    pg_logical_slot_get_binary_changes pg_logical_slot_peek_binary_changes pg_logical_emit_message
    pg_replication_origin_create pg_replication_origin_drop pg_replication_origin_session_setup
    pg_import_system_collations pg_prewarm autoprewarm_start_worker pg_extension_config_dump
    txid_current pg_current_xact_id currtid currtid2
    brin_summarize_new_values brin_summarize_range brin_desummarize_range gin_clean_pending_list
"""
_POSTGRES_HIDDEN_SQL: Final = """
    query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema table_to_xml
    table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema
    database_to_xml database_to_xmlschema database_to_xml_and_xmlschema xpath_table ts_stat ts_rewrite
    crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby
    dblink dblink_connect dblink_connect_u dblink_disconnect dblink_open dblink_fetch dblink_close dblink_exec
    dblink_send_query dblink_get_result dblink_get_connections dblink_is_busy dblink_cancel_query dblink_error_message
    dblink_get_notify dblink_get_pkey dblink_build_sql_insert dblink_build_sql_update dblink_build_sql_delete
    postgres_fdw_get_connections postgres_fdw_disconnect postgres_fdw_disconnect_all
    http http_get http_post http_put http_delete http_patch http_head
"""
_POSTGRES_CATALOG: Final = """
    pg_* !pg_catalog !pg_typeof !pg_column_size !pg_column_compression !pg_size_pretty !pg_size_bytes
    !pg_client_encoding !pg_char_to_encoding !pg_encoding_to_char !pg_input_is_valid !pg_wal_lsn_diff
    !pg_backend_pid !pg_my_temp_schema !pg_is_in_recovery !pg_postmaster_start_time !pg_conf_load_time
    has_*_privilege row_security_active current_setting current_query getpgusername to_regclass to_regcollation
    to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure to_regrole to_regtype regclass regcollation
    regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype obj_description
    col_description shobj_description inet_client_addr inet_client_port inet_server_addr inet_server_port txid_*
    aclexplode acldefault makeaclitem aclinsert aclremove aclcontains *_to_xml_and_xmlschema *_to_xmlschema
    binary_upgrade_* amvalidate lo_* gin_clean_* brin_* stv_* aclitem* reg*in reg*out reg*recv reg*send
    _reg* _aclitem _pg_* array_in array_recv record_in record_recv domain_in domain_recv enum_in enum_recv range_in
    range_recv multirange_in multirange_recv any*_in any*_recv format_type oidvectortypes current_schemas
    get_current_ts_config ts_parse ts_token_type *_validator *_call_handler
"""
"""Answers of the catalog: names that it looks up at run time, definitions, sizes, settings, what others may and do."""

_MYSQL: Final = """
    load_file sleep benchmark get_lock release_lock release_all_locks is_free_lock is_used_lock
    master_pos_wait master_gtid_wait source_pos_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids
    nextval setval lastval last_insert_id found_rows row_count sys_exec sys_eval sys_get sys_set
    lib_mysqludf_sys_info spider_direct_sql spider_bg_direct_sql spider_copy_tables spider_flush_table_mon_cache
    wsrep_* master_* binlog_gtid_pos gtid_* mysql performance_schema http_get http_post sys
"""
_SQLITE: Final = """
    load_extension readfile writefile edit fts3_tokenizer lsdir fsdir zipfile sqlar_compress sqlar_uncompress
    zeroblob randomblob sqlite_log
    pragma_database_list pragma_table_list pragma_table_info pragma_table_xinfo pragma_index_list pragma_index_info
    pragma_index_xinfo pragma_foreign_key_list pragma_function_list pragma_module_list pragma_pragma_list
    pragma_compile_options pragma_collation_list pragma_integrity_check pragma_quick_check pragma_foreign_key_check
    pragma_optimize pragma_user_version pragma_schema_version pragma_data_version pragma_journal_mode
    pragma_temp_store_directory pragma_wal_checkpoint pragma_cache_size pragma_page_count pragma_freelist_count
    pragma_* dbstat sqlite_* bytecode tables_used completion carray csv rtreecheck rtreenode rtreedepth optimize
    fts3tokenize fts5vocab
"""
_DUCKDB: Final = """
    read_csv read_csv_auto sniff_csv read_json read_json_auto read_json_objects read_json_objects_auto
    read_ndjson read_ndjson_auto read_ndjson_objects read_parquet parquet_scan parquet_metadata parquet_schema
    parquet_file_metadata parquet_kv_metadata parquet_bloom_probe parquet_full_metadata read_text read_blob read_xlsx
    read_avro read_duckdb st_read st_read_meta st_readosm st_readshp st_drivers arrow_scan arrow_scan_dumb pandas_scan
    python_map_function sqlite_scan sqlite_query sqlite_attach postgres_scan postgres_scan_pushdown postgres_query
    postgres_execute postgres_attach mysql_scan mysql_query mysql_execute mysql_attach mssql_scan odbc_scan odbc_query
    iceberg_scan iceberg_metadata iceberg_snapshots delta_scan ducklake_snapshots http_get http_post http_post_form
    read_gsheet read_lines open_prompt load_aws_credentials
    json_serialize_plan query query_table json_execute_serialized_sql from_substrait from_substrait_json
    get_substrait get_substrait_json
    getenv getvariable current_setting which_secret duckdb_secrets duckdb_settings duckdb_variables
    duckdb_external_file_cache duckdb_temporary_files duckdb_log_contexts duckdb_logs duckdb_logs_parsed
    pragma_database_size pragma_storage_info pragma_user_agent pragma_version pragma_platform
    nextval currval checkpoint force_checkpoint enable_logging disable_logging truncate_duckdb_logs write_log
    sleep_ms pg_sleep repeat_row add_parquet_key
    enable_profiling disable_profiling enable_profile disable_profile
    duckdb_* pragma_* pg_* !pg_typeof !pg_size_pretty !pg_catalog has_*_privilege read_* *_scan current_query
    current_query_id current_connection_id current_transaction_id txid_current obj_description col_description
    shobj_description inet_client_addr inet_client_port inet_server_addr inet_server_port
"""
_CLICKHOUSE: Final = """
    file filecluster url urlcluster remote remotesecure cluster clusterallreplicas s3 s3cluster gcs hdfs hdfscluster
    azureblobstorage azureblobstoragecluster deltalake deltalakecluster hudi hudicluster iceberg icebergs3
    icebergcluster mysql postgresql mongodb redis sqlite jdbc odbc executable input dictionary merge mergetreeindex
    view viewifpermitted loop fuzzquery ytsaurus arrowflight kafka rabbitmq nats sleep sleepeachrow joinget
    joingetornull dictget dictgetordefault dictgetornull dictgetall dictgethierarchy dicthas dictisin
    dictgetchildren dictgetdescendants dictgetstring dictgetuint64 dictgetint64 dictgetfloat64 dictgetdate
    dictgetdatetime dictgetuuid catboostevaluate modelevaluate addresstoline addresstolinewithinlines
    addresstosymbol demangle showcertificate getserverport getserversetting getmacro fqdn hostname tcpport
    serveruuid filesystemavailable filesystemcapacity filesystemunreserved currentprofiles enabledprofiles
    defaultprofiles generateserialid hascolumnintable transactionid transactionlatestsnapshot globalin notin
    globalnotin nullin notnullin globalnullin globalnotnullin inignoreset notinignoreset globalinignoreset
    globalnotinignoreset nullinignoreset notnullinignoreset globalnullinignoreset globalnotnullinignoreset
    currentuser user initialuser authenticateduser currentroles enabledroles defaultroles currentdatabase getsetting
    getsettingordefault queryid initialqueryid connectionid displayname getoskernelversion zookeepersessionuptime
    getclienthttpheader !urlhash !urlhierarchy !urlpathhierarchy dictget* sleep* file* s3* url* remote* cluster*
    hdfs* azure* iceberg* !icebergbucket !icebergtruncate
"""
_TRINO: Final = "query raw_query procedure execute sleep table_changes ai_gen ai_classify ai_extract"
_BIGQUERY: Final = "external_query appends changes external_object_transform ml ai keys obj"
_SNOWFLAKE: Final = """
    system$* *_history *_history_by_* last_query_id current_statement current_session get_ddl
    system$wait system$cancel_query system$cancel_all_queries system$abort_session system$abort_transaction
    system$send_email system$send_snowflake_notification system$get_privatelink_config system$whitelist
    system$allowlist system$authorize_privatelink system$global_account_set_parameter system$pipe_force_resume
    system$task_force_run system$user_task_cancel_ongoing_executions system$link_account_objects_by_name
    system$get_service_logs system$get_predecessor_return_value system$set_return_value system$stream_has_data
    system$enable_behavior_change_bundle system$disable_behavior_change_bundle system$start_oauth_flow
    system$finish_oauth_flow system$registry_list_images get_presigned_url build_stage_file_url build_scoped_file_url
    get_stage_location result_scan infer_schema directory task_history external_functions_history query_history
    login_history query_history_by_session query_history_by_user query_history_by_warehouse copy_history cortex
    cortex_complete ai_complete ai_classify ai_extract ai_parse_document
"""
_DATABRICKS: Final = """
    reflect try_reflect java_method read_files read_kafka read_kinesis read_pubsub read_pulsar read_statestore
    cloud_files_state http_request remote_query secret try_secret list_secrets ai_query ai_gen ai_classify ai_extract
    ai_parse_document ai_forecast ai_summarize ai_translate vector_search event_log list_files input_file_name
    from_avro_registry
"""
_MSSQL: Final = """
    openrowset openquery opendatasource openxml xp_cmdshell xp_dirtree xp_fileexist xp_subdirs xp_regread xp_regwrite
    fn_xe_file_target_read_file fn_get_audit_file fn_trace_gettable fn_trace_getinfo fn_dblog fn_dump_dblog
    fn_get_sql fn_virtualfilestats dm_os_file_exists dm_os_enumerate_filesystem ai_generate_embeddings
    predict session_context context_info object_definition has_perms_by_name fn_my_permissions fn_builtin_permissions
    serverproperty connectionproperty sessionproperty databasepropertyex dm_* fn_get_audit_* has_dbaccess
    stats_date loginproperty pwdencrypt pwdcompare
"""
_ORACLE: Final = """
    utl_http utl_file utl_tcp utl_smtp utl_mail utl_inaddr utl_url dbms_lock dbms_session dbms_scheduler dbms_job
    dbms_pipe dbms_alert dbms_sql dbms_xmlgen dbms_xmlquery dbms_xmlstore dbms_xslprocessor dbms_xmlsave dbms_java
    dbms_java_test dbms_lob dbms_advisor dbms_aq dbms_aqadm dbms_backup_restore dbms_cloud dbms_cloud_ai
    dbms_datapump dbms_file_transfer dbms_flashback dbms_ldap dbms_network_acl_admin dbms_redefinition dbms_repair
    dbms_system dbms_sys_sql dbms_utility dbms_vector dbms_streams dbms_metadata dbms_export_extension ctxsys ordsys
    dbms_* !dbms_random utl_* !utl_raw !utl_i18n !utl_match owa_* httpuritype dburitype xdburitype uritype
    urifactory bfilename sys_context userenv sleep
"""
_DRUID: Final = "extern http s3 hdfs localfiles inline azure azurestorage googlecloud table_append external"

DENIED_FUNCTIONS: Mapping[str, NameSet] = MappingProxyType(
    {
        "sqlite": name_set(_SQLITE),
        "duckdb": name_set(_DUCKDB),
        "postgresql": name_set(_POSTGRES_FILES, _POSTGRES_SESSION, _POSTGRES_HIDDEN_SQL, _POSTGRES_CATALOG),
        "redshift": name_set(
            _POSTGRES_FILES, _POSTGRES_SESSION, _POSTGRES_HIDDEN_SQL, _POSTGRES_CATALOG, "explain_model"
        ),
        "mysql": name_set(_MYSQL),
        "clickhouse": name_set(_CLICKHOUSE),
        "trino": name_set(_TRINO),
        "presto": name_set(_TRINO),
        "bigquery": name_set(_BIGQUERY),
        "snowflake": name_set(_SNOWFLAKE),
        "databricks": name_set(_DATABRICKS),
        "spark": name_set(_DATABRICKS),
        "mssql": name_set(_MSSQL),
        "oracle": name_set(_ORACLE),
        "druid": name_set(_DRUID),
    }
)
"""Engine name -> lower-case names of functions that read files, reach the network, sleep or change the session."""
