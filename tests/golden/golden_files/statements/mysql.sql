-- ==== one metric ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` LIMIT 50001
-- parameters
-- {}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` LIMIT 50001

-- ==== raw rows ====
-- bound
SELECT `orders`.`id` AS `id`, `orders`.`city` AS `city`, CAST((`orders`.`price` * `orders`.`quantity`) AS DOUBLE) AS `revenue` FROM `orders` ORDER BY `orders`.`ordered_at` DESC, `orders`.`id` DESC, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin DESC, (`orders`.`price` * `orders`.`quantity`) DESC LIMIT 11
-- parameters
-- {}
-- display
SELECT `orders`.`id` AS `id`, `orders`.`city` AS `city`, CAST((`orders`.`price` * `orders`.`quantity`) AS DOUBLE) AS `revenue` FROM `orders` ORDER BY `orders`.`ordered_at` DESC, `orders`.`id` DESC, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin DESC, (`orders`.`price` * `orders`.`quantity`) DESC LIMIT 11

-- ==== distinct rows ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, `orders`.`is_paid` AS `is_paid` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`is_paid` ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`is_paid` IS NULL THEN 1 ELSE 0 END, `orders`.`is_paid` ASC LIMIT 100001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, `orders`.`is_paid` AS `is_paid` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`is_paid` ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`is_paid` IS NULL THEN 1 ELSE 0 END, `orders`.`is_paid` ASC LIMIT 100001

-- ==== every aggregate ====
-- bound
SELECT CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `country`, COUNT(`orders`.`city`) AS `COUNT(city)`, COUNT(DISTINCT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `COUNT_DISTINCT(city)`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, CAST(AVG(CAST(`orders`.`quantity` AS DOUBLE)) AS DOUBLE) AS `AVG(quantity)`, MIN(CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `MIN(city)`, MAX(`orders`.`ordered_at`) AS `MAX(ordered_at)`, SUM(CAST(`orders`.`is_paid` AS SIGNED)) AS `SUM(is_paid)`, MAX(CAST(`orders`.`is_paid` AS SIGNED)) AS `MAX(is_paid)`, CAST(SUM((`orders`.`price` * `orders`.`quantity`)) AS DOUBLE) AS `SUM(revenue)` FROM `orders` GROUP BY CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `country`, COUNT(`orders`.`city`) AS `COUNT(city)`, COUNT(DISTINCT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `COUNT_DISTINCT(city)`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, CAST(AVG(CAST(`orders`.`quantity` AS DOUBLE)) AS DOUBLE) AS `AVG(quantity)`, MIN(CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `MIN(city)`, MAX(`orders`.`ordered_at`) AS `MAX(ordered_at)`, SUM(CAST(`orders`.`is_paid` AS SIGNED)) AS `SUM(is_paid)`, MAX(CAST(`orders`.`is_paid` AS SIGNED)) AS `MAX(is_paid)`, CAST(SUM((`orders`.`price` * `orders`.`quantity`)) AS DOUBLE) AS `SUM(revenue)` FROM `orders` GROUP BY CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== saved and SQL metrics ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`price` * `orders`.`quantity`) AS `turnover`, (SUM(`orders`.`quantity`) / COUNT(*)) AS `per order` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`price` * `orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`price` * `orders`.`quantity`) AS `turnover`, (SUM(`orders`.`quantity`) / COUNT(*)) AS `per order` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`price` * `orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== months ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a time series ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY) AS `__timestamp`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0)}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY) AS `__timestamp`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (-WEEKDAY(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== bounds on every encoding ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s AND `orders`.`shipped_on` >= %(p2)s AND `orders`.`shipped_on` < %(p3)s AND `orders`.`epoch` >= %(p4)s AND `orders`.`epoch` < %(p5)s AND `orders`.`epoch_ms` >= %(p6)s AND `orders`.`epoch_ms` < %(p7)s AND `orders`.`day_text` >= %(p8)s AND `orders`.`day_text` < %(p9)s LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': datetime.date(2024, 6, 1), 'p3': datetime.date(2024, 7, 1), 'p4': 1717200000, 'p5': 1719792000, 'p6': 1717200000000, 'p7': 1719792000000, 'p8': '2024-06-01', 'p9': '2024-07-01'}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' AND `orders`.`shipped_on` >= DATE '2024-06-01' AND `orders`.`shipped_on` < DATE '2024-07-01' AND `orders`.`epoch` >= 1717200000 AND `orders`.`epoch` < 1719792000 AND `orders`.`epoch_ms` >= 1717200000000 AND `orders`.`epoch_ms` < 1719792000000 AND `orders`.`day_text` >= '2024-06-01' AND `orders`.`day_text` < '2024-07-01' LIMIT 50001

-- ==== comparisons ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`quantity` = %(p0)s AND `orders`.`city` <> %(p1)s COLLATE utf8mb4_nopad_bin AND `orders`.`price` > %(p2)s AND `orders`.`weight` >= %(p3)s AND `orders`.`city` < %(p4)s COLLATE utf8mb4_nopad_bin AND `orders`.`city` <= %(p5)s COLLATE utf8mb4_nopad_bin AND `orders`.`is_paid` = %(p6)s AND `orders`.`thing` = %(p7)s COLLATE utf8mb4_nopad_bin LIMIT 50001
-- parameters
-- {'p0': 5, 'p1': 'Köln', 'p2': Decimal('9.99'), 'p3': 0.5, 'p4': 'M', 'p5': 'z', 'p6': True, 'p7': 'unknown kind'}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`quantity` = 5 AND `orders`.`city` <> 'Köln' COLLATE utf8mb4_nopad_bin AND `orders`.`price` > 9.99 AND `orders`.`weight` >= 0.5 AND `orders`.`city` < 'M' COLLATE utf8mb4_nopad_bin AND `orders`.`city` <= 'z' COLLATE utf8mb4_nopad_bin AND `orders`.`is_paid` = TRUE AND `orders`.`thing` = 'unknown kind' COLLATE utf8mb4_nopad_bin LIMIT 50001

-- ==== moments ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s AND `orders`.`shipped_on` = %(p2)s AND `orders`.`epoch` <> %(p3)s AND `orders`.`ordered_at` IN (%(p4)s, %(p5)s) AND TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) = %(p6)s LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 1, 31, 10, 0), 'p1': datetime.datetime(2024, 6, 10, 6, 13, 20, 501000), 'p2': datetime.date(2024, 1, 31), 'p3': 1706659200, 'p4': datetime.datetime(2024, 1, 31, 0, 0), 'p5': datetime.datetime(2024, 2, 1, 0, 0), 'p6': datetime.datetime(2024, 1, 1, 0, 0)}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-01-31 10:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-06-10 06:13:20.501000' AND `orders`.`shipped_on` = DATE '2024-01-31' AND `orders`.`epoch` <> 1706659200 AND `orders`.`ordered_at` IN (TIMESTAMP '2024-01-31 00:00:00', TIMESTAMP '2024-02-01 00:00:00') AND TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) = TIMESTAMP '2024-01-01 00:00:00' LIMIT 50001

