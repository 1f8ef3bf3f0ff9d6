-- ==== one metric ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" FETCH FIRST 50001 ROWS ONLY

-- ==== raw rows ====
-- bound
SELECT "orders"."id" AS "id", "orders"."city" AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" COLLATE BINARY DESC NULLS LAST, ("orders"."price" * "orders"."quantity") DESC NULLS LAST FETCH FIRST 11 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."id" AS "id", "orders"."city" AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" COLLATE BINARY DESC NULLS LAST, ("orders"."price" * "orders"."quantity") DESC NULLS LAST FETCH FIRST 11 ROWS ONLY

-- ==== distinct rows ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."is_paid" ORDER BY "orders"."city" COLLATE BINARY ASC, "orders"."is_paid" ASC FETCH FIRST 100001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."is_paid" ORDER BY "orders"."city" COLLATE BINARY ASC, "orders"."is_paid" ASC FETCH FIRST 100001 ROWS ONLY

-- ==== every aggregate ====
-- bound
SELECT "orders"."country" COLLATE BINARY AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(TO_BINARY_DOUBLE("orders"."quantity")) AS "AVG(quantity)", MIN("orders"."city" COLLATE BINARY) AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INT)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INT)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" COLLATE BINARY ORDER BY "orders"."country" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."country" COLLATE BINARY AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(TO_BINARY_DOUBLE("orders"."quantity")) AS "AVG(quantity)", MIN("orders"."city" COLLATE BINARY) AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INT)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INT)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" COLLATE BINARY ORDER BY "orders"."country" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== saved and SQL metrics ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."price" * "orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."price" * "orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== months ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a time series ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'IW') AS "__timestamp", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 GROUP BY TRUNC("orders"."ordered_at", 'IW'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'IW') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT TRUNC("orders"."ordered_at", 'IW') AS "__timestamp", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' GROUP BY TRUNC("orders"."ordered_at", 'IW'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'IW') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== bounds on every encoding ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 AND "orders"."shipped_on" >= :p2 AND "orders"."shipped_on" < :p3 AND "orders"."epoch" >= :p4 AND "orders"."epoch" < :p5 AND "orders"."epoch_ms" >= :p6 AND "orders"."epoch_ms" < :p7 AND "orders"."day_text" >= :p8 AND "orders"."day_text" < :p9 FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': datetime.datetime(2024, 6, 1, 0, 0), 'p3': datetime.datetime(2024, 7, 1, 0, 0), 'p4': 1717200000, 'p5': 1719792000, 'p6': 1717200000000, 'p7': 1719792000000, 'p8': '2024-06-01', 'p9': '2024-07-01'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."shipped_on" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."shipped_on" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."epoch" >= 1717200000 AND "orders"."epoch" < 1719792000 AND "orders"."epoch_ms" >= 1717200000000 AND "orders"."epoch_ms" < 1719792000000 AND "orders"."day_text" >= '2024-06-01' AND "orders"."day_text" < '2024-07-01' FETCH FIRST 50001 ROWS ONLY

-- ==== comparisons ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = :p0 AND "orders"."city" <> :p1 COLLATE BINARY AND "orders"."price" > :p2 AND "orders"."weight" >= :p3 AND "orders"."city" < :p4 COLLATE BINARY AND "orders"."city" <= :p5 COLLATE BINARY AND "orders"."is_paid" = :p6 AND "orders"."thing" = :p7 COLLATE BINARY FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 5, 'p1': 'Köln', 'p2': Decimal('9.99'), 'p3': 0.5, 'p4': 'M', 'p5': 'z', 'p6': True, 'p7': 'unknown kind'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = 5 AND "orders"."city" <> 'Köln' COLLATE BINARY AND "orders"."price" > 9.99 AND "orders"."weight" >= 0.5 AND "orders"."city" < 'M' COLLATE BINARY AND "orders"."city" <= 'z' COLLATE BINARY AND "orders"."is_paid" = 1 AND "orders"."thing" = 'unknown kind' COLLATE BINARY FETCH FIRST 50001 ROWS ONLY

