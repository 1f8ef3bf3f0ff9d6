"""The facade, and the wiring behind it.

In come settings and the host's own ports; out comes an `AnalyticsCore`, whose namespaces are those of the other rooms.
Nothing else builds objects that live as long as a core. Implementations of ports lie in `adapters`.
"""

from analytics_core._core.connect import connect as connect
from analytics_core._core.facade import AnalyticsCore as AnalyticsCore
from analytics_core._core.guest_core import GuestCore as GuestCore
