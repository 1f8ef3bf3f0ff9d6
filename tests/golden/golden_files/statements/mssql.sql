-- ==== one metric ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders]
-- parameters
-- ()
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders]

-- ==== raw rows ====
-- bound
SELECT TOP 11 [orders].[id] AS [id], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], ([orders].[price] * [orders].[quantity]) AS [revenue] FROM [orders] ORDER BY [orders].[ordered_at] DESC, [orders].[id] DESC, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 DESC, ([orders].[price] * [orders].[quantity]) DESC
-- parameters
-- ()
-- display
SELECT TOP 11 [orders].[id] AS [id], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], ([orders].[price] * [orders].[quantity]) AS [revenue] FROM [orders] ORDER BY [orders].[ordered_at] DESC, [orders].[id] DESC, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 DESC, ([orders].[price] * [orders].[quantity]) DESC

-- ==== distinct rows ====
-- bound
SELECT TOP 100001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], [orders].[is_paid] AS [is_paid] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[is_paid] ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[is_paid] IS NULL THEN 1 ELSE 0 END, [orders].[is_paid] ASC
-- parameters
-- ()
-- display
SELECT TOP 100001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], [orders].[is_paid] AS [is_paid] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[is_paid] ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[is_paid] IS NULL THEN 1 ELSE 0 END, [orders].[is_paid] ASC

-- ==== every aggregate ====
-- bound
SELECT TOP 50001 CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [country], COUNT_BIG([orders].[city]) AS [COUNT(city)], COUNT_BIG(DISTINCT CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [COUNT_DISTINCT(city)], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)], AVG(CAST([orders].[quantity] AS FLOAT)) AS [AVG(quantity)], MIN(CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [MIN(city)], MAX([orders].[ordered_at]) AS [MAX(ordered_at)], SUM(CAST([orders].[is_paid] AS BIGINT)) AS [SUM(is_paid)], MAX(CAST([orders].[is_paid] AS INTEGER)) AS [MAX(is_paid)], SUM(([orders].[price] * [orders].[quantity])) AS [SUM(revenue)] FROM [orders] GROUP BY CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [country], COUNT_BIG([orders].[city]) AS [COUNT(city)], COUNT_BIG(DISTINCT CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [COUNT_DISTINCT(city)], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)], AVG(CAST([orders].[quantity] AS FLOAT)) AS [AVG(quantity)], MIN(CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [MIN(city)], MAX([orders].[ordered_at]) AS [MAX(ordered_at)], SUM(CAST([orders].[is_paid] AS BIGINT)) AS [SUM(is_paid)], MAX(CAST([orders].[is_paid] AS INTEGER)) AS [MAX(is_paid)], SUM(([orders].[price] * [orders].[quantity])) AS [SUM(revenue)] FROM [orders] GROUP BY CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== saved and SQL metrics ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM([orders].[price] * [orders].[quantity]) AS [turnover], (SUM([orders].[quantity]) / COUNT(*)) AS [per order] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM([orders].[price] * [orders].[quantity]) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM([orders].[price] * [orders].[quantity]) AS [turnover], (SUM([orders].[quantity]) / COUNT(*)) AS [per order] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM([orders].[price] * [orders].[quantity]) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== months ====
-- bound
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- (datetime.datetime(2024, 6, 1, 0, 0), datetime.datetime(2024, 7, 1, 0, 0))
-- display
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-06-01T00:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T00:00:00' AS DATETIME2) GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a time series ====
-- bound
SELECT TOP 50001 CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2) AS [__timestamp], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? GROUP BY CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- (datetime.datetime(2024, 6, 1, 0, 0), datetime.datetime(2024, 7, 1, 0, 0))
-- display
SELECT TOP 50001 CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2) AS [__timestamp], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-06-01T00:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T00:00:00' AS DATETIME2) GROUP BY CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEADD(DAY, -(DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [orders].[ordered_at]) % 7), CAST([orders].[ordered_at] AS DATE)) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== bounds on every encoding ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? AND [orders].[shipped_on] >= ? AND [orders].[shipped_on] < ? AND [orders].[epoch] >= ? AND [orders].[epoch] < ? AND [orders].[epoch_ms] >= ? AND [orders].[epoch_ms] < ? AND [orders].[day_text] >= ? AND [orders].[day_text] < ?
-- parameters
-- (datetime.datetime(2024, 6, 1, 0, 0), datetime.datetime(2024, 7, 1, 0, 0), datetime.date(2024, 6, 1), datetime.date(2024, 7, 1), 1717200000, 1719792000, 1717200000000, 1719792000000, '2024-06-01', '2024-07-01')
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-06-01T00:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T00:00:00' AS DATETIME2) AND [orders].[shipped_on] >= CAST('2024-06-01' AS DATE) AND [orders].[shipped_on] < CAST('2024-07-01' AS DATE) AND [orders].[epoch] >= 1717200000 AND [orders].[epoch] < 1719792000 AND [orders].[epoch_ms] >= 1717200000000 AND [orders].[epoch_ms] < 1719792000000 AND [orders].[day_text] >= N'2024-06-01' AND [orders].[day_text] < N'2024-07-01'