-- ==== moments ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 AND "orders"."shipped_on" = :p2 AND "orders"."epoch" <> :p3 AND "orders"."ordered_at" IN (:p4, :p5) AND TRUNC("orders"."ordered_at", 'MM') = :p6 FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 1, 31, 10, 0), 'p1': datetime.datetime(2024, 6, 10, 6, 13, 20, 501000), 'p2': datetime.datetime(2024, 1, 31, 0, 0), 'p3': 1706659200, 'p4': datetime.datetime(2024, 1, 31, 0, 0), 'p5': datetime.datetime(2024, 2, 1, 0, 0), 'p6': datetime.datetime(2024, 1, 1, 0, 0)}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-01-31 10:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-06-10 06:13:20.501000' AND "orders"."shipped_on" = TIMESTAMP '2024-01-31 00:00:00' AND "orders"."epoch" <> 1706659200 AND "orders"."ordered_at" IN (TIMESTAMP '2024-01-31 00:00:00', TIMESTAMP '2024-02-01 00:00:00') AND TRUNC("orders"."ordered_at", 'MM') = TIMESTAMP '2024-01-01 00:00:00' FETCH FIRST 50001 ROWS ONLY

-- ==== membership ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR "orders"."city" IN (:p0 COLLATE BINARY, :p1)) AND NOT "orders"."city" IS NULL AND NOT ("orders"."city" IN (:p2 COLLATE BINARY)) AND "orders"."quantity" IN (:p3, :p4, :p5) AND NOT ("orders"."country" IN (:p6 COLLATE BINARY)) AND NOT "orders"."city" IS NULL FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 'Bonn', 'p1': 'Köln', 'p2': 'Rom', 'p3': 1, 'p4': 2, 'p5': 3, 'p6': 'x'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR "orders"."city" IN ('Bonn' COLLATE BINARY, 'Köln')) AND NOT "orders"."city" IS NULL AND NOT ("orders"."city" IN ('Rom' COLLATE BINARY)) AND "orders"."quantity" IN (1, 2, 3) AND NOT ("orders"."country" IN ('x' COLLATE BINARY)) AND NOT "orders"."city" IS NULL FETCH FIRST 50001 ROWS ONLY

-- ==== patterns ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" LIKE :p0 AND NOT ("orders"."city" LIKE :p1 ESCAPE '!') AND LOWER("orders"."city") LIKE LOWER(:p2) AND NOT (LOWER(TO_CHAR("orders"."quantity")) LIKE LOWER(:p3)) FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 'B%_n', 'p1': '50!%', 'p2': '%ö%', 'p3': '1%'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" LIKE 'B%_n' AND NOT ("orders"."city" LIKE '50!%' ESCAPE '!') AND LOWER("orders"."city") LIKE LOWER('%ö%') AND NOT (LOWER(TO_CHAR("orders"."quantity")) LIKE LOWER('1%')) FETCH FIRST 50001 ROWS ONLY

-- ==== null and truth ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND CAST("orders"."is_paid" AS INT) <> 0 AND CAST("orders"."is_paid" AS INT) = 0 AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND CAST("orders"."is_paid" AS INT) <> 0 AND CAST("orders"."is_paid" AS INT) = 0 AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL FETCH FIRST 50001 ROWS ONLY

-- ==== awkward values ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = :p0 COLLATE BINARY AND "orders"."country" IN (:p1 COLLATE BINARY, :p2, :p3) FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': "O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}", 'p1': "a'b", 'p2': '', 'p3': 'a\nb'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = 'O''Hara \ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}' COLLATE BINARY AND "orders"."country" IN ('a''b' COLLATE BINARY, '', 'a
b') FETCH FIRST 50001 ROWS ONLY

-- ==== awkward labels ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü_1_1a1e4168", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü_1_1a1e4168", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== fragments ====
-- bound
SELECT UPPER("orders"."city") COLLATE BINARY AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > :p0 AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city") COLLATE BINARY, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") COLLATE BINARY ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 3}
-- display
SELECT UPPER("orders"."city") COLLATE BINARY AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > 3 AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city") COLLATE BINARY, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") COLLATE BINARY ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a filter on a metric ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY HAVING SUM("orders"."price" * "orders"."quantity") > :p0 ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 100}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY HAVING SUM("orders"."price" * "orders"."quantity") > 100 ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a series limit ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 AND "orders"."country" = :p2 COLLATE BINARY GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 3 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) WHERE "orders"."ordered_at" >= :p3 AND "orders"."ordered_at" < :p4 AND "orders"."country" = :p5 COLLATE BINARY GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'DE', 'p3': datetime.datetime(2024, 6, 1, 0, 0), 'p4': datetime.datetime(2024, 7, 1, 0, 0), 'p5': 'DE'}
-- display
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."country" = 'DE' COLLATE BINARY GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 3 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."country" = 'DE' COLLATE BINARY GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a series limit by another metric ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC, "orders"."city" COLLATE BINARY ASC, "orders"."quantity" ASC FETCH FIRST 3 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) AND ("orders"."quantity" = "series_limit"."s1" OR ("orders"."quantity" IS NULL AND "series_limit"."s1" IS NULL)) GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY "orders"."city" COLLATE BINARY ASC, "orders"."quantity" ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC, "orders"."city" COLLATE BINARY ASC, "orders"."quantity" ASC FETCH FIRST 3 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) AND ("orders"."quantity" = "series_limit"."s1" OR ("orders"."quantity" IS NULL AND "series_limit"."s1" IS NULL)) GROUP BY "orders"."city" COLLATE BINARY, "orders"."quantity" ORDER BY "orders"."city" COLLATE BINARY ASC, "orders"."quantity" ASC FETCH FIRST 50001 ROWS ONLY

