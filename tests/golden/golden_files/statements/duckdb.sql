-- ==== one metric ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" LIMIT 50001
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" LIMIT 50001

-- ==== raw rows ====
-- bound
SELECT "orders"."id" AS "id", "orders"."city" AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" DESC, ("orders"."price" * "orders"."quantity") DESC LIMIT 11
-- parameters
-- {}
-- display
SELECT "orders"."id" AS "id", "orders"."city" AS "city", ("orders"."price" * "orders"."quantity") AS "revenue" FROM "orders" ORDER BY "orders"."ordered_at" DESC, "orders"."id" DESC, "orders"."city" DESC, ("orders"."price" * "orders"."quantity") DESC LIMIT 11

-- ==== distinct rows ====
-- bound
SELECT "orders"."city" AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city", "orders"."is_paid" ORDER BY "orders"."city" ASC, "orders"."is_paid" ASC LIMIT 100001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", "orders"."is_paid" AS "is_paid" FROM "orders" GROUP BY "orders"."city", "orders"."is_paid" ORDER BY "orders"."city" ASC, "orders"."is_paid" ASC LIMIT 100001

-- ==== every aggregate ====
-- bound
SELECT "orders"."country" AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city") AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(CAST("orders"."quantity" AS DOUBLE)) AS "AVG(quantity)", MIN("orders"."city") AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INT)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INT)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" ORDER BY "orders"."country" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."country" AS "country", COUNT("orders"."city") AS "COUNT(city)", COUNT(DISTINCT "orders"."city") AS "COUNT_DISTINCT(city)", SUM("orders"."quantity") AS "SUM(quantity)", AVG(CAST("orders"."quantity" AS DOUBLE)) AS "AVG(quantity)", MIN("orders"."city") AS "MIN(city)", MAX("orders"."ordered_at") AS "MAX(ordered_at)", SUM(CAST("orders"."is_paid" AS INT)) AS "SUM(is_paid)", MAX(CAST("orders"."is_paid" AS INT)) AS "MAX(is_paid)", SUM(("orders"."price" * "orders"."quantity")) AS "SUM(revenue)" FROM "orders" GROUP BY "orders"."country" ORDER BY "orders"."country" ASC LIMIT 50001

-- ==== saved and SQL metrics ====
-- bound
SELECT "orders"."city" AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" ORDER BY SUM("orders"."price" * "orders"."quantity") DESC, "orders"."city" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", SUM("orders"."price" * "orders"."quantity") AS "turnover", (SUM("orders"."quantity") / COUNT(*)) AS "per order" FROM "orders" GROUP BY "orders"."city" ORDER BY SUM("orders"."price" * "orders"."quantity") DESC, "orders"."city" ASC LIMIT 50001

-- ==== months ====
-- bound
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001