-- ==== comparisons ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[quantity] = ? AND [orders].[city] <> ? COLLATE Latin1_General_100_BIN2 AND [orders].[price] > ? AND [orders].[weight] >= ? AND [orders].[city] < ? COLLATE Latin1_General_100_BIN2 AND [orders].[city] <= ? COLLATE Latin1_General_100_BIN2 AND [orders].[is_paid] = ? AND [orders].[thing] = ? COLLATE Latin1_General_100_BIN2
-- parameters
-- (5, 'Köln', Decimal('9.99'), 0.5, 'M', 'z', True, 'unknown kind')
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[quantity] = 5 AND [orders].[city] <> N'Köln' COLLATE Latin1_General_100_BIN2 AND [orders].[price] > 9.99 AND [orders].[weight] >= 0.5 AND [orders].[city] < N'M' COLLATE Latin1_General_100_BIN2 AND [orders].[city] <= N'z' COLLATE Latin1_General_100_BIN2 AND [orders].[is_paid] = 1 AND [orders].[thing] = N'unknown kind' COLLATE Latin1_General_100_BIN2

-- ==== moments ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? AND [orders].[shipped_on] = ? AND [orders].[epoch] <> ? AND [orders].[ordered_at] IN (?, ?) AND CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) = ?
-- parameters
-- (datetime.datetime(2024, 1, 31, 10, 0), datetime.datetime(2024, 6, 10, 6, 13, 20, 500001), datetime.date(2024, 1, 31), 1706659200, datetime.datetime(2024, 1, 31, 0, 0), datetime.datetime(2024, 2, 1, 0, 0), datetime.datetime(2024, 1, 1, 0, 0))
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-01-31T10:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-06-10T06:13:20.500001' AS DATETIME2) AND [orders].[shipped_on] = CAST('2024-01-31' AS DATE) AND [orders].[epoch] <> 1706659200 AND [orders].[ordered_at] IN (CAST('2024-01-31T00:00:00' AS DATETIME2), CAST('2024-02-01T00:00:00' AS DATETIME2)) AND CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) = CAST('2024-01-01T00:00:00' AS DATETIME2)

-- ==== membership ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[city] IS NULL OR CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (?, ?)) AND NOT [orders].[city] IS NULL AND NOT (CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (?)) AND [orders].[quantity] IN (?, ?, ?) AND NOT (CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (?)) AND NOT [orders].[city] IS NULL
-- parameters
-- ('Bonn', 'Köln', 'Rom', 1, 2, 3, 'x')
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[city] IS NULL OR CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (N'Bonn', N'Köln')) AND NOT [orders].[city] IS NULL AND NOT (CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (N'Rom')) AND [orders].[quantity] IN (1, 2, 3) AND NOT (CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (N'x')) AND NOT [orders].[city] IS NULL