-- ==== membership ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`city` IS NULL OR `orders`.`city` IN (%(p0)s COLLATE utf8mb4_nopad_bin, %(p1)s)) AND NOT `orders`.`city` IS NULL AND NOT (`orders`.`city` IN (%(p2)s COLLATE utf8mb4_nopad_bin)) AND `orders`.`quantity` IN (%(p3)s, %(p4)s, %(p5)s) AND NOT (`orders`.`country` IN (%(p6)s COLLATE utf8mb4_nopad_bin)) AND NOT `orders`.`city` IS NULL LIMIT 50001
-- parameters
-- {'p0': 'Bonn', 'p1': 'Köln', 'p2': 'Rom', 'p3': 1, 'p4': 2, 'p5': 3, 'p6': 'x'}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`city` IS NULL OR `orders`.`city` IN ('Bonn' COLLATE utf8mb4_nopad_bin, 'Köln')) AND NOT `orders`.`city` IS NULL AND NOT (`orders`.`city` IN ('Rom' COLLATE utf8mb4_nopad_bin)) AND `orders`.`quantity` IN (1, 2, 3) AND NOT (`orders`.`country` IN ('x' COLLATE utf8mb4_nopad_bin)) AND NOT `orders`.`city` IS NULL LIMIT 50001

-- ==== patterns ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` LIKE %(p0)s COLLATE utf8mb4_bin AND NOT (`orders`.`city` LIKE %(p1)s COLLATE utf8mb4_bin ESCAPE '!') AND LOWER(`orders`.`city`) LIKE LOWER(%(p2)s) COLLATE utf8mb4_bin AND NOT (LOWER(CAST(`orders`.`quantity` AS CHAR CHARACTER SET utf8mb4)) LIKE LOWER(%(p3)s) COLLATE utf8mb4_bin) LIMIT 50001
-- parameters
-- {'p0': 'B%_n', 'p1': '50!%', 'p2': '%ö%', 'p3': '1%'}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` LIKE 'B%_n' COLLATE utf8mb4_bin AND NOT (`orders`.`city` LIKE '50!%' COLLATE utf8mb4_bin ESCAPE '!') AND LOWER(`orders`.`city`) LIKE LOWER('%ö%') COLLATE utf8mb4_bin AND NOT (LOWER(CAST(`orders`.`quantity` AS CHAR CHARACTER SET utf8mb4)) LIKE LOWER('1%') COLLATE utf8mb4_bin) LIMIT 50001

