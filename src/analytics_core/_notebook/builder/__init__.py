"""Questions in one line: a dataset's columns and metrics as values, and queries that are built of them step by step.

It only produces payloads, and calls the namespaces that it is handed.
"""

from analytics_core._notebook.builder.charts import QueryChart as QueryChart
from analytics_core._notebook.builder.dataset import DatasetHandle as DatasetHandle
from analytics_core._notebook.builder.query import DatasetQuery as DatasetQuery