-- ==== patterns ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] LIKE ? COLLATE Latin1_General_100_BIN2 ESCAPE '!' AND NOT ([orders].[city] LIKE ? COLLATE Latin1_General_100_BIN2 ESCAPE '!') AND LOWER([orders].[city]) LIKE LOWER(?) COLLATE Latin1_General_100_BIN2 ESCAPE '!' AND NOT (LOWER(CAST([orders].[quantity] AS NVARCHAR(MAX))) LIKE LOWER(?) COLLATE Latin1_General_100_BIN2 ESCAPE '!')
-- parameters
-- ('B%_n', '50!%', '%ö%', '1%')
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] LIKE N'B%_n' COLLATE Latin1_General_100_BIN2 ESCAPE '!' AND NOT ([orders].[city] LIKE N'50!%' COLLATE Latin1_General_100_BIN2 ESCAPE '!') AND LOWER([orders].[city]) LIKE LOWER(N'%ö%') COLLATE Latin1_General_100_BIN2 ESCAPE '!' AND NOT (LOWER(CAST([orders].[quantity] AS NVARCHAR(MAX))) LIKE LOWER(N'1%') COLLATE Latin1_General_100_BIN2 ESCAPE '!')

-- ==== null and truth ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] IS NULL AND NOT [orders].[country] IS NULL AND [orders].[is_paid] <> 0 AND [orders].[is_paid] = 0 AND [orders].[quantity] <> 0 AND [orders].[city] IS NULL
-- parameters
-- ()
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] IS NULL AND NOT [orders].[country] IS NULL AND [orders].[is_paid] <> 0 AND [orders].[is_paid] = 0 AND [orders].[quantity] <> 0 AND [orders].[city] IS NULL