-- ==== a time series ====
-- bound
SELECT DATE_TRUNC('week', "orders"."ordered_at") AS "__timestamp", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 GROUP BY DATE_TRUNC('week', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('week', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT DATE_TRUNC('week', "orders"."ordered_at") AS "__timestamp", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' GROUP BY DATE_TRUNC('week', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('week', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001

-- ==== bounds on every encoding ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 AND "orders"."shipped_on" >= $p2 AND "orders"."shipped_on" < $p3 AND "orders"."epoch" >= $p4 AND "orders"."epoch" < $p5 AND "orders"."epoch_ms" >= $p6 AND "orders"."epoch_ms" < $p7 AND "orders"."day_text" >= $p8 AND "orders"."day_text" < $p9 LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': datetime.date(2024, 6, 1), 'p3': datetime.date(2024, 7, 1), 'p4': 1717200000, 'p5': 1719792000, 'p6': 1717200000000, 'p7': 1719792000000, 'p8': '2024-06-01', 'p9': '2024-07-01'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."shipped_on" >= DATE '2024-06-01' AND "orders"."shipped_on" < DATE '2024-07-01' AND "orders"."epoch" >= 1717200000 AND "orders"."epoch" < 1719792000 AND "orders"."epoch_ms" >= 1717200000000 AND "orders"."epoch_ms" < 1719792000000 AND "orders"."day_text" >= '2024-06-01' AND "orders"."day_text" < '2024-07-01' LIMIT 50001

-- ==== comparisons ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = $p0 AND "orders"."city" <> $p1 AND "orders"."price" > $p2 AND "orders"."weight" >= $p3 AND "orders"."city" < $p4 AND "orders"."city" <= $p5 AND "orders"."is_paid" = $p6 AND "orders"."thing" = $p7 LIMIT 50001
-- parameters
-- {'p0': 5, 'p1': 'Köln', 'p2': Decimal('9.99'), 'p3': 0.5, 'p4': 'M', 'p5': 'z', 'p6': True, 'p7': 'unknown kind'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."quantity" = 5 AND "orders"."city" <> 'Köln' AND "orders"."price" > 9.99 AND "orders"."weight" >= 0.5 AND "orders"."city" < 'M' AND "orders"."city" <= 'z' AND "orders"."is_paid" = TRUE AND "orders"."thing" = 'unknown kind' LIMIT 50001

-- ==== moments ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 AND "orders"."shipped_on" = $p2 AND "orders"."epoch" <> $p3 AND "orders"."ordered_at" IN ($p4, $p5) AND DATE_TRUNC('month', "orders"."ordered_at") = $p6 LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 1, 31, 10, 0), 'p1': datetime.datetime(2024, 6, 10, 6, 13, 20, 501000), 'p2': datetime.date(2024, 1, 31), 'p3': 1706659200, 'p4': datetime.datetime(2024, 1, 31, 0, 0), 'p5': datetime.datetime(2024, 2, 1, 0, 0), 'p6': datetime.datetime(2024, 1, 1, 0, 0)}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-01-31 10:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-06-10 06:13:20.501000' AND "orders"."shipped_on" = DATE '2024-01-31' AND "orders"."epoch" <> 1706659200 AND "orders"."ordered_at" IN (TIMESTAMP '2024-01-31 00:00:00', TIMESTAMP '2024-02-01 00:00:00') AND DATE_TRUNC('month', "orders"."ordered_at") = TIMESTAMP '2024-01-01 00:00:00' LIMIT 50001

-- ==== membership ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR "orders"."city" IN ($p0, $p1)) AND NOT "orders"."city" IS NULL AND NOT ("orders"."city" IN ($p2)) AND "orders"."quantity" IN ($p3, $p4, $p5) AND NOT ("orders"."country" IN ($p6)) AND NOT "orders"."city" IS NULL LIMIT 50001
-- parameters
-- {'p0': 'Bonn', 'p1': 'Köln', 'p2': 'Rom', 'p3': 1, 'p4': 2, 'p5': 3, 'p6': 'x'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."city" IS NULL OR "orders"."city" IN ('Bonn', 'Köln')) AND NOT "orders"."city" IS NULL AND NOT ("orders"."city" IN ('Rom')) AND "orders"."quantity" IN (1, 2, 3) AND NOT ("orders"."country" IN ('x')) AND NOT "orders"."city" IS NULL LIMIT 50001

