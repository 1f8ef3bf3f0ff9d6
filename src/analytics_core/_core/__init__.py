"""The facade, and the wiring behind it."""

from analytics_core._core.facade import AnalyticsCore as AnalyticsCore
from analytics_core._core.facade import connect as connect
