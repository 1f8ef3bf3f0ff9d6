"""Statements that analysts write over four small tables and a view, and the rules that hide rows of each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

TABLES: Mapping[str, str] = {
    "orders": "id INTEGER NOT NULL, customer INTEGER, region VARCHAR(20), amount INTEGER, price DECIMAL(10, 2), "
    "placed DATE, doc VARCHAR(60), owner VARCHAR(9) | "
    "(1, 1, 'north', 10, 1.50, '2024-01-05', '{\"a\": 1, \"b\": [1, 2]}', 'us'), "
    "(2, 1, 'south', 20, 2.25, '2024-01-06', '{\"a\": 2, \"b\": []}', 'us'), "
    "(3, 2, 'north', 30, NULL, '2024-02-07', '{\"a\": 3, \"b\": [3]}', NULL), "
    "(4, 2, 'east', 1000, 4.00, '2024-02-08', '{\"a\": 4, \"b\": [9]}', 'them'), "
    "(5, 3, 'west', 2000, 5.00, '2024-03-09', '{\"a\": 5, \"b\": [9]}', 'them'), "
    "(6, 4, 'north', 60, 6.75, '2024-03-10', '{\"a\": 6, \"b\": [6, 6]}', 'us'), "
    "(7, NULL, NULL, 70, 7.00, NULL, '{\"a\": 7, \"b\": [7]}', 'us'), "
    "(8, 9, 'south', NULL, 8.00, '2023-12-31', '{\"a\": 8, \"b\": [8]}', 'us'), "
    "(9, 5, 'south', 90, 9.00, '2023-01-05', '{\"a\": 9, \"b\": [9]}', 'them'), "
    "(10, 5, 'west', 20, 2.25, '2024-01-06', '{\"a\": 2, \"b\": []}', NULL)",
    "customers": "id INTEGER NOT NULL, name VARCHAR(20), region VARCHAR(20), boss INTEGER, level INTEGER | "
    "(1, 'Ann', 'north', NULL, 1), (2, 'Bob', 'south', 1, 2), (3, 'Cyd', 'west', 1, 9), (4, 'Dan', 'north', 2, 2), "
    "(5, 'Eve', 'south', 3, 1), (6, 'Fay', NULL, 4, 9)",
    "items": "order_id INTEGER, product VARCHAR(20), quantity INTEGER, seen INTEGER | "
    "(1, 'pen', 1, 1), (1, 'ink', 2, 1), (2, 'pen', 3, 1), (2, 'cap', 4, 0), (3, 'ink', 5, 1), (4, 'pen', 6, 1), "
    "(5, 'jar', 7, 0), (6, 'jar', 8, 1), (7, 'cap', 9, 0), (9, 'cap', 10, 1), (NULL, 'pen', 11, 1)",
    "Odd Name": 'id INTEGER, "a b" VARCHAR(20), visible INTEGER | '
    "(1, 'x', 1), (2, 'y', 0), (3, 'it''s', 1), (4, NULL, 0), (5, '%', 1)",
}
VIEWS: Mapping[str, str] = {"large_orders": "SELECT id, region, amount FROM {all}orders WHERE amount >= 50"}
RULES: Mapping[str, str] = {
    "orders": "owner = 'us' OR owner IS NULL",
    "customers": "level < 3",
    "items": "seen = 1",
    "Odd Name": "visible = 1",
    "large_orders": "id <> 9 AND id <> 4",
}
EVERYWHERE = (
    "SELECT * FROM orders",
    "SELECT COUNT(*) FROM orders",
    "SELECT region, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY region",
    "SELECT region, SUM(price) AS p FROM orders GROUP BY region HAVING COUNT(*) > 1",
    "SELECT DISTINCT region FROM orders",
    "SELECT COUNT(DISTINCT region) AS n, MIN(amount) AS a, MAX(amount) AS b, AVG(amount) AS c FROM orders",
    "SELECT id FROM orders WHERE amount BETWEEN 10 AND 60 AND region IN ('north', 'south')",
    "SELECT id FROM orders WHERE region NOT LIKE 'n%' OR region IS NULL",
    "SELECT id, CASE WHEN amount > 50 THEN 'large' WHEN amount IS NULL THEN 'none' ELSE 'small' END AS "
    "size FROM orders",
    "SELECT id, COALESCE(region, 'none') AS r, NULLIF(amount, 20) AS a FROM orders",
    "SELECT id FROM orders ORDER BY amount DESC, id LIMIT 3",
    "SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1",
    "SELECT region, SUM(CASE WHEN amount > 15 THEN 1 ELSE 0 END) AS n FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
    "SELECT UPPER(region) AS r, LENGTH(region) AS n, SUBSTR(region, 1, 2) AS s FROM orders",
    "SELECT id, amount * 2 + 1 AS x, amount % 7 AS m, -amount AS neg FROM orders",
    "SELECT ROUND(AVG(amount * 1.0), 2) AS a FROM orders",
    # joins
    "SELECT o.id, c.name FROM orders AS o JOIN customers AS c ON c.id = o.customer",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer",
    "SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON c.id = o.customer",
    "SELECT c.name FROM customers c LEFT JOIN orders o ON c.id = o.customer WHERE o.id IS NULL",
    "SELECT o.id, c.id FROM orders o, customers c WHERE o.region = c.region",
    "SELECT COUNT(*) FROM orders CROSS JOIN items",
    "SELECT a.id, b.id FROM orders a JOIN orders b ON a.region = b.region AND a.id < b.id",
    "SELECT c.name, b.name AS boss FROM customers c LEFT JOIN customers b ON b.id = c.boss",
    "SELECT id, region, name, amount FROM customers JOIN orders USING (id, region)",
    "SELECT o.id, c.name, i.product FROM orders o LEFT JOIN customers c ON c.id = o.customer "
    "LEFT JOIN items i ON i.order_id = o.id AND i.quantity > 1",
    "SELECT o.id FROM (orders o JOIN items i ON i.order_id = o.id) JOIN customers c ON c.id = o.customer",
    "SELECT o.region, SUM(i.quantity) AS q FROM orders o INNER JOIN items i ON i.order_id = o.id GROUP BY o.region",
    "SELECT COUNT(*) FROM customers NATURAL JOIN (SELECT id, amount FROM orders) AS o",
    "SELECT orders.id, orders.region FROM orders JOIN items ON items.order_id = orders.id WHERE items.product = 'pen'",
    "SELECT orders.*, customers.name FROM orders JOIN customers ON customers.id = orders.customer",
    # sub-queries
    "SELECT id FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)",
    "SELECT id FROM orders o WHERE amount = (SELECT MAX(amount) FROM orders x WHERE x.region = o.region)",
    "SELECT name FROM customers WHERE id IN (SELECT customer FROM orders WHERE amount > 15)",
    "SELECT name FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)",
    "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)",
    "SELECT name FROM customers c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer = c.id)",
    "SELECT name, (SELECT COUNT(*) FROM orders o WHERE o.customer = c.id) AS n FROM customers c",
    "SELECT name, (SELECT SUM(i.quantity) FROM items i WHERE i.order_id IN "
    "(SELECT o.id FROM orders o WHERE o.customer = c.id)) AS n FROM customers c",
    "SELECT q.region, q.n FROM (SELECT region, COUNT(*) AS n FROM orders GROUP BY region) AS q WHERE q.n > 1",
    "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM (SELECT DISTINCT customer, region FROM orders) AS d "
    "GROUP BY region) q",
    "SELECT id FROM orders WHERE (region, customer) IN (SELECT region, id FROM customers)",
    "SELECT id FROM orders GROUP BY id HAVING SUM(amount) > (SELECT MIN(quantity) FROM items)",
    "SELECT id, (SELECT COUNT(*) FROM items) AS n FROM orders ORDER BY (SELECT COUNT(*) FROM items), id LIMIT 2",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM items WHERE product = 'jar') THEN 'y' ELSE 'n' END AS found",
    "SELECT o.id FROM orders o JOIN customers c ON c.id = (SELECT MAX(x.id) FROM customers x WHERE x.id <= o.customer)",
    # set operations
    "SELECT region FROM orders UNION SELECT region FROM customers",
    "SELECT region FROM orders UNION ALL SELECT region FROM customers",
    "SELECT region FROM orders INTERSECT SELECT region FROM customers",
    "SELECT region FROM orders EXCEPT SELECT region FROM customers",
    "SELECT id FROM orders WHERE id < 3 UNION ALL SELECT id FROM customers UNION SELECT order_id FROM items",
    "SELECT region FROM orders UNION SELECT name FROM customers ORDER BY 1 LIMIT 4",
    "SELECT * FROM (SELECT id FROM orders UNION ALL SELECT order_id FROM items) AS u WHERE id > 2",
    # CTEs
    "WITH q AS (SELECT region, SUM(amount) AS t FROM orders GROUP BY region) SELECT * FROM q WHERE t > 20",
    "WITH a AS (SELECT * FROM orders), b AS (SELECT a.id, i.product FROM a JOIN items i ON i.order_id = a.id) "
    "SELECT product, COUNT(*) AS n FROM b GROUP BY product",
    "WITH customers AS (SELECT id, region FROM orders) SELECT COUNT(*) FROM customers",
    "WITH q(x, y) AS (SELECT id, amount FROM orders) SELECT x FROM q WHERE y > 15",
    "SELECT * FROM (WITH orders AS (SELECT 1 AS id) SELECT id FROM orders) AS q CROSS JOIN (SELECT id AS "
    "o FROM orders) p",
    "WITH a AS (SELECT 1 AS id UNION SELECT id FROM orders), b AS (SELECT id FROM a) SELECT COUNT(*) FROM b, a",
    "WITH q AS (SELECT id FROM orders) SELECT id FROM customers WHERE id IN (SELECT id FROM q)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
    "WITH RECURSIVE tree AS (SELECT id, name, 0 AS depth FROM customers WHERE boss IS NULL UNION ALL "
    "SELECT c.id, c.name, t.depth + 1 FROM customers c JOIN tree t ON c.boss = t.id) SELECT * FROM tree",
    "WITH RECURSIVE up AS (SELECT boss FROM customers WHERE id = 4 UNION SELECT c.boss FROM customers c, up "
    "WHERE c.id = up.boss) SELECT * FROM up",
    # windows
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM orders",
    "SELECT id, RANK() OVER (PARTITION BY region ORDER BY amount DESC) AS r, "
    "DENSE_RANK() OVER (ORDER BY region) AS d FROM orders",
    "SELECT id, LAG(amount) OVER (ORDER BY id) AS a, LEAD(amount, 2) OVER (ORDER BY id) AS b FROM orders",
    "SELECT id, SUM(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM orders",
    "SELECT id, SUM(amount) OVER (PARTITION BY region) AS s, COUNT(*) OVER () AS n FROM orders",
    "SELECT id, FIRST_VALUE(id) OVER w AS f, NTILE(2) OVER w AS t FROM orders WINDOW w AS (ORDER BY id)",
    "SELECT * FROM (SELECT id, region, ROW_NUMBER() OVER (PARTITION BY region ORDER BY id) AS n FROM "
    "orders) q WHERE n = 1",
    "SELECT region, SUM(SUM(amount)) OVER (ORDER BY region) AS s FROM orders WHERE region IS NOT NULL GROUP BY region",
    "SELECT region, amount * 100.0 / SUM(amount) OVER () AS share FROM orders WHERE amount IS NOT NULL",
    # names, views, values
    'SELECT "a b" FROM "Odd Name"',
    'SELECT "Odd Name"."a b", o.id FROM "Odd Name" JOIN orders AS o ON o.id = "Odd Name".id',
    'SELECT x."a b" AS "c d" FROM "Odd Name" x WHERE x."a b" = \'it\'\'s\'',
    "SELECT * FROM large_orders",
    "SELECT v.id, o.amount FROM large_orders v JOIN orders o ON o.id = v.id",
    "SELECT 'FROM customers; -- no comment' AS text, id FROM orders",
    "SELECT id /* FROM customers */ FROM orders -- WHERE 1 = 0",
    "SELECT 1",
    "SELECT 1 AS a UNION ALL SELECT 2",
    "SELECT o.id AS customers FROM orders AS o ORDER BY customers",
    "SELECT customers.id FROM orders AS customers",
    "SELECT orders.id FROM customers AS orders JOIN orders AS customers ON customers.customer = orders.id",
    "SELECT id FROM orders WHERE 1 = 1 OR id = 4",
    "SELECT id FROM {schema}.orders",
    "WITH orders AS (SELECT 1 AS id) SELECT id FROM {schema}.orders",
    "SELECT {schema}.orders.id FROM {schema}.orders WHERE {schema}.orders.amount > 15",
)
EACH: Mapping[str, tuple[str, ...]] = {
    "sqlite": (
        "SELECT strftime('%Y-%m', placed) AS m, SUM(amount) FROM orders GROUP BY 1",
        "SELECT date(placed, '+1 month', 'start of month') FROM orders",
        "SELECT julianday('2024-01-01') - julianday(placed) FROM orders",
        "SELECT orders.id, j.value FROM orders, json_each(orders.doc, '$.b') AS j",
        "SELECT json_extract(doc, '$.a'), doc ->> '$.a' FROM orders",
        "SELECT region, group_concat(id, '|') FROM (SELECT id, region FROM orders ORDER BY id) GROUP BY region",
        "SELECT json_group_array(id) FROM (SELECT id FROM orders ORDER BY id)",
        "SELECT total(amount), sum(amount) FILTER (WHERE region = 'north') FROM orders",
        "SELECT id FROM orders WHERE region GLOB 'n*' OR region IS 'south'",
        "SELECT typeof(amount), iif(amount > 15, 'a', 'b'), printf('%05d', id) FROM orders",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b'))",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT [a b] FROM [Odd Name]",
        "SELECT `a b` FROM `Odd Name`",
        "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON c.id = o.customer",
        "SELECT max(id, amount), id || region FROM orders",
        "SELECT ORDERS.ID FROM Orders",
        "SELECT id FROM 'orders'",
        "SELECT id FROM orders NOT INDEXED WHERE id > 2",
        "SELECT region, id, max(amount) FROM orders GROUP BY region",
    ),
    "duckdb": (
        "SELECT date_trunc('month', placed) AS m, SUM(amount) FROM orders GROUP BY ALL",
        "SELECT strftime(placed, '%Y-%m'), year(placed), placed + INTERVAL 1 DAY FROM orders",
        "SELECT id, unnest([1, 2]) AS u FROM orders",
        "SELECT id, u FROM orders, unnest([amount, id]) AS t(u)",
        "SELECT list(id ORDER BY id) FROM orders",
        "SELECT [x * 2 for x in [1, 2, 3] if x > 1] AS l, {'a': 1, 'b': 'x'} AS s",
        "SELECT * EXCLUDE (doc, price) FROM orders",
        "SELECT * REPLACE (amount + 1 AS amount) FROM orders",
        "FROM orders SELECT id WHERE amount > 15",
        "FROM orders",
        "SELECT id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY id) = 1",
        "SELECT region, median(amount), quantile_cont(amount, 0.25) FROM orders GROUP BY region",
        "SELECT string_agg(region, ',' ORDER BY id) FILTER (WHERE amount > 15) FROM orders",
        "SELECT doc->>'a', json_extract(doc, '$.b') FROM orders",
        "SELECT c.name, x.id FROM customers c, LATERAL (SELECT o.id FROM orders o WHERE o.customer = c.id) x",
        "SELECT c.name, x.n FROM customers c LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM orders o "
        "WHERE o.customer = c.id) x ON TRUE",
        "SELECT * FROM (SELECT region, amount FROM orders) PIVOT (SUM(amount) FOR region IN ('north', 'south'))",
        "SELECT * FROM (SELECT id, amount, customer FROM orders) UNPIVOT (v FOR k IN (amount, customer))",
        "SELECT region, owner, SUM(amount) FROM orders GROUP BY ROLLUP (region, owner)",
        "SELECT region, owner, SUM(amount) FROM orders GROUP BY GROUPING SETS ((region), (owner), ())",
        "SELECT a.id, b.id FROM orders a ASOF JOIN customers b ON a.id >= b.id",
        "SELECT id FROM orders SEMI JOIN items ON items.order_id = orders.id",
        "SELECT id FROM orders ANTI JOIN items ON items.order_id = orders.id",
        "SELECT * FROM orders POSITIONAL JOIN (SELECT 1 AS one) AS p",
        "SELECT id FROM main.orders",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)",
        "SELECT * FROM range(3) AS r(i) JOIN orders ON orders.id = r.i",
        "SELECT arg_max(id, amount), count_if(amount > 15), bool_and(amount > 0) FROM orders",
        "SELECT id::VARCHAR || '!' AS t, TRY_CAST(region AS INTEGER) AS n FROM orders",
        "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON c.id = o.customer",
        "SELECT id FROM orders WHERE amount > ALL (SELECT quantity FROM items) OR id = ANY (SELECT order_id "
        "FROM items)",
        "SELECT region, ARRAY(SELECT i.quantity FROM items i WHERE i.order_id = o.id ORDER BY 1) AS l FROM orders o",
        "SELECT COLUMNS('^id|amount$') FROM orders",
        "SELECT id FROM orders UNION BY NAME SELECT id, name FROM customers",
        "TABLE items",
        "SELECT id FROM orders ORDER BY ALL LIMIT 2",
        "SELECT row.id FROM orders AS row",
        "(SELECT id FROM orders ORDER BY id LIMIT 3)",
        "(SELECT id FROM orders) UNION ALL (SELECT id FROM customers) ORDER BY 1 LIMIT 3",
        "WITH q AS MATERIALIZED (SELECT * FROM orders) SELECT COUNT(*) FROM q",
        "SELECT id FROM orders ORDER BY id LIMIT 50%",
    ),
    "postgresql": (
        "SELECT date_trunc('month', placed) AS m, SUM(amount) FROM orders GROUP BY 1",
        "SELECT to_char(placed, 'YYYY-MM'), EXTRACT(year FROM placed), placed + INTERVAL '1 day' FROM orders",
        "SELECT age(DATE '2024-06-01', placed)::text FROM orders",
        "SELECT id, u FROM orders, unnest(ARRAY[amount, id]) AS u",
        "SELECT id, unnest(ARRAY[1, 2]) AS u FROM orders",
        "SELECT array_agg(id ORDER BY id) FROM orders",
        "SELECT region, array_length(array_agg(id), 1), (array_agg(id ORDER BY id))[1] FROM orders GROUP BY region",
        "SELECT string_agg(region, ',' ORDER BY id) FILTER (WHERE amount > 15) FROM orders",
        "SELECT doc::jsonb ->> 'a', (doc::json -> 'b' ->> 0)::int, doc::jsonb #>> '{b,0}' FROM orders",
        "SELECT id, e.value FROM orders, jsonb_array_elements(doc::jsonb -> 'b') AS e(value)",
        "SELECT id FROM orders WHERE doc::jsonb @> '{\"a\": 2}'",
        "SELECT jsonb_build_object('id', id, 'r', region) FROM orders",
        "SELECT json_agg(id ORDER BY id) FROM orders",
        "SELECT c.name, x.id FROM customers c, LATERAL (SELECT o.id FROM orders o WHERE o.customer = c.id) x",
        "SELECT c.name, x.n FROM customers c LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM orders o "
        "WHERE o.customer = c.id) x ON TRUE",
        "SELECT c.name, x.id FROM customers c CROSS JOIN LATERAL (SELECT id FROM orders o WHERE o.customer = c.id "
        "ORDER BY amount DESC NULLS LAST, id LIMIT 1) x",
        "SELECT region, owner, SUM(amount) FROM orders GROUP BY ROLLUP (region, owner)",
        "SELECT region, owner, SUM(amount), GROUPING(region) FROM orders GROUP BY CUBE (region, owner)",
        "SELECT region, owner, SUM(amount) FROM orders GROUP BY GROUPING SETS ((region), (owner), ())",
        "SELECT DISTINCT ON (region) region, id FROM orders ORDER BY region, id DESC",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders",
        "SELECT mode() WITHIN GROUP (ORDER BY region) FROM orders",
        "SELECT id FROM orders WHERE amount > ALL (SELECT quantity FROM items) OR id = ANY (SELECT order_id "
        "FROM items)",
        "SELECT id FROM orders WHERE id = ANY (ARRAY[1, 4, 6]) AND region ILIKE 'N%' AND region ~ '^n'",
        "SELECT ARRAY(SELECT i.quantity FROM items i WHERE i.order_id = o.id ORDER BY 1) AS l FROM orders o",
        "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON c.id = o.customer",
        "SELECT g.d::date, COUNT(o.id) FROM generate_series(DATE '2024-01-05', DATE '2024-01-08', INTERVAL '1 day') "
        "AS g(d) LEFT JOIN orders o ON o.placed = g.d GROUP BY 1",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)",
        "VALUES (1, 'a'), (2, 'b')",
        "TABLE items",
        "SELECT id FROM ONLY orders",
        "((SELECT id FROM orders ORDER BY id LIMIT 3))",
        "(SELECT id FROM orders) UNION ALL (SELECT id FROM customers) ORDER BY 1 LIMIT 3",
        "WITH q AS (TABLE orders) SELECT id FROM q WHERE EXISTS (TABLE items)",
        "SELECT (o).id FROM orders AS o",
        "SELECT row_to_json(i) FROM items AS i",
        "SELECT id FROM orders ORDER BY id FETCH FIRST 2 ROWS ONLY",
        "WITH q AS MATERIALIZED (SELECT * FROM orders) SELECT COUNT(*) FROM q",
        "WITH q AS NOT MATERIALIZED (SELECT * FROM orders) SELECT COUNT(*) FROM q",
        "SELECT id, SUM(amount) OVER (ORDER BY placed RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW) "
        "FROM orders WHERE placed IS NOT NULL",
        "SELECT id, SUM(amount) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT "
        "ROW) FROM orders",
        "SELECT a FROM orders AS o(a, b)",
        "SELECT id::text || '!' AS t, CAST(amount AS numeric(8, 1)), '1 day'::interval::text FROM orders",
        "SELECT region IS DISTINCT FROM 'north', COALESCE(amount, 0) <> 20 FROM orders",
        "SELECT SELECTED.id FROM (SELECT id FROM orders) AS selected",
        "SELECT x.id, x.ordinality FROM unnest(ARRAY[5, 6]) WITH ORDINALITY AS x(id, ordinality)",
        "SELECT id, regexp_replace(region, '[aeiou]', '*', 'g'), split_part(region, 'o', 1), left(region, 2) "
        "FROM orders",
        "SELECT id FROM pg_catalog.generate_series(1, 3) AS id",
        "WITH RECURSIVE tree AS (SELECT id, ARRAY[id] AS path FROM customers WHERE boss IS NULL UNION ALL "
        "SELECT c.id, t.path || c.id FROM customers c JOIN tree t ON c.boss = t.id) SELECT * FROM tree",
    ),
    "mysql": (
        "SELECT DATE_FORMAT(placed, '%Y-%m') AS m, SUM(amount) FROM orders GROUP BY m",
        "SELECT YEAR(placed), MONTH(placed), DATEDIFF('2024-06-01', placed), placed + INTERVAL 1 DAY FROM orders",
        "SELECT DATE_ADD(placed, INTERVAL 1 MONTH), LAST_DAY(placed), WEEKDAY(placed) FROM orders",
        "SELECT GROUP_CONCAT(region ORDER BY id SEPARATOR '|') FROM orders",
        "SELECT IF(amount > 15, 'a', 'b'), IFNULL(region, 'none'), CONCAT(id, '-', region) FROM orders",
        "SELECT JSON_EXTRACT(doc, '$.a'), JSON_VALUE(doc, '$.a'), JSON_UNQUOTE(JSON_EXTRACT(doc, '$.b[0]')) "
        "FROM orders",
        "SELECT o.id, j.v FROM orders o, JSON_TABLE(o.doc, '$.b[*]' COLUMNS (v INT PATH '$')) AS j",
        "SELECT region, owner, SUM(amount) FROM orders GROUP BY region, owner WITH ROLLUP",
        "SELECT `a b` FROM `Odd Name`",
        "SELECT o.id, c.name FROM orders o STRAIGHT_JOIN customers c ON c.id = o.customer",
        "SELECT id FROM orders WHERE amount > ALL (SELECT quantity FROM items) OR id = ANY (SELECT order_id "
        "FROM items)",
        "SELECT id FROM orders WHERE region REGEXP '^n' OR region RLIKE 'h$'",
        "SELECT id FROM orders WHERE region <=> NULL",
        "SELECT id DIV 2, id MOD 3, id XOR 1 FROM orders",
        "SELECT id FROM orders ORDER BY id LIMIT 1, 2",
        "SELECT COUNT(DISTINCT region, owner) FROM orders",
        "SELECT STDDEV(amount), VARIANCE(amount), BIT_OR(id) FROM orders",
        "SELECT CAST(id AS CHAR), CAST(amount AS DECIMAL(8, 1)), CONVERT(region USING utf8mb4) FROM orders",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v",
        "SELECT SQL_NO_CACHE id FROM orders",
        "SELECT SUBSTRING_INDEX(region, 'o', 1), LEFT(region, 2), LPAD(id, 3, '0') FROM orders",
        "SELECT seq FROM seq_1_to_3",
        "SELECT 1 + 1 AS n FROM DUAL",
        "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM dual WHERE o.id > 2)",
        "(SELECT id FROM orders ORDER BY id LIMIT 3)",
        "SELECT MEDIAN(amount) OVER (PARTITION BY region) FROM orders",
    ),
}


BUT_SQLITE = (
    "WITH orders AS (SELECT id, amount FROM orders WHERE amount > 15) SELECT * FROM orders",
    "WITH q AS (SELECT id FROM orders), orders AS (SELECT 0 AS id) SELECT q.id, orders.id FROM q CROSS JOIN orders",
    "WITH items AS (SELECT order_id FROM items UNION SELECT id FROM orders) SELECT COUNT(*) FROM items",
)
"""SQLite sees the names of all clauses in each of them."""


def in_dialect(engine: str, text: str) -> str:
    """Return SQL with names in the quotes of the engine."""
    return re.sub(r'"(\w+ \w+)"', r"`\1`", text) if engine == "mysql" else text


def statements(engine: str, schema: str) -> list[str]:
    """Return the statements of an engine, where tables are in the schema."""
    everywhere = (*EVERYWHERE, *(BUT_SQLITE if engine != "sqlite" else ()))
    return [*(in_dialect(engine, text.replace("{schema}", schema)) for text in everywhere), *EACH[engine]]