-- ==== patterns ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" LIKE $p0 AND NOT ("orders"."city" LIKE $p1 ESCAPE '!') AND "orders"."city" ILIKE $p2 AND NOT (CAST("orders"."quantity" AS TEXT) ILIKE $p3) LIMIT 50001
-- parameters
-- {'p0': 'B%_n', 'p1': '50!%', 'p2': '%ö%', 'p3': '1%'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" LIKE 'B%_n' AND NOT ("orders"."city" LIKE '50!%' ESCAPE '!') AND "orders"."city" ILIKE '%ö%' AND NOT (CAST("orders"."quantity" AS TEXT) ILIKE '1%') LIMIT 50001

-- ==== null and truth ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND "orders"."is_paid" IS TRUE AND "orders"."is_paid" IS FALSE AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL LIMIT 50001
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" IS NULL AND NOT "orders"."country" IS NULL AND "orders"."is_paid" IS TRUE AND "orders"."is_paid" IS FALSE AND "orders"."quantity" <> 0 AND "orders"."city" IS NULL LIMIT 50001

-- ==== awkward values ====
-- bound
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = $p0 AND "orders"."country" IN ($p1, $p2, $p3) LIMIT 50001
-- parameters
-- {'p0': "O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}", 'p1': "a'b", 'p2': '', 'p3': 'a\nb'}
-- display
SELECT COUNT(*) AS "orders" FROM "orders" WHERE "orders"."city" = 'O''Hara \ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}' AND "orders"."country" IN ('a''b', '', 'a
b') LIMIT 50001

-- ==== awkward labels ====
-- bound
SELECT "orders"."city" AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "50% ""of"" `it` [x] :p0 ?", SUM("orders"."quantity") AS "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü", SUM("orders"."quantity") AS "ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917", SUM("orders"."quantity") AS "sum", SUM("orders"."quantity") AS "SUM_4_87b63905" FROM "orders" GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001

-- ==== fragments ====
-- bound
SELECT UPPER("orders"."city") AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > $p0 AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city"), CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END ASC LIMIT 50001
-- parameters
-- {'p0': 3}
-- display
SELECT UPPER("orders"."city") AS "shout", CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END AS "size", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."quantity" + 1) > 3 AND ("orders"."quantity" > 1 OR "orders"."city" = 'a%b') GROUP BY UPPER("orders"."city"), CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END HAVING (COUNT(*) > 1) ORDER BY UPPER("orders"."city") ASC, CASE WHEN "orders"."quantity" > 5 THEN 'big' ELSE 'small' END ASC LIMIT 50001

-- ==== a filter on a metric ====
-- bound
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" HAVING SUM("orders"."price" * "orders"."quantity") > $p0 ORDER BY "orders"."city" ASC LIMIT 50001
-- parameters
-- {'p0': 100}
-- display
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" HAVING SUM("orders"."price" * "orders"."quantity") > 100 ORDER BY "orders"."city" ASC LIMIT 50001

-- ==== a series limit ====
-- bound
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" JOIN (SELECT "orders"."city" AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 AND "orders"."country" = $p2 GROUP BY "orders"."city" ORDER BY SUM("orders"."quantity") DESC, "orders"."city" ASC LIMIT 3) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" WHERE "orders"."ordered_at" >= $p3 AND "orders"."ordered_at" < $p4 AND "orders"."country" = $p5 GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'DE', 'p3': datetime.datetime(2024, 6, 1, 0, 0), 'p4': datetime.datetime(2024, 7, 1, 0, 0), 'p5': 'DE'}
-- display
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", SUM("orders"."quantity") AS "SUM(quantity)" FROM "orders" JOIN (SELECT "orders"."city" AS "s0", 1 AS "hit" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."country" = 'DE' GROUP BY "orders"."city" ORDER BY SUM("orders"."quantity") DESC, "orders"."city" ASC LIMIT 3) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 00:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."country" = 'DE' GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001

-- ==== a series limit by another metric ====
-- bound
SELECT "orders"."city" AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" JOIN (SELECT "orders"."city" AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city", "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC, "orders"."city" ASC, "orders"."quantity" ASC LIMIT 3) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" AND "orders"."quantity" IS NOT DISTINCT FROM "series_limit"."s1" GROUP BY "orders"."city", "orders"."quantity" ORDER BY "orders"."city" ASC, "orders"."quantity" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", "orders"."quantity" AS "quantity", COUNT(*) AS "orders" FROM "orders" JOIN (SELECT "orders"."city" AS "s0", "orders"."quantity" AS "s1", 1 AS "hit" FROM "orders" GROUP BY "orders"."city", "orders"."quantity" ORDER BY SUM("orders"."price" * "orders"."quantity") ASC, "orders"."city" ASC, "orders"."quantity" ASC LIMIT 3) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" AND "orders"."quantity" IS NOT DISTINCT FROM "series_limit"."s1" GROUP BY "orders"."city", "orders"."quantity" ORDER BY "orders"."city" ASC, "orders"."quantity" ASC LIMIT 50001

-- ==== the rest as others ====
-- bound
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" ORDER BY SUM("orders"."quantity") DESC, "orders"."city" ASC LIMIT 2) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END AS "city", SUM("orders"."quantity") AS "SUM(quantity)", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."city" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."city" ORDER BY SUM("orders"."quantity") DESC, "orders"."city" ASC LIMIT 2) AS "series_limit" ON "orders"."city" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."city" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== numbers and others ====
-- bound
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC, "orders"."quantity" ASC LIMIT 2) AS "series_limit" ON "orders"."quantity" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END AS "quantity", COUNT(*) AS "orders", CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END AS "in_others" FROM "orders" LEFT JOIN (SELECT "orders"."quantity" AS "s0", 1 AS "hit" FROM "orders" GROUP BY "orders"."quantity" ORDER BY COUNT(*) DESC, "orders"."quantity" ASC LIMIT 2) AS "series_limit" ON "orders"."quantity" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN NOT "series_limit"."hit" IS NULL THEN "orders"."quantity" END ASC, CASE WHEN NOT "series_limit"."hit" IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== a page ====
-- bound
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" ORDER BY COUNT(*) DESC, "orders"."city" ASC LIMIT 6 OFFSET 10
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" ORDER BY COUNT(*) DESC, "orders"."city" ASC LIMIT 6 OFFSET 10

