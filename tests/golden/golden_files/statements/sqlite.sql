-- ==== one metric ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" LIMIT 50001
-- parameters
-- ()
-- display
SELECT COUNT(*) AS "orders" FROM "orders" LIMIT 50001

-- ==== raw rows ====
-- bound
SELECT "orders"."id" AS "id", "orders"."city" COLLATE BINARY AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" COLLATE BINARY DESC, ("orders"."price" * "orders"."quantity") DESC LIMIT 11
-- parameters
-- ()
-- display
SELECT "orders"."id" AS "id", "orders"."city" COLLATE BINARY AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" COLLATE BINARY DESC, ("orders"."price" * "orders"."quantity") DESC LIMIT 11

-- ==== distinct rows ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."is_paid" ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."is_paid" ASC NULLS LAST LIMIT 100001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."is_paid" ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."is_paid" ASC NULLS LAST LIMIT 100001

-- ==== every aggregate ====
-- bound
SELECT "orders"."country" COLLATE BINARY AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(CAST("orders"."quantity" AS REAL)) AS "AVG(quantity)", MIN("orders"."city" COLLATE BINARY) AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INTEGER)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INTEGER)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" COLLATE BINARY ORDER BY "orders"."country" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."country" COLLATE BINARY AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(CAST("orders"."quantity" AS REAL)) AS "AVG(quantity)", MIN("orders"."city" COLLATE BINARY) AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INTEGER)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INTEGER)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" COLLATE BINARY ORDER BY "orders"."country" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== saved and SQL metrics ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."price" * "orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."price" * "orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== months ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ('2024-06-01', '2024-07-01')
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== a time series ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1') AS "__timestamp", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ('2024-06-01', '2024-07-01')
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1') AS "__timestamp", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of day', '-6 days', 'weekday 1') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== bounds on every encoding ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? AND "orders"."shipped_on" >= ? AND "orders"."shipped_on" < ? AND "orders"."epoch" >= ? AND "orders"."epoch" < ? AND "orders"."epoch_ms" >= ? AND "orders"."epoch_ms" < ? AND "orders"."day_text" >= ? AND "orders"."day_text" < ? LIMIT 50001
-- parameters
-- ('2024-06-01', '2024-07-01', '2024-06-01', '2024-07-01', 1717200000, 1719792000, 1717200000000, 1719792000000, '2024-06-01', '2024-07-01')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' AND "orders"."shipped_on" >= '2024-06-01' AND "orders"."shipped_on" < '2024-07-01' AND "orders"."epoch" >= 1717200000 AND "orders"."epoch" < 1719792000 AND "orders"."epoch_ms" >= 1717200000000 AND "orders"."epoch_ms" < 1719792000000 AND "orders"."day_text" >= '2024-06-01' AND "orders"."day_text" < '2024-07-01' LIMIT 50001

-- ==== comparisons ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = ? AND "orders"."city" <> ? COLLATE BINARY AND "orders"."price" > ? AND "orders"."weight" >= ? AND "orders"."city" < ? COLLATE BINARY AND "orders"."city" <= ? COLLATE BINARY AND "orders"."is_paid" = ? AND "orders"."thing" = ? COLLATE BINARY LIMIT 50001
-- parameters
-- (5, 'Köln', 9.99, 0.5, 'M', 'z', True, 'unknown kind')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = 5 AND "orders"."city" <> 'Köln' COLLATE BINARY AND "orders"."price" > 9.99 AND "orders"."weight" >= 0.5 AND "orders"."city" < 'M' COLLATE BINARY AND "orders"."city" <= 'z' COLLATE BINARY AND "orders"."is_paid" = TRUE AND "orders"."thing" = 'unknown kind' COLLATE BINARY LIMIT 50001