-- ==== null and truth ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` IS NULL AND NOT `orders`.`country` IS NULL AND `orders`.`is_paid` IS TRUE AND `orders`.`is_paid` IS FALSE AND `orders`.`quantity` <> 0 AND `orders`.`city` IS NULL LIMIT 50001
-- parameters
-- {}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` IS NULL AND NOT `orders`.`country` IS NULL AND `orders`.`is_paid` IS TRUE AND `orders`.`is_paid` IS FALSE AND `orders`.`quantity` <> 0 AND `orders`.`city` IS NULL LIMIT 50001

-- ==== awkward values ====
-- bound
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` = %(p0)s COLLATE utf8mb4_nopad_bin AND `orders`.`country` IN (%(p1)s COLLATE utf8mb4_nopad_bin, %(p2)s, %(p3)s) LIMIT 50001
-- parameters
-- {'p0': "O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}", 'p1': "a'b", 'p2': '', 'p3': 'a\nb'}
-- display
SELECT COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`city` = 'O''Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}' COLLATE utf8mb4_nopad_bin AND `orders`.`country` IN ('a''b' COLLATE utf8mb4_nopad_bin, '', 'a\nb') LIMIT 50001

-- ==== awkward labels ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `50%% "of" ``it`` [x] :p0 ?`, SUM(`orders`.`quantity`) AS `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü`, SUM(`orders`.`quantity`) AS `ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917`, SUM(`orders`.`quantity`) AS `sum`, SUM(`orders`.`quantity`) AS `SUM_4_87b63905` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `50% "of" ``it`` [x] :p0 ?`, SUM(`orders`.`quantity`) AS `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü`, SUM(`orders`.`quantity`) AS `ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917`, SUM(`orders`.`quantity`) AS `sum`, SUM(`orders`.`quantity`) AS `SUM_4_87b63905` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== fragments ====
-- bound
SELECT CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `shout`, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `size`, COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`quantity` + 1) > %(p0)s AND (`orders`.`quantity` > 1 OR `orders`.`city` = 'a%%b') GROUP BY CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (COUNT(*) > 1) ORDER BY CASE WHEN CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 3}
-- display
SELECT CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `shout`, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `size`, COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`quantity` + 1) > 3 AND (`orders`.`quantity` > 1 OR `orders`.`city` = 'a%b') GROUP BY CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (COUNT(*) > 1) ORDER BY CASE WHEN CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(UPPER(`orders`.`city`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a filter on a metric ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING SUM(`orders`.`price` * `orders`.`quantity`) > %(p0)s ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 100}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING SUM(`orders`.`price` * `orders`.`quantity`) > 100 ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a series limit ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s AND `orders`.`country` = %(p2)s COLLATE utf8mb4_nopad_bin GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 3) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` WHERE `orders`.`ordered_at` >= %(p3)s AND `orders`.`ordered_at` < %(p4)s AND `orders`.`country` = %(p5)s COLLATE utf8mb4_nopad_bin GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'DE', 'p3': datetime.datetime(2024, 6, 1, 0, 0), 'p4': datetime.datetime(2024, 7, 1, 0, 0), 'p5': 'DE'}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM `orders` JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' AND `orders`.`country` = 'DE' COLLATE utf8mb4_nopad_bin GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 3) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' AND `orders`.`country` = 'DE' COLLATE utf8mb4_nopad_bin GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a series limit by another metric ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, `orders`.`quantity` AS `quantity`, COUNT(*) AS `orders` FROM `orders` JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, `orders`.`quantity` AS `s1`, 1 AS `hit` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`quantity` ORDER BY CASE WHEN SUM(`orders`.`price` * `orders`.`quantity`) IS NULL THEN 1 ELSE 0 END, SUM(`orders`.`price` * `orders`.`quantity`) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 3) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` AND `orders`.`quantity` <=> `series_limit`.`s1` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`quantity` ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, `orders`.`quantity` AS `quantity`, COUNT(*) AS `orders` FROM `orders` JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, `orders`.`quantity` AS `s1`, 1 AS `hit` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`quantity` ORDER BY CASE WHEN SUM(`orders`.`price` * `orders`.`quantity`) IS NULL THEN 1 ELSE 0 END, SUM(`orders`.`price` * `orders`.`quantity`) ASC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 3) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` AND `orders`.`quantity` <=> `series_limit`.`s1` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin, `orders`.`quantity` ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 50001