-- ==== a count of groups ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" LIMIT 50000) AS "rowcount_qry"
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" GROUP BY "orders"."city" LIMIT 50000) AS "rowcount_qry"

-- ==== row rules ====
-- bound
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND (1 = 1 OR 2 = 2) GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND (1 = 1 OR 2 = 2) GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001

-- ==== row rules beside safe conditions ====
-- bound
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city") AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."ordered_at" AS TIMESTAMP) >= $p0 AND TRY_CAST("orders"."ordered_at" AS TIMESTAMP) < $p1 AND "orders"."city" LIKE $p2 AND ("orders"."quantity" IS NULL OR TRY_CAST("orders"."quantity" AS INT) IN ($p3, $p4)) GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'B%', 'p3': 1, 'p4': 2}
-- display
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", "orders"."city" AS "city", COUNT(*) AS "orders", SUM("orders"."quantity") AS "SUM(quantity)", COUNT(DISTINCT "orders"."city") AS "COUNT_DISTINCT(city)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."ordered_at" AS TIMESTAMP) >= TIMESTAMP '2024-06-01 00:00:00' AND TRY_CAST("orders"."ordered_at" AS TIMESTAMP) < TIMESTAMP '2024-07-01 00:00:00' AND "orders"."city" LIKE 'B%' AND ("orders"."quantity" IS NULL OR TRY_CAST("orders"."quantity" AS INT) IN (1, 2)) GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), "orders"."city" ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, "orders"."city" ASC LIMIT 50001

-- ==== row rules and what may fail ====
-- bound
SELECT (LN("orders"."quantity")) AS "growth", "orders"."country" AS "country", SUM("orders"."price" * LN("orders"."quantity")) AS "entropy" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > $p0) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" WHERE (LN("orders"."quantity")) > $p1 AND "orders"."thing" = $p2 AND (LN("orders"."id") > 0) GROUP BY (LN("orders"."quantity")), "orders"."country" HAVING (MAX(LN("orders"."quantity")) > 0) ORDER BY (LN("orders"."quantity")) ASC, "orders"."country" ASC LIMIT 50001
-- parameters
-- {'p0': 3, 'p1': 9, 'p2': 'unknown kind'}
-- display
SELECT (LN("orders"."quantity")) AS "growth", "orders"."country" AS "country", SUM("orders"."price" * LN("orders"."quantity")) AS "entropy" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."quantity", "orders"."country", "orders"."price", "orders"."thing", "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > 3) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" WHERE (LN("orders"."quantity")) > 9 AND "orders"."thing" = 'unknown kind' AND (LN("orders"."id") > 0) GROUP BY (LN("orders"."quantity")), "orders"."country" HAVING (MAX(LN("orders"."quantity")) > 0) ORDER BY (LN("orders"."quantity")) ASC, "orders"."country" ASC LIMIT 50001

-- ==== row rules and a series limit ====
-- bound
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", (LN("orders"."quantity")) AS "growth", SUM("orders"."quantity") AS "SUM(quantity)" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > $p0) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" JOIN (SELECT (LN("orders"."quantity")) AS "s0", 1 AS "hit" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > $p1) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" GROUP BY (LN("orders"."quantity")) ORDER BY SUM("orders"."quantity") DESC, (LN("orders"."quantity")) ASC LIMIT 2) AS "series_limit" ON (LN("orders"."quantity")) IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), (LN("orders"."quantity")) ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, (LN("orders"."quantity")) ASC LIMIT 50001
-- parameters
-- {'p0': 3, 'p1': 3}
-- display
SELECT DATE_TRUNC('month', "orders"."ordered_at") AS "ordered_at", (LN("orders"."quantity")) AS "growth", SUM("orders"."quantity") AS "SUM(quantity)" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."ordered_at", "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > 3) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" JOIN (SELECT (LN("orders"."quantity")) AS "s0", 1 AS "hit" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."quantity" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND TRY_CAST("orders"."quantity" AS INT) > 3) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" GROUP BY (LN("orders"."quantity")) ORDER BY SUM("orders"."quantity") DESC, (LN("orders"."quantity")) ASC LIMIT 2) AS "series_limit" ON (LN("orders"."quantity")) IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY DATE_TRUNC('month', "orders"."ordered_at"), (LN("orders"."quantity")) ORDER BY DATE_TRUNC('month', "orders"."ordered_at") ASC, (LN("orders"."quantity")) ASC LIMIT 50001