-- ==== moments ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE REPLACE("orders"."ordered_at", 'T', ' ') >= ? AND REPLACE("orders"."ordered_at", 'T', ' ') < ? AND SUBSTR("orders"."shipped_on", 1, 10) = ? AND "orders"."epoch" <> ? AND REPLACE("orders"."ordered_at", 'T', ' ') || SUBSTR('0000-00-00 00:00:00.000000', LENGTH("orders"."ordered_at") + 1) IN (?, ?) AND REPLACE(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), 'T', ' ') || SUBSTR('0000-00-00 00:00:00.000000', LENGTH(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month')) + 1) = ? LIMIT 50001
-- parameters
-- ('2024-01-31 10:00:00', '2024-06-10 06:13:20.501', '2024-01-31', 1706659200, '2024-01-31 00:00:00.000000', '2024-02-01 00:00:00.000000', '2024-01-01 00:00:00.000000')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE REPLACE("orders"."ordered_at", 'T', ' ') >= '2024-01-31 10:00:00' AND REPLACE("orders"."ordered_at", 'T', ' ') < '2024-06-10 06:13:20.501' AND SUBSTR("orders"."shipped_on", 1, 10) = '2024-01-31' AND "orders"."epoch" <> 1706659200 AND REPLACE("orders"."ordered_at", 'T', ' ') || SUBSTR('0000-00-00 00:00:00.000000', LENGTH("orders"."ordered_at") + 1) IN ('2024-01-31 00:00:00.000000', '2024-02-01 00:00:00.000000') AND REPLACE(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), 'T', ' ') || SUBSTR('0000-00-00 00:00:00.000000', LENGTH(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month')) + 1) = '2024-01-01 00:00:00.000000' LIMIT 50001

-- ==== membership ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR ("orders"."city" COLLATE BINARY) IN (?, ?)) AND NOT "orders"."city" IS NULL AND NOT (("orders"."city" COLLATE BINARY) IN (?)) AND "orders"."quantity" IN (?, ?, ?) AND NOT (("orders"."country" COLLATE BINARY) IN (?)) AND NOT "orders"."city" IS NULL LIMIT 50001
-- parameters
-- ('Bonn', 'Köln', 'Rom', 1, 2, 3, 'x')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR ("orders"."city" COLLATE BINARY) IN ('Bonn', 'Köln')) AND NOT "orders"."city" IS NULL AND NOT (("orders"."city" COLLATE BINARY) IN ('Rom')) AND "orders"."quantity" IN (1, 2, 3) AND NOT (("orders"."country" COLLATE BINARY) IN ('x')) AND NOT "orders"."city" IS NULL LIMIT 50001

-- ==== patterns ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" GLOB ? AND NOT ("orders"."city" GLOB ?) AND AC_LOWER("orders"."city") LIKE ? AND NOT (CAST("orders"."quantity" AS TEXT) LIKE ?) LIMIT 50001
-- parameters
-- ('B*?n', '50%', '%ö%', '1%')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" GLOB 'B*?n' AND NOT ("orders"."city" GLOB '50%') AND AC_LOWER("orders"."city") LIKE '%ö%' AND NOT (CAST("orders"."quantity" AS TEXT) LIKE '1%') LIMIT 50001

-- ==== null and truth ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND "orders"."is_paid" IS TRUE AND "orders"."is_paid" IS FALSE AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL LIMIT 50001
-- parameters
-- ()
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND "orders"."is_paid" IS TRUE AND "orders"."is_paid" IS FALSE AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL LIMIT 50001

-- ==== awkward values ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = ? COLLATE BINARY AND ("orders"."country" COLLATE BINARY) IN (?, ?, ?) LIMIT 50001
-- parameters
-- ("O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}", "a'b", '', 'a\nb')
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = 'O''Hara \ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}' COLLATE BINARY AND ("orders"."country" COLLATE BINARY) IN ('a''b', '', 'a
b') LIMIT 50001

-- ==== awkward labels ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== fragments ====
-- bound
SELECT UPPER("orders"."city") COLLATE BINARY AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > ? AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city") COLLATE BINARY, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") COLLATE BINARY ASC NULLS LAST, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- (3,)
-- display
SELECT UPPER("orders"."city") COLLATE BINARY AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > 3 AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city") COLLATE BINARY, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") COLLATE BINARY ASC NULLS LAST, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== a filter on a metric ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY HAVING SUM("orders"."price" * "orders"."quantity") > ? ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- (100,)
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY HAVING SUM("orders"."price" * "orders"."quantity") > 100 ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== a series limit ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" CROSS JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? AND "orders"."country" = ? COLLATE BINARY GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 3) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" WHERE "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? AND "orders"."country" = ? COLLATE BINARY GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ('2024-06-01', '2024-07-01', 'DE', '2024-06-01', '2024-07-01', 'DE')
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" CROSS JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' AND "orders"."country" = 'DE' COLLATE BINARY GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 3) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" WHERE "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' AND "orders"."country" = 'DE' COLLATE BINARY GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== a series limit by another metric ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" CROSS JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC NULLS LAST, "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."quantity" ASC NULLS LAST LIMIT 3) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" AND "orders"."quantity" IS "series_limit"."s1" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."quantity" ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" CROSS JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC NULLS LAST, "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."quantity" ASC NULLS LAST LIMIT 3) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" AND "orders"."quantity" IS "series_limit"."s1" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST, "orders"."quantity" ASC NULLS LAST LIMIT 50001

-- ==== the rest as others ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END ASC NULLS LAST, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- ()
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON ("orders"."city" COLLATE BINARY) IS "series_limit"."s0" GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END ASC NULLS LAST, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== numbers and others ====
-- bound
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC, "orders"."quantity" ASC NULLS LAST LIMIT 2) AS "series_limit" ON "orders"."quantity" IS "series_limit"."s0" GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC NULLS LAST, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- ()
-- display
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC, "orders"."quantity" ASC NULLS LAST LIMIT 2) AS "series_limit" ON "orders"."quantity" IS "series_limit"."s0" GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC NULLS LAST, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== a page ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 6 OFFSET 10
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 6 OFFSET 10

-- ==== a count of groups ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY LIMIT 50000) AS "rowcount_qry"
-- parameters
-- ()
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY LIMIT 50000) AS "rowcount_qry"

