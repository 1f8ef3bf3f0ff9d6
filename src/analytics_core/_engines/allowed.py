"""Functions and types that fragments of people without the right to write SQL may use, engine by engine.

All of them compute their answer from their arguments, the clock or a random number: none reads the catalog, the
session, files or the network. `DENIED_FUNCTIONS` counts before these; a host adds its own by
`Settings.allowed_functions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from analytics_core._engines.name_sets import NameSet, name_set

_EVERYWHERE: Final = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil ceiling cos cosh cot degrees div exp floor greatest least
    ln log log10 log2 mod pi pow power radians round sign sin sinh sqrt square tan tanh trunc truncate width_bucket
    rand random case cast coalesce convert decode if ifnull iff iif isnull nullif nvl nvl2 try_cast try_convert
    ascii bit_length btrim char char_length character_length charindex chr concat concat_ws initcap instr lcase left
    len length locate lower lpad ltrim mid octet_length overlay position replace reverse right rpad rtrim soundex
    split_part starts_with strpos substr substring substring_index translate trim ucase unicode upper hex unhex md5
    sha sha1 sha2 sha256 sha512 to_base64 from_base64 regexp_count regexp_extract regexp_instr regexp_like
    regexp_replace regexp_substr add_months curdate current_date current_datetime current_time current_timestamp
    curtime date date_add date_diff date_format date_part date_sub date_trunc dateadd datediff datename datepart
    datetime day dayname dayofmonth dayofweek dayofyear extract from_unixtime getdate getutcdate hour last_day
    localtime localtimestamp make_date make_time make_timestamp microsecond minute month monthname months_between
    next_day now quarter second sysdate systimestamp time timestamp timestampadd timestampdiff today unix_timestamp
    utc_date utc_time utc_timestamp week weekday weekofyear year yearweek to_char to_date to_number to_timestamp
    any_value approx_count_distinct approx_distinct approx_percentile approx_quantile arbitrary array_agg avg
    bit_and bit_or bit_xor bool_and bool_or corr count count_if countif covar_pop covar_samp every group_concat
    grouping kurtosis listagg max max_by median min min_by mode percentile percentile_approx percentile_cont
    percentile_disc quantile regr_* skewness std stddev stddev_pop stddev_samp stdev string_agg sum var var_pop
    var_samp variance cume_dist dense_rank first first_value lag last last_value lead nth_value ntile percent_rank
    rank row_number json_array_length json_extract json_extract_scalar json_length json_query json_type json_valid
    json_value array binary bit bigint blob boolean character dec decimal double enum float int integer interval
    list map nchar nullable number numeric nvarchar raw real row signed smallint string struct text timestamptz
    timetz tinyint tuple unsigned varbinary varbit varchar bpchar array_length cardinality
"""
_POSTGRES: Final = """
    pg_catalog acosd asind atand atan2d cosd cotd sind tand erf erfc exp factorial gcd lcm scale min_scale
    trim_scale num_nonnulls num_nulls random_normal age clock_timestamp date_bin isfinite justify_days justify_hours
    justify_interval make_interval make_timestamptz statement_timestamp timezone transaction_timestamp date_add
    date_subtract bit_count encode format normalize quote_ident quote_literal quote_nullable regexp_match
    regexp_split_to_array sha224 sha384 similarity word_similarity strict_word_similarity unistr to_hex to_ascii
    get_bit get_byte parse_ident string_to_array levenshtein metaphone dmetaphone casefold crc32 crc32c array_append
    array_cat array_dims array_lower array_ndims array_position array_positions array_prepend array_remove
    array_replace array_to_json array_to_string array_upper trim_array json_agg json_build_array json_build_object
    json_extract_path json_extract_path_text json_object json_object_agg json_strip_nulls json_typeof row_to_json
    to_json to_jsonb json_array json_arrayagg json_objectagg json_exists json_scalar json_serialize json jsonb_agg
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_exists jsonb_exists_all jsonb_exists_any
    jsonb_extract_path jsonb_extract_path_text jsonb_object jsonb_object_agg jsonb_path_exists jsonb_path_match
    jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof jsonb_insert
    jsonb_contains abbrev broadcast family host hostmask inet_merge inet_same_family masklen netmask network isempty
    lower_inc lower_inf upper_inc upper_inf range_merge int4range int8range numrange tsrange tstzrange daterange
    range_agg range_intersect_agg plainto_tsquery phraseto_tsquery websearch_to_tsquery to_tsquery to_tsvector
    ts_rank ts_rank_cd numnode querytree area center diameter height radius gen_random_uuid pg_typeof pg_column_size
    hashtext int2 int4 int8 float4 float8 bool date time tsquery tsvector citext hstore ltree geometry geography
    inet cidr macaddr macaddr8 box point circle line lseg path polygon uuid jsonb jsonpath bytea money xml st_area
    st_asgeojson st_astext st_centroid st_contains st_distance st_dwithin st_intersects st_length st_makepoint
    st_point st_setsrid st_transform st_within st_x st_y time_bucket
"""
_REDSHIFT: Final = """
    bpcharcmp convert_timezone date_cmp date_cmp_timestamp date_part_year dexp dlog1 dlog10 func_sha1 interval_cmp
    is_valid_json is_valid_json_array json_extract_array_element_text json_parse json_serialize can_json_parse
    ratio_to_report strtol timeofday timestamp_cmp to_hex textlen trim_scale bttext_pattern_cmp charindex crc32
    nvl isnull get_array_length split_to_array subarray approximate
"""
_MYSQL: Final = """
    adddate addtime bin bin_to_uuid bit_count char_length conv convert_tz crc32 crc32c elt export_set field
    find_in_set format from_days get_format insert interval makedate maketime make_set natural_sort_key oct ord
    period_add period_diff quote sec_to_time sformat sign strcmp str_to_date subdate subtime time_format time_to_sec
    timediff to_days to_seconds weight_string uuid uuid_to_bin is_uuid isnull hour regexp_substr greatest inet_aton
    inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 json_array json_array_append
    json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed
    json_equals json_exists json_insert json_keys json_loose json_merge json_merge_patch json_merge_preserve
    json_normalize json_object json_objectagg json_overlaps json_pretty json_quote json_remove json_replace
    json_search json_set json_unquote any_value values st_area st_astext st_contains st_distance st_distance_sphere
    st_intersects st_length st_within st_x st_y point
"""
_SQLITE: Final = """
    glob like match julianday strftime time total typeof unixepoch timediff format printf quote likely unlikely
    likelihood json json_array json_array_insert json_error_position json_group_array json_group_object json_insert
    json_object json_patch json_quote json_remove json_replace json_set json_pretty jsonb jsonb_extract subtype
    octet_length string_agg unistr concat exp ltrim
"""
_DUCKDB: Final = """
    add age aggregate alias apply approx_top_k arg_max_nulls_last arg_min_nulls_last editdist3 from_json rank_dense
    reduce reservoir_quantile substring_grapheme arg_max arg_max_null arg_min arg_min_null argmax argmin array_*
    !array_resize bar base64 bin bit_count bit_position bitstring bitstring_agg century combine constant_or_null
    contains damerau_levenshtein date_trunc datesub datetrunc days_in_month decade divide element_at encode
    ends_with entropy enum_code enum_first enum_last enum_range enum_range_boundary epoch epoch_ms epoch_ns epoch_us
    equi_width_bins era even factorial favg fdiv filter flatten fmod format formatreadabledecimalsize
    formatreadablesize format_bytes from_binary from_hex fsum gamma gcd geomean geometric_mean get_bit
    greatest_common_divisor hamming hash histogram histogram_exact isfinite isinf isnan isodow isoyear jaccard
    jaro_similarity jaro_winkler_similarity json json_array json_contains json_exists json_extract_path
    json_extract_path_text json_extract_string json_group_array json_group_object json_group_structure json_keys
    json_merge_patch json_object json_pretty json_quote json_structure json_transform julian kahan_sum kurtosis_pop
    lcm left_grapheme length_grapheme levenshtein lgamma list_* !list_resize least_common_multiple mad
    make_timestamp_ms make_timestamp_ns make_timestamptz map_* mean millennium millisecond mismatches multiply
    nanosecond nextafter nfc_normalize normalized_interval ord parse_dirname parse_filename parse_formatted_bytes
    parse_path pg_typeof prefix printf product quantile_cont quantile_disc regexp_escape regexp_extract_all
    regexp_full_match regexp_matches regexp_split_to_array right_grapheme round_even roundbankers row_to_json sem
    set_bit sha256 signbit split str_split str_split_regex strftime string_split string_split_regex string_to_array
    strip_accents strlen strptime struct_* sub subtract suffix sum_no_overflow sumkahan switch time_bucket timezone
    timezone_hour timezone_minute to_base to_binary to_centuries to_days to_decades to_hex to_hours to_json
    to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_weeks to_years
    transaction_timestamp try_strptime typeof unbin union_extract union_tag union_value url_decode url_encode uuid
    gen_random_uuid weighted_avg wavg xor hugeint uhugeint ubigint uinteger usmallint utinyint union bytea json date
    timestamp_s timestamp_ms timestamp_ns current_localtime current_localtimestamp get_current_timestamp st_area
    st_asgeojson st_astext st_contains st_distance st_intersects st_point st_within st_x st_y
"""
_CLICKHOUSE: Final = """
    add* any* argmax argmin array* avg* bit* ceil* date* dec* e empty notempty ends* extract* first* floor* format*
    from* greatest group* has* hash* if* cityhash64 farmhash64 siphash64 xxhash64 intdiv intdivorzero ip* is* json*
    kurt* least* leadinframe laginframe length* like ilike notlike notilike locate lower* map* match max* min*
    modulo* moduloorzero multi* negate now* parse* position* positive* quantile* quantiles* replace* reverse* round*
    rounddown roundage roundduration simplelinearregression skew* snowflake* split* starts* stddev* string* substr*
    subtract* sum* time* to* top* transform trim* trunc* tuple* uniq* upper* url* cut* domain* path protocol
    topleveldomain var* visitparam* week* year* yesterday today fixedstring lowcardinality nullable decimal*
    datetime64 enum8 enum16 simpleaggregatefunction bar plus minus multiply divide equals notequals less greater
    lessorequals greaterorequals and or not xor in assumenotnull coalesce nullif materialize identity char* concat*
    levenshteindistance editdistance jarowinklersimilarity ngram* geodistance greatcircledistance pointinpolygon h3*
    geohash* exponentialmovingaverage deltasum boundingratio retention sequencematch sequencecount windowfunnel
    halfmd5 murmurhash* rand32 rand64 generateuuidv4 leftpad rightpad base64* crc32 monthname runningdifference
    neighbor
"""
_TRINO: Final = """
    all_match any_match approx_most_frequent array_* at_timezone bar beta_cdf bitwise_* bool_and checksum chr
    codepoint combinations concat contains cosine_similarity count_if current_timezone date_parse day_of_month
    day_of_week day_of_year dow doy e element_at ends_with features filter flatten format format_datetime
    format_number from_base from_big_endian_64 from_hex from_iso8601_date from_iso8601_timestamp
    from_iso8601_timestamp_nanos from_unixtime_nanos from_utf8 geometric_mean hamming_distance hash_counts histogram
    hmac_md5 hmac_sha1 hmac_sha256 hmac_sha512 human_readable_seconds index infinity is_finite is_infinite
    is_json_scalar is_nan json_array json_array_contains json_array_get json_exists json_format json_object
    json_parse json_size last_day_of_month levenshtein_distance line_* listagg ln map_* max_by merge millisecond
    min_by nan ngrams none_match normal_cdf normalize numeric_histogram parse_data_size parse_datetime
    parse_duration pos regexp_extract_all regexp_position regexp_split reduce rgb sequence shuffle slice split
    split_to_map split_to_multimap spooky_hash_v2_64 st_* strpos timezone_hour timezone_minute to_base
    to_big_endian_64 to_hex to_iso8601 to_milliseconds to_unixtime to_utf8 transform transform_keys transform_values
    try typeof url_decode url_encode url_extract_* uuid week_of_year wilson_interval_lower wilson_interval_upper
    with_timezone word_stem xxhash64 year_of_week yow zip zip_with set_agg murmur3 ipaddress hyperloglog tdigest
    qdigest row translate luhn_check
"""
_BIGQUERY: Final = """
    approx_quantiles approx_top_count approx_top_sum array_* bit_count bytes byte_length ceil code_points_to_bytes
    code_points_to_string contains_substr date_from_unix_date datetime_add datetime_diff datetime_sub datetime_trunc
    edit_distance ends_with farm_fingerprint format format_date format_datetime format_time format_timestamp
    from_base32 from_hex generate_array generate_date_array generate_timestamp_array generate_uuid ieee_divide int64
    float64 bool is_inf is_nan json_array json_extract_array json_extract_string_array json_keys json_object
    json_query_array json_remove json_set json_strip_nulls json_value_array lax_bool lax_float64 lax_int64 lax_string
    logical_and logical_or net normalize normalize_and_casefold offset ordinal parse_bignumeric parse_date
    parse_datetime parse_json parse_numeric parse_time parse_timestamp range range_bucket range_contains range_end
    range_overlaps range_start regexp_contains regexp_extract_all safe safe_add safe_cast safe_divide safe_multiply
    safe_negate safe_offset safe_ordinal safe_subtract split st_* struct time_add time_diff time_sub time_trunc
    timestamp_add timestamp_diff timestamp_micros timestamp_millis timestamp_seconds timestamp_sub timestamp_trunc
    to_base32 to_code_points to_hex to_json to_json_string trim unix_date unix_micros unix_millis unix_seconds
    string_agg host reg_domain public_suffix ip_from_string safe_ip_from_string ip_to_string ip_trunc ipv4_from_int64
    ipv4_to_int64 bignumeric hll_count init merge merge_partial hll_count_extract last_day
"""
_SNOWFLAKE: Final = """
    approx_top_k array_* arrays_overlap arrays_to_object as_* bitand bitand_agg bitnot bitor bitor_agg bitshiftleft
    bitshiftright bitxor bitxor_agg booland booland_agg boolnot boolor boolor_agg boolxor boolxor_agg charindex
    check_json collate conditional_change_event conditional_true_event contains convert_timezone date_from_parts
    datefromparts dayofweekiso div0 div0null editdistance endswith equal_null factorial get get_ignore_case get_path
    greatest_ignore_nulls grouping_id h3_* hash hash_agg haversine hex_decode_string hex_encode hll ilike insert
    is_* jarowinkler_similarity json_extract_path_text least_ignore_nulls like like_all like_any max_by md5_hex
    md5_number_lower64 min_by minhash minute nullifzero object_agg object_construct object_construct_keep_null
    object_delete object_insert object_keys object_pick parse_ip parse_json parse_url parse_xml previous_day
    ratio_to_report regexp regexp_substr_all rlike rtrimmed_length sha1_hex sha2_hex skew split st_* startswith
    strip_null_value strtok strtok_to_array sysdate time_from_parts time_slice timeadd timediff timestamp_from_parts
    timestamp_ltz_from_parts timestamp_ntz_from_parts timestamp_tz_from_parts timestamp_ntz timestamp_ltz
    timestamp_tz to_array to_binary to_boolean to_decimal to_double to_geography to_geometry to_json to_numeric
    to_object to_time to_timestamp_ltz to_timestamp_ntz to_timestamp_tz to_varchar to_variant to_xml
    try_hex_decode_string try_parse_json try_to_* typeof uniform unicode uuid_string variant object weekiso xmlget
    yearofweek yearofweekiso zeroifnull zipf seq1 seq2 seq4 seq8 day variance_pop variance_samp width_bucket
"""
_SPARK: Final = """
    acosh aggregate any array_* arrays_overlap arrays_zip base64 bin bit_count bit_get bround bool_and cardinality
    ceil char collect_list collect_set concat contains conv crc32 date_from_unix_date element_at elt encode endswith
    equal_null exists expm1 factorial filter find_in_set flatten forall format_number format_string from_json
    from_utc_timestamp get get_json_object getbit hash hypot isnan isnotnull json_object_keys json_tuple kurtosis
    levenshtein log1p make_dt_interval make_interval make_timestamp make_ym_interval map_* mean nanvl negative
    named_struct nullifzero parse_json parse_url pmod positive printf regexp regexp_extract_all regr_count rint
    rlike schema_of_json sec sentences sequence shiftleft shiftright shiftrightunsigned shuffle signum size slice
    some sort_array split startswith str_to_map substring_index timestamp_micros timestamp_millis timestamp_seconds
    to_csv to_json to_unix_timestamp to_utc_timestamp to_varchar transform transform_keys transform_values trunc
    try_add try_avg try_divide try_element_at try_multiply try_subtract try_sum try_to_number try_to_timestamp
    typeof unbase64 unix_date unix_micros unix_millis unix_seconds url_decode url_encode uuid xpath* xxhash64
    zeroifnull zip_with h3_* timestamp_ltz timestamp_ntz date long short byte
"""
_MSSQL: Final = """
    atn2 binary_checksum bit_count checksum checksum_agg choose compress count_big date_bucket datediff_big
    datefromparts datetime2 datetime2fromparts datetimefromparts datetimeoffset datetimeoffsetfromparts datetrunc
    decompress difference eomonth format formatmessage get_bit hashbytes isdate isjson isnumeric
    json_array json_modify json_object json_path_exists left_shift money newid nvarchar parse parsename patindex
    quotename reverse right_shift rowversion set_bit smalldatetime smalldatetimefromparts smallmoney
    str string_escape stuff switchoffset sysdatetime sysdatetimeoffset sysutcdatetime timefromparts todatetimeoffset
    try_parse uniqueidentifier varp stdevp xml
"""
_ORACLE: Final = """
    approx_count approx_median approx_rank approx_sum asciistr bin_to_num bitand chartorowid compose corr_k corr_s
    cosh current_date dbms_random value decompose dump empty_blob empty_clob from_tz greatest hextoraw json_array
    json_arrayagg json_exists json_object json_objectagg lnnvl nanvl new_time nls_initcap nls_lower nls_upper
    nlssort numtodsinterval numtoyminterval ora_hash ratio_to_report rawtohex regexp_count remainder rowidtochar
    sessiontimezone dbtimezone standard_hash stats_* substrb substrc sys_extract_utc sys_guid to_binary_double
    to_binary_float to_clob to_dsinterval to_multi_byte to_nchar to_single_byte to_timestamp_tz to_yminterval
    translate tz_offset unistr utl_match edit_distance edit_distance_similarity jaro_winkler jaro_winkler_similarity
    utl_raw cast_to_varchar2 vsize varchar2 nvarchar2 binary_double binary_float clob long
"""
_DRUID: Final = """
    approx_count_distinct_ds_hll approx_count_distinct_ds_theta approx_count_distinct_builtin approx_quantile_ds
    approx_quantile_fixed_buckets array_* bitwise_* bloom_filter_test contains_string ds_* earliest earliest_by
    grouping hll_sketch_* human_readable_binary_byte_format human_readable_decimal_byte_format
    human_readable_decimal_format icontains_string ipv4_match ipv4_parse ipv4_stringify json_keys json_object
    json_paths latest latest_by millis_to_timestamp mv_* parse_json parse_long regexp_extract safe_divide
    string_format string_to_array stddev theta_sketch_* time_ceil time_extract time_floor time_format
    time_in_interval time_parse time_shift timestamp_to_millis to_json_string try_parse_json strlen textcat strpos
"""

ALLOWED_FUNCTIONS: Mapping[str, NameSet] = MappingProxyType(
    {
        "sqlite": name_set(_EVERYWHERE, _SQLITE),
        "duckdb": name_set(_EVERYWHERE, _DUCKDB),
        "postgresql": name_set(_EVERYWHERE, _POSTGRES),
        "redshift": name_set(_EVERYWHERE, _POSTGRES, _REDSHIFT),
        "mysql": name_set(_EVERYWHERE, _MYSQL),
        "clickhouse": name_set(_EVERYWHERE, _CLICKHOUSE),
        "trino": name_set(_EVERYWHERE, _TRINO),
        "presto": name_set(_EVERYWHERE, _TRINO),
        "bigquery": name_set(_EVERYWHERE, _BIGQUERY),
        "snowflake": name_set(_EVERYWHERE, _SNOWFLAKE),
        "databricks": name_set(_EVERYWHERE, _SPARK),
        "spark": name_set(_EVERYWHERE, _SPARK),
        "mssql": name_set(_EVERYWHERE, _MSSQL),
        "oracle": name_set(_EVERYWHERE, _ORACLE),
        "druid": name_set(_EVERYWHERE, _DRUID),
    }
)
"""Engine name -> lower-case names of functions and types."""