-- ==== row rules and SQL that fails on no row ====
-- bound
SELECT CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END AS "size", SUM(CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT)) AS "turnover", SUM((CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT))) AS "SUM(revenue)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END = $p0 AND (CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT) > 100 AND TRY_CAST("orders"."city" AS TEXT) <> 'x') GROUP BY CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END HAVING (SUM("orders"."price") > 5) ORDER BY CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END ASC LIMIT 50001
-- parameters
-- {'p0': 'big'}
-- display
SELECT CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END AS "size", SUM(CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT)) AS "turnover", SUM((CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT))) AS "SUM(revenue)" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0)) AND CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END = 'big' AND (CAST(TRY_CAST("orders"."price" AS DECIMAL(10, 2)) AS DECIMAL(19, 2)) * CAST(TRY_CAST("orders"."quantity" AS INT) AS BIGINT) > 100 AND TRY_CAST("orders"."city" AS TEXT) <> 'x') GROUP BY CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END HAVING (SUM("orders"."price") > 5) ORDER BY CASE WHEN TRY_CAST("orders"."quantity" AS INT) > 5 THEN 'big' ELSE 'small' END ASC LIMIT 50001

-- ==== row rules and a count ====
-- bound
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0))) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" WHERE (LN("orders"."id") > 0) LIMIT 50000) AS "rowcount_qry"
-- parameters
-- {}
-- display
SELECT COUNT(*) AS "rowcount" FROM (SELECT "orders"."id" AS "id" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "orders"."id" FROM "orders" WHERE ("orders"."country" = 'DE' OR "orders"."city" IS NULL) AND (("orders"."quantity" > 1) OR ("orders"."quantity" < 0))) SELECT * FROM "permitted_rows" OFFSET 0) AS "orders" WHERE (LN("orders"."id") > 0) LIMIT 50000) AS "rowcount_qry"

-- ==== a virtual dataset with rules of its own ====
-- bound
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0))) SELECT * FROM "permitted_rows" OFFSET 0) AS "virtual_table" WHERE "virtual_table"."city" <> $p0 AND (LN("virtual_table"."id") > 0) GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001
-- parameters
-- {'p0': 'x'}
-- display
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH "permitted_rows" AS MATERIALIZED (SELECT "virtual_table"."city", "virtual_table"."id" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE ("virtual_table"."country" = 'DE' OR "virtual_table"."city" IS NULL) AND (("virtual_table"."quantity" > 1) OR ("virtual_table"."quantity" < 0))) SELECT * FROM "permitted_rows" OFFSET 0) AS "virtual_table" WHERE "virtual_table"."city" <> 'x' AND (LN("virtual_table"."id") > 0) GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001

-- ==== an offset dataset ====
-- bound
SELECT DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= $p0 AND "orders"."ordered_at" < $p1 GROUP BY DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) ORDER BY DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 5, 0), 'p1': datetime.datetime(2024, 7, 1, 5, 0)}
-- display
SELECT DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) AS "ordered_at", COUNT(*) AS "orders" FROM "orders" WHERE "orders"."ordered_at" >= TIMESTAMP '2024-06-01 05:00:00' AND "orders"."ordered_at" < TIMESTAMP '2024-07-01 05:00:00' GROUP BY DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) ORDER BY DATE_TRUNC('month', ("orders"."ordered_at" - INTERVAL '5' HOUR)) ASC LIMIT 50001

-- ==== a virtual dataset ====
-- bound
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE "virtual_table"."city" <> $p0 GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001
-- parameters
-- {'p0': 'x'}
-- display
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" WHERE "virtual_table"."city" <> 'x' GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001

-- ==== a virtual dataset with a series limit ====
-- bound
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" JOIN (SELECT "virtual_table"."city" AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" GROUP BY "virtual_table"."city" ORDER BY COUNT(*) DESC, "virtual_table"."city" ASC LIMIT 2) AS "series_limit" ON "virtual_table"."city" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "virtual_table"."city" AS "city", COUNT(*) AS "orders" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" JOIN (SELECT "virtual_table"."city" AS "s0", 1 AS "hit" FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS "virtual_table" GROUP BY "virtual_table"."city" ORDER BY COUNT(*) DESC, "virtual_table"."city" ASC LIMIT 2) AS "series_limit" ON "virtual_table"."city" IS NOT DISTINCT FROM "series_limit"."s0" GROUP BY "virtual_table"."city" ORDER BY "virtual_table"."city" ASC LIMIT 50001

-- ==== a table in a schema ====
-- bound
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT "orders"."city" AS "city", COUNT(*) AS "orders" FROM "shop"."orders" GROUP BY "orders"."city" ORDER BY "orders"."city" ASC LIMIT 50001