-- ==== the rest as others ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY SUM("orders"."quantity") DESC NULLS LAST, "orders"."city" COLLATE BINARY ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON (("orders"."city" COLLATE BINARY) = "series_limit"."s0" OR (("orders"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" COLLATE BINARY END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC FETCH FIRST 50001 ROWS ONLY

-- ==== numbers and others ====
-- bound
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC NULLS LAST, "orders"."quantity" ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON ("orders"."quantity" = "series_limit"."s0" OR ("orders"."quantity" IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC NULLS LAST, "orders"."quantity" ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON ("orders"."quantity" = "series_limit"."s0" OR ("orders"."quantity" IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a page ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "orders"."city" COLLATE BINARY ASC OFFSET 10 ROWS FETCH FIRST 6 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY COUNT(*) DESC, "orders"."city" COLLATE BINARY ASC OFFSET 10 ROWS FETCH FIRST 6 ROWS ONLY

-- ==== a count of groups ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY FETCH FIRST 50000 ROWS ONLY) "rowcount_qry"
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" COLLATE BINARY FETCH FIRST 50000 ROWS ONLY) "rowcount_qry"

-- ==== row rules ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (1 = 1 OR 2 = 2) GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (1 = 1 OR 2 = 2) GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== row rules beside safe conditions ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 AND "orders"."city" LIKE :p2 AND ("orders"."quantity" IS NULL OR "orders"."quantity" IN (:p3, :p4)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'B%', 'p3': 1, 'p4': 2}
-- display
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city" COLLATE BINARY) AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."city" LIKE 'B%' AND ("orders"."quantity" IS NULL OR "orders"."quantity" IN (1, 2)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), "orders"."city" COLLATE BINARY ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== row rules and what may fail ====
-- bound
SELECT (LN("orders"."quantity")) AS "growth", "orders"."country" COLLATE BINARY AS "country", SUM("orders"."price" * LN("orders"."quantity")) AS "entropy" FROM (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > :p0 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (LN("orders"."quantity")) > :p1 AND "orders"."thing" = :p2 COLLATE BINARY AND (LN("orders"."id") > 0) GROUP BY (LN("orders"."quantity")), "orders"."country" COLLATE BINARY HAVING (MAX(LN("orders"."quantity")) > 0) ORDER BY (LN("orders"."quantity")) ASC, "orders"."country" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 3, 'p1': 9, 'p2': 'unknown kind'}
-- display
SELECT (LN("orders"."quantity")) AS "growth", "orders"."country" COLLATE BINARY AS "country", SUM("orders"."price" * LN("orders"."quantity")) AS "entropy" FROM (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (LN("orders"."quantity")) > 9 AND "orders"."thing" = 'unknown kind' COLLATE BINARY AND (LN("orders"."id") > 0) GROUP BY (LN("orders"."quantity")), "orders"."country" COLLATE BINARY HAVING (MAX(LN("orders"."quantity")) > 0) ORDER BY (LN("orders"."quantity")) ASC, "orders"."country" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== row rules and a series limit ====
-- bound
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", (LN("orders"."quantity")) AS "growth", SUM("orders"."quantity") AS "SUM(quantity)" FROM (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > :p0 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" JOIN (SELECT (LN("orders"."quantity")) AS "s0", 1 AS "hit" FROM (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > :p1 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" GROUP BY (LN("orders"."quantity")) ORDER BY SUM("orders"."quantity") DESC NULLS LAST, (LN("orders"."quantity")) ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON ((LN("orders"."quantity")) = "series_limit"."s0" OR ((LN("orders"."quantity")) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), (LN("orders"."quantity")) ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, (LN("orders"."quantity")) ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 3, 'p1': 3}
-- display
SELECT TRUNC("orders"."ordered_at", 'MM') AS "ordered_at", (LN("orders"."quantity")) AS "growth", SUM("orders"."quantity") AS "SUM(quantity)" FROM (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" JOIN (SELECT (LN("orders"."quantity")) AS "s0", 1 AS "hit" FROM (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND "orders"."quantity" > 3 FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" GROUP BY (LN("orders"."quantity")) ORDER BY SUM("orders"."quantity") DESC NULLS LAST, (LN("orders"."quantity")) ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON ((LN("orders"."quantity")) = "series_limit"."s0" OR ((LN("orders"."quantity")) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY TRUNC("orders"."ordered_at", 'MM'), (LN("orders"."quantity")) ORDER BY TRUNC("orders"."ordered_at", 'MM') ASC, (LN("orders"."quantity")) ASC FETCH FIRST 50001 ROWS ONLY

-- ==== row rules and SQL that fails on no row ====
-- bound
SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", SUM("orders"."price" * "orders"."quantity") AS "turnover", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM (SELECT "orders"."quantity", "orders"."price", "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END = :p0 COLLATE BINARY AND ("orders"."price" * "orders"."quantity" > 100 AND "orders"."city" <> 'x') GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (SUM("orders"."price") > 5) ORDER BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 'big'}
-- display
SELECT CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY AS "size", SUM("orders"."price" * "orders"."quantity") AS "turnover", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM (SELECT "orders"."quantity", "orders"."price", "orders"."city" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END = 'big' COLLATE BINARY AND ("orders"."price" * "orders"."quantity" > 100 AND "orders"."city" <> 'x') GROUP BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY HAVING (SUM("orders"."price") > 5) ORDER BY CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== row rules and a count ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (LN("orders"."id") > 0) FETCH FIRST 50000 ROWS ONLY) "rowcount_qry"
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "orders" WHERE (LN("orders"."id") > 0) FETCH FIRST 50000 ROWS ONLY) "rowcount_qry"

-- ==== a virtual dataset with rules of its own ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "virtual_table" WHERE "virtual_table"."city" <> :p0 COLLATE BINARY AND (LN("virtual_table"."id") > 0) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 'x'}
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0)) FETCH FIRST 9223372036854775807 ROWS ONLY) "virtual_table" WHERE "virtual_table"."city" <> 'x' COLLATE BINARY AND (LN("virtual_table"."id") > 0) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== an offset dataset ====
-- bound
SELECT TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= :p0 AND "orders"."ordered_at" < :p1 GROUP BY TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') ORDER BY TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 5, 0), 'p1': datetime.datetime(2024, 7, 1, 5, 0)}
-- display
SELECT TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 05:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 05:00:00' GROUP BY TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') ORDER BY TRUNC(("orders"."ordered_at" + NUMTODSINTERVAL(-5, 'HOUR')), 'MM') ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a virtual dataset ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" WHERE "virtual_table"."city" <> :p0 COLLATE BINARY GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {'p0': 'x'}
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" WHERE "virtual_table"."city" <> 'x' COLLATE BINARY GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a virtual dataset with a series limit ====
-- bound
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" JOIN (SELECT "virtual_table"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY COUNT(*) DESC NULLS LAST, "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON (("virtual_table"."city" COLLATE BINARY) = "series_limit"."s0" OR (("virtual_table"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "virtual_table"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" JOIN (SELECT "virtual_table"."city" COLLATE BINARY AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) "virtual_table" GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY COUNT(*) DESC NULLS LAST, "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 2 ROWS ONLY) "series_limit" ON (("virtual_table"."city" COLLATE BINARY) = "series_limit"."s0" OR (("virtual_table"."city" COLLATE BINARY) IS NULL AND "series_limit"."s0" IS NULL)) GROUP BY "virtual_table"."city" COLLATE BINARY ORDER BY "virtual_table"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY

-- ==== a table in a schema ====
-- bound
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
-- parameters
-- {}
-- display
SELECT "orders"."city" COLLATE BINARY AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" COLLATE BINARY ORDER BY "orders"."city" COLLATE BINARY ASC FETCH FIRST 50001 ROWS ONLY
