"""The facade, and the wiring behind it.

In come settings and the host's own ports; out comes an `AnalyticsCore`, whose namespaces are those of the other rooms.
Nothing else builds objects that live as long as a core. Implementations of ports lie in `adapters`.
"""