-- ==== the rest as others ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END AS `in_others` FROM `orders` LEFT JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 2) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END ASC, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END AS `city`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END AS `in_others` FROM `orders` LEFT JOIN (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 2) AS `series_limit` ON (CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin END ASC, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== numbers and others ====
-- bound
SELECT CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END AS `quantity`, COUNT(*) AS `orders`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END AS `in_others` FROM `orders` LEFT JOIN (SELECT `orders`.`quantity` AS `s0`, 1 AS `hit` FROM `orders` GROUP BY `orders`.`quantity` ORDER BY COUNT(*) DESC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 2) AS `series_limit` ON `orders`.`quantity` <=> `series_limit`.`s0` GROUP BY CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END ASC, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END AS `quantity`, COUNT(*) AS `orders`, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END AS `in_others` FROM `orders` LEFT JOIN (SELECT `orders`.`quantity` AS `s0`, 1 AS `hit` FROM `orders` GROUP BY `orders`.`quantity` ORDER BY COUNT(*) DESC, CASE WHEN `orders`.`quantity` IS NULL THEN 1 ELSE 0 END, `orders`.`quantity` ASC LIMIT 2) AS `series_limit` ON `orders`.`quantity` <=> `series_limit`.`s0` GROUP BY CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN `orders`.`quantity` END ASC, CASE WHEN NOT `series_limit`.`hit` IS NULL THEN 0 ELSE 1 END ASC LIMIT 50001

-- ==== a page ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY COUNT(*) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 6 OFFSET 10
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY COUNT(*) DESC, CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 6 OFFSET 10

-- ==== a count of groups ====
-- bound
SELECT COUNT(*) AS `rowcount` FROM (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin LIMIT 50000) AS `rowcount_qry`
-- parameters
-- {}
-- display
SELECT COUNT(*) AS `rowcount` FROM (SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin LIMIT 50000) AS `rowcount_qry`

-- ==== row rules ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND (1 = 1 OR 2 = 2) GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND (1 = 1 OR 2 = 2) GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== row rules beside safe conditions ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, COUNT(DISTINCT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `COUNT_DISTINCT(city)` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s AND `orders`.`city` LIKE %(p2)s COLLATE utf8mb4_bin AND (`orders`.`quantity` IS NULL OR `orders`.`quantity` IN (%(p3)s, %(p4)s)) GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 0, 0), 'p1': datetime.datetime(2024, 7, 1, 0, 0), 'p2': 'B%', 'p3': 1, 'p4': 2}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders`, SUM(`orders`.`quantity`) AS `SUM(quantity)`, COUNT(DISTINCT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) AS `COUNT_DISTINCT(city)` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 00:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 00:00:00' AND `orders`.`city` LIKE 'B%' COLLATE utf8mb4_bin AND (`orders`.`quantity` IS NULL OR `orders`.`quantity` IN (1, 2)) GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== row rules and what may fail ====
-- bound
SELECT CAST((LN(`orders`.`quantity`)) AS DOUBLE) AS `growth`, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `country`, SUM(`orders`.`price` * LN(`orders`.`quantity`)) AS `entropy` FROM (SELECT `orders`.`quantity`, `orders`.`country`, `orders`.`price`, `orders`.`thing`, `orders`.`id` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > %(p0)s LIMIT 18446744073709551615) AS `orders` WHERE (LN(`orders`.`quantity`)) > %(p1)s AND `orders`.`thing` = %(p2)s COLLATE utf8mb4_nopad_bin AND (LN(`orders`.`id`) > 0) GROUP BY (LN(`orders`.`quantity`)), CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (MAX(LN(`orders`.`quantity`)) > 0) ORDER BY CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC, CASE WHEN CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 3, 'p1': 9, 'p2': 'unknown kind'}
-- display
SELECT CAST((LN(`orders`.`quantity`)) AS DOUBLE) AS `growth`, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `country`, SUM(`orders`.`price` * LN(`orders`.`quantity`)) AS `entropy` FROM (SELECT `orders`.`quantity`, `orders`.`country`, `orders`.`price`, `orders`.`thing`, `orders`.`id` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > 3 LIMIT 18446744073709551615) AS `orders` WHERE (LN(`orders`.`quantity`)) > 9 AND `orders`.`thing` = 'unknown kind' COLLATE utf8mb4_nopad_bin AND (LN(`orders`.`id`) > 0) GROUP BY (LN(`orders`.`quantity`)), CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (MAX(LN(`orders`.`quantity`)) > 0) ORDER BY CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC, CASE WHEN CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`country` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== row rules and a series limit ====
-- bound
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST((LN(`orders`.`quantity`)) AS DOUBLE) AS `growth`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM (SELECT `orders`.`ordered_at`, `orders`.`quantity` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > %(p0)s LIMIT 18446744073709551615) AS `orders` JOIN (SELECT (LN(`orders`.`quantity`)) AS `s0`, 1 AS `hit` FROM (SELECT `orders`.`quantity` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > %(p1)s LIMIT 18446744073709551615) AS `orders` GROUP BY (LN(`orders`.`quantity`)) ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC LIMIT 2) AS `series_limit` ON (LN(`orders`.`quantity`)) <=> `series_limit`.`s0` GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), (LN(`orders`.`quantity`)) ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC LIMIT 50001
-- parameters
-- {'p0': 3, 'p1': 3}
-- display
SELECT TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) AS `ordered_at`, CAST((LN(`orders`.`quantity`)) AS DOUBLE) AS `growth`, SUM(`orders`.`quantity`) AS `SUM(quantity)` FROM (SELECT `orders`.`ordered_at`, `orders`.`quantity` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > 3 LIMIT 18446744073709551615) AS `orders` JOIN (SELECT (LN(`orders`.`quantity`)) AS `s0`, 1 AS `hit` FROM (SELECT `orders`.`quantity` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND `orders`.`quantity` > 3 LIMIT 18446744073709551615) AS `orders` GROUP BY (LN(`orders`.`quantity`)) ORDER BY SUM(`orders`.`quantity`) DESC, CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC LIMIT 2) AS `series_limit` ON (LN(`orders`.`quantity`)) <=> `series_limit`.`s0` GROUP BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY), (LN(`orders`.`quantity`)) ORDER BY TIMESTAMP(DATE(`orders`.`ordered_at`) + INTERVAL (1 - DAYOFMONTH(`orders`.`ordered_at`)) DAY) ASC, CASE WHEN (LN(`orders`.`quantity`)) IS NULL THEN 1 ELSE 0 END, (LN(`orders`.`quantity`)) ASC LIMIT 50001

-- ==== row rules and SQL that fails on no row ====
-- bound
SELECT CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `size`, SUM(`orders`.`price` * `orders`.`quantity`) AS `turnover`, CAST(SUM((`orders`.`price` * `orders`.`quantity`)) AS DOUBLE) AS `SUM(revenue)` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END = %(p0)s COLLATE utf8mb4_nopad_bin AND (`orders`.`price` * `orders`.`quantity` > 100 AND `orders`.`city` <> 'x') GROUP BY CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (SUM(`orders`.`price`) > 5) ORDER BY CASE WHEN CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 'big'}
-- display
SELECT CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `size`, SUM(`orders`.`price` * `orders`.`quantity`) AS `turnover`, CAST(SUM((`orders`.`price` * `orders`.`quantity`)) AS DOUBLE) AS `SUM(revenue)` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) AND CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END = 'big' COLLATE utf8mb4_nopad_bin AND (`orders`.`price` * `orders`.`quantity` > 100 AND `orders`.`city` <> 'x') GROUP BY CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin HAVING (SUM(`orders`.`price`) > 5) ORDER BY CASE WHEN CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN `orders`.`quantity` > 5 THEN 'big' ELSE 'small' END AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== row rules and a count ====
-- bound
SELECT COUNT(*) AS `rowcount` FROM (SELECT `orders`.`id` AS `id` FROM (SELECT `orders`.`id` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) LIMIT 18446744073709551615) AS `orders` WHERE (LN(`orders`.`id`) > 0) LIMIT 50000) AS `rowcount_qry`
-- parameters
-- {}
-- display
SELECT COUNT(*) AS `rowcount` FROM (SELECT `orders`.`id` AS `id` FROM (SELECT `orders`.`id` FROM `orders` WHERE (`orders`.`country` = 'DE' OR `orders`.`city` IS NULL) AND ((`orders`.`quantity` > 1) OR (`orders`.`quantity` < 0)) LIMIT 18446744073709551615) AS `orders` WHERE (LN(`orders`.`id`) > 0) LIMIT 50000) AS `rowcount_qry`

-- ==== a virtual dataset with rules of its own ====
-- bound
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (SELECT `virtual_table`.`city`, `virtual_table`.`id` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` WHERE (`virtual_table`.`country` = 'DE' OR `virtual_table`.`city` IS NULL) AND ((`virtual_table`.`quantity` > 1) OR (`virtual_table`.`quantity` < 0)) AND `virtual_table`.`city` <> %(p0)s COLLATE utf8mb4_nopad_bin LIMIT 18446744073709551615) AS `virtual_table` WHERE (LN(`virtual_table`.`id`) > 0) GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 'x'}
-- display
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (SELECT `virtual_table`.`city`, `virtual_table`.`id` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` WHERE (`virtual_table`.`country` = 'DE' OR `virtual_table`.`city` IS NULL) AND ((`virtual_table`.`quantity` > 1) OR (`virtual_table`.`quantity` < 0)) AND `virtual_table`.`city` <> 'x' COLLATE utf8mb4_nopad_bin LIMIT 18446744073709551615) AS `virtual_table` WHERE (LN(`virtual_table`.`id`) > 0) GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== an offset dataset ====
-- bound
SELECT TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) AS `ordered_at`, COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= %(p0)s AND `orders`.`ordered_at` < %(p1)s GROUP BY TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) ORDER BY TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) ASC LIMIT 50001
-- parameters
-- {'p0': datetime.datetime(2024, 6, 1, 5, 0), 'p1': datetime.datetime(2024, 7, 1, 5, 0)}
-- display
SELECT TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) AS `ordered_at`, COUNT(*) AS `orders` FROM `orders` WHERE `orders`.`ordered_at` >= TIMESTAMP '2024-06-01 05:00:00' AND `orders`.`ordered_at` < TIMESTAMP '2024-07-01 05:00:00' GROUP BY TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) ORDER BY TIMESTAMP(DATE((`orders`.`ordered_at` + INTERVAL -5 HOUR)) + INTERVAL (1 - DAYOFMONTH((`orders`.`ordered_at` + INTERVAL -5 HOUR))) DAY) ASC LIMIT 50001

-- ==== a virtual dataset ====
-- bound
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` WHERE `virtual_table`.`city` <> %(p0)s COLLATE utf8mb4_nopad_bin GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {'p0': 'x'}
-- display
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` WHERE `virtual_table`.`city` <> 'x' COLLATE utf8mb4_nopad_bin GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a virtual dataset with a series limit ====
-- bound
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` JOIN (SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY COUNT(*) DESC, CASE WHEN CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 2) AS `series_limit` ON (CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` JOIN (SELECT CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `s0`, 1 AS `hit` FROM (WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT * FROM recent) AS `virtual_table` GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY COUNT(*) DESC, CASE WHEN CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 2) AS `series_limit` ON (CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin) <=> `series_limit`.`s0` GROUP BY CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`virtual_table`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001

-- ==== a table in a schema ====
-- bound
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `shop`.`orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
-- parameters
-- {}
-- display
SELECT CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin AS `city`, COUNT(*) AS `orders` FROM `shop`.`orders` GROUP BY CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ORDER BY CASE WHEN CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin IS NULL THEN 1 ELSE 0 END, CAST(`orders`.`city` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_nopad_bin ASC LIMIT 50001
