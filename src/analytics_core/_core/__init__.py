"""The facade, and the wiring behind it."""

from analytics_core._core.connect import connect as connect
from analytics_core._core.facade import AnalyticsCore as AnalyticsCore
from analytics_core._core.guest_core import GuestCore as GuestCore