-- ==== awkward values ====
-- bound
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] = ? COLLATE Latin1_General_100_BIN2 AND CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (?, ?, ?)
-- parameters
-- ("O'Hara \\ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}", "a'b", '', 'a\nb')
-- display
SELECT TOP 50001 COUNT(*) AS [orders] FROM [orders] WHERE [orders].[city] = N'O''Hara \ 50% ? :p0 %(p0)s $p0 -- /* {{ x }}' COLLATE Latin1_General_100_BIN2 AND CAST([orders].[country] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IN (N'a''b', N'', N'a
b')

-- ==== awkward labels ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [50% "of" `it` [x]] :p0 ?], SUM(CAST([orders].[quantity] AS BIGINT)) AS [üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü_1_1a1e4168], SUM(CAST([orders].[quantity] AS BIGINT)) AS [ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917], SUM(CAST([orders].[quantity] AS BIGINT)) AS [sum], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM_4_87b63905] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [50% "of" `it` [x]] :p0 ?], SUM(CAST([orders].[quantity] AS BIGINT)) AS [üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü_1_1a1e4168], SUM(CAST([orders].[quantity] AS BIGINT)) AS [ÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜÜ_2_ba005917], SUM(CAST([orders].[quantity] AS BIGINT)) AS [sum], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM_4_87b63905] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== fragments ====
-- bound
SELECT TOP 50001 CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [shout], CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [size], COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[quantity] + 1) > ? AND ([orders].[quantity] > 1 OR [orders].[city] = 'a%b') GROUP BY CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 HAVING (COUNT(*) > 1) ORDER BY CASE WHEN CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- (3,)
-- display
SELECT TOP 50001 CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [shout], CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [size], COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[quantity] + 1) > 3 AND ([orders].[quantity] > 1 OR [orders].[city] = 'a%b') GROUP BY CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 HAVING (COUNT(*) > 1) ORDER BY CASE WHEN CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST(UPPER([orders].[city]) AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST(CASE WHEN [orders].[quantity] > 5 THEN 'big' ELSE 'small' END AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a filter on a metric ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 HAVING SUM([orders].[price] * [orders].[quantity]) > ? ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- (100,)
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 HAVING SUM([orders].[price] * [orders].[quantity]) > 100 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a series limit ====
-- bound
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] JOIN (SELECT TOP 3 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? AND [orders].[country] = ? COLLATE Latin1_General_100_BIN2 GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM(CAST([orders].[quantity] AS BIGINT)) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? AND [orders].[country] = ? COLLATE Latin1_General_100_BIN2 GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- (datetime.datetime(2024, 6, 1, 0, 0), datetime.datetime(2024, 7, 1, 0, 0), 'DE', datetime.datetime(2024, 6, 1, 0, 0), datetime.datetime(2024, 7, 1, 0, 0), 'DE')
-- display
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)] FROM [orders] JOIN (SELECT TOP 3 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-06-01T00:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T00:00:00' AS DATETIME2) AND [orders].[country] = N'DE' COLLATE Latin1_General_100_BIN2 GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM(CAST([orders].[quantity] AS BIGINT)) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) WHERE [orders].[ordered_at] >= CAST('2024-06-01T00:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T00:00:00' AS DATETIME2) AND [orders].[country] = N'DE' COLLATE Latin1_General_100_BIN2 GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a series limit by another metric ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], [orders].[quantity] AS [quantity], COUNT(*) AS [orders] FROM [orders] JOIN (SELECT TOP 3 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], [orders].[quantity] AS [s1], 1 AS [hit] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[quantity] ORDER BY CASE WHEN SUM([orders].[price] * [orders].[quantity]) IS NULL THEN 1 ELSE 0 END, SUM([orders].[price] * [orders].[quantity]) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) AND ([orders].[quantity] = [series_limit].[s1] OR ([orders].[quantity] IS NULL AND [series_limit].[s1] IS NULL)) GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[quantity] ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], [orders].[quantity] AS [quantity], COUNT(*) AS [orders] FROM [orders] JOIN (SELECT TOP 3 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], [orders].[quantity] AS [s1], 1 AS [hit] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[quantity] ORDER BY CASE WHEN SUM([orders].[price] * [orders].[quantity]) IS NULL THEN 1 ELSE 0 END, SUM([orders].[price] * [orders].[quantity]) ASC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) AND ([orders].[quantity] = [series_limit].[s1] OR ([orders].[quantity] IS NULL AND [series_limit].[s1] IS NULL)) GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2, [orders].[quantity] ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC

-- ==== the rest as others ====
-- bound
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)], CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END AS [in_others] FROM [orders] LEFT JOIN (SELECT TOP 2 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM(CAST([orders].[quantity] AS BIGINT)) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END ASC, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) AS [ordered_at], CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END AS [city], SUM(CAST([orders].[quantity] AS BIGINT)) AS [SUM(quantity)], CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END AS [in_others] FROM [orders] LEFT JOIN (SELECT TOP 2 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY SUM(CAST([orders].[quantity] AS BIGINT)) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2), CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ORDER BY CAST(DATEFROMPARTS(YEAR([orders].[ordered_at]), MONTH([orders].[ordered_at]), 1) AS DATETIME2) ASC, CASE WHEN CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 END ASC, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ASC