-- ==== row rules ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) LIMIT -1) AS "orders" WHERE (1 = 1 OR 2 = 2) GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) LIMIT -1) AS "orders" WHERE (1 = 1 OR 2 = 2) GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== row rules beside safe conditions ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."ordered_at" >= ? AND "orders"."ordered_at" < ? AND "orders"."city" GLOB ? AND ("orders"."quantity" IS NULL OR "orders"."quantity" IN (?, ?)) GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC LIMIT 50001
-- parameters
-- ('2024-06-01', '2024-07-01', 'B*', 1, 2)
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."ordered_at" >= '2024-06-01' AND "orders"."ordered_at" < '2024-07-01' AND "orders"."city" GLOB 'B*' AND ("orders"."quantity" IS NULL OR "orders"."quantity" IN (1, 2)) GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), "orders"."city" COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, "orders"."city" COLLATE BINARY ASC LIMIT 50001

-- ==== row rules and what may fail ====
-- bound
SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", "orders"."country" COLLATE BINARY AS "country", SUM("orders"."price" * "orders"."quantity") AS "turnover" FROM (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > ? LIMIT -1) AS "orders" WHERE ("orders"."price" * "orders"."quantity") > ? AND "orders"."thing" = ? COLLATE BINARY AND (1 / "orders"."id" > 0) GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY, "orders"."country" COLLATE BINARY HAVING (MAX(1 / "orders"."quantity") > 0) ORDER BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST, "orders"."country" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- (3, 9, 'unknown kind')
-- display
SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", "orders"."country" COLLATE BINARY AS "country", SUM("orders"."price" * "orders"."quantity") AS "turnover" FROM (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 LIMIT -1) AS "orders" WHERE ("orders"."price" * "orders"."quantity") > 9 AND "orders"."thing" = 'unknown kind' COLLATE BINARY AND (1 / "orders"."id" > 0) GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY, "orders"."country" COLLATE BINARY HAVING (MAX(1 / "orders"."quantity") > 0) ORDER BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST, "orders"."country" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== row rules and a series limit ====
-- bound
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", SUM("orders"."quantity") AS "SUM(quantity)" FROM (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > ? LIMIT -1) AS "orders" CROSS JOIN (SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "s0", 1 AS "hit" FROM (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > ? LIMIT -1) AS "orders" GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON (CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY) IS "series_limit"."s0" GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- (3, 3)
-- display
SELECT DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') AS "ordered_at", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", SUM("orders"."quantity") AS "SUM(quantity)" FROM (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 LIMIT -1) AS "orders" CROSS JOIN (SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "s0", 1 AS "hit" FROM (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 LIMIT -1) AS "orders" GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON (CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY) IS "series_limit"."s0" GROUP BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month'), CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ORDER BY DATETIME(SUBSTR("orders"."ordered_at", 1, 19), 'start of month') ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== row rules and a count ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) LIMIT -1) AS "orders" WHERE (1 / "orders"."id" > 0) LIMIT 50000) AS "rowcount_qry"
-- parameters
-- ()
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) LIMIT -1) AS "orders" WHERE (1 / "orders"."id" > 0) LIMIT 50000) AS "rowcount_qry"

-- ==== a virtual dataset with rules of its own ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0)) AND "virtual_table"."city" <> ? COLLATE BINARY LIMIT -1) AS "virtual_table" WHERE (1 / "virtual_table"."id" > 0) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC LIMIT 50001
-- parameters
-- ('x',)
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0)) AND "virtual_table"."city" <> 'x' COLLATE BINARY LIMIT -1) AS "virtual_table" WHERE (1 / "virtual_table"."id" > 0) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC LIMIT 50001

-- ==== an offset dataset ====
-- bound
SELECT DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE REPLACE("orders"."ordered_at", 'T', ' ') >= ? AND REPLACE("orders"."ordered_at", 'T', ' ') < ? GROUP BY DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') ORDER BY DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') ASC LIMIT 50001
-- parameters
-- ('2024-06-01 05:00:00', '2024-07-01 05:00:00')
-- display
SELECT DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE REPLACE("orders"."ordered_at", 'T', ' ') >= '2024-06-01 05:00:00' AND REPLACE("orders"."ordered_at", 'T', ' ') < '2024-07-01 05:00:00' GROUP BY DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') ORDER BY DATETIME(DATETIME(SUBSTR("orders"."ordered_at", 1, 19), '-5 hours'), 'start of month') ASC LIMIT 50001

-- ==== a virtual dataset ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE "virtual_table"."city" <> ? COLLATE BINARY GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC LIMIT 50001
-- parameters
-- ('x',)
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE "virtual_table"."city" <> 'x' COLLATE BINARY GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC LIMIT 50001

-- ==== a virtual dataset with a series limit ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" CROSS JOIN (SELECT "virtual_table"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "virtual_table"."city" COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON ("virtual_table"."city" COLLATE BINARY) IS "series_limit"."s0" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" CROSS JOIN (SELECT "virtual_table"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "virtual_table"."city" COLLATE BINARY ASC NULLS LAST LIMIT 2) AS "series_limit" ON ("virtual_table"."city" COLLATE BINARY) IS "series_limit"."s0" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001

-- ==== a table in a schema ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
-- parameters
-- ()
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC NULLS LAST LIMIT 50001