-- ==== numbers and others ====
-- bound
SELECT TOP 50001 CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END AS [quantity], COUNT(*) AS [orders], CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END AS [in_others] FROM [orders] LEFT JOIN (SELECT TOP 2 [orders].[quantity] AS [s0], 1 AS [hit] FROM [orders] GROUP BY [orders].[quantity] ORDER BY COUNT(*) DESC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC) AS [series_limit] ON ([orders].[quantity] = [series_limit].[s0] OR ([orders].[quantity] IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END ASC, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END AS [quantity], COUNT(*) AS [orders], CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END AS [in_others] FROM [orders] LEFT JOIN (SELECT TOP 2 [orders].[quantity] AS [s0], 1 AS [hit] FROM [orders] GROUP BY [orders].[quantity] ORDER BY COUNT(*) DESC, CASE WHEN [orders].[quantity] IS NULL THEN 1 ELSE 0 END, [orders].[quantity] ASC) AS [series_limit] ON ([orders].[quantity] = [series_limit].[s0] OR ([orders].[quantity] IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ORDER BY CASE WHEN CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END IS NULL THEN 1 ELSE 0 END, CASE WHEN NOT [series_limit].[hit] IS NULL THEN [orders].[quantity] END ASC, CASE WHEN NOT [series_limit].[hit] IS NULL THEN 0 ELSE 1 END ASC

-- ==== a page ====
-- bound
SELECT CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY COUNT(*) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC OFFSET 10 ROWS FETCH FIRST 6 ROWS ONLY
-- parameters
-- ()
-- display
SELECT CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY COUNT(*) DESC, CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC OFFSET 10 ROWS FETCH FIRST 6 ROWS ONLY

-- ==== a count of groups ====
-- bound
SELECT COUNT_BIG(*) AS [rowcount] FROM (SELECT TOP 50000 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [rowcount_qry]
-- parameters
-- ()
-- display
SELECT COUNT_BIG(*) AS [rowcount] FROM (SELECT TOP 50000 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) AS [rowcount_qry]

-- ==== row rules ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[country] = 'DE' OR [orders].[city] IS NULL) AND (([orders].[quantity] > 1) OR ([orders].[quantity] < 0)) AND (1 = 1 OR 2 = 2) GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [orders] WHERE ([orders].[country] = 'DE' OR [orders].[city] IS NULL) AND (([orders].[quantity] > 1) OR ([orders].[quantity] < 0)) AND (1 = 1 OR 2 = 2) GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== an offset dataset ====
-- bound
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) AS [ordered_at], COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= ? AND [orders].[ordered_at] < ? GROUP BY CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) ORDER BY CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) ASC
-- parameters
-- (datetime.datetime(2024, 6, 1, 5, 0), datetime.datetime(2024, 7, 1, 5, 0))
-- display
SELECT TOP 50001 CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) AS [ordered_at], COUNT(*) AS [orders] FROM [orders] WHERE [orders].[ordered_at] >= CAST('2024-06-01T05:00:00' AS DATETIME2) AND [orders].[ordered_at] < CAST('2024-07-01T05:00:00' AS DATETIME2) GROUP BY CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) ORDER BY CAST(DATEFROMPARTS(YEAR(DATEADD(HOUR, -5, [orders].[ordered_at])), MONTH(DATEADD(HOUR, -5, [orders].[ordered_at])), 1) AS DATETIME2) ASC

-- ==== a virtual dataset ====
-- bound
WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT TOP 50001 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM (SELECT * FROM recent) AS [virtual_table] WHERE [virtual_table].[city] <> ? COLLATE Latin1_General_100_BIN2 GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ('x',)
-- display
WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT TOP 50001 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM (SELECT * FROM recent) AS [virtual_table] WHERE [virtual_table].[city] <> N'x' COLLATE Latin1_General_100_BIN2 GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a virtual dataset with a series limit ====
-- bound
WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT TOP 50001 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM (SELECT * FROM recent) AS [virtual_table] JOIN (SELECT TOP 2 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM (SELECT * FROM recent) AS [virtual_table] GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY COUNT(*) DESC, CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
WITH recent AS (SELECT * FROM orders WHERE quantity > 0) SELECT TOP 50001 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM (SELECT * FROM recent) AS [virtual_table] JOIN (SELECT TOP 2 CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [s0], 1 AS [hit] FROM (SELECT * FROM recent) AS [virtual_table] GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY COUNT(*) DESC, CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC) AS [series_limit] ON ((CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) = [series_limit].[s0] OR ((CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2) IS NULL AND [series_limit].[s0] IS NULL)) GROUP BY CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([virtual_table].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC

-- ==== a table in a schema ====
-- bound
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [shop].[orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
-- parameters
-- ()
-- display
SELECT TOP 50001 CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS [city], COUNT(*) AS [orders] FROM [shop].[orders] GROUP BY CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ORDER BY CASE WHEN CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 IS NULL THEN 1 ELSE 0 END, CAST([orders].[city] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 ASC
