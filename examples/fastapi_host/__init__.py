"""A service in FastAPI over analytics_core that a team may start from; docs/how-to/deploy.md walks through it.

app.py      the service: who asks, its routes, its health; `make_service` is the one that is deployed
core.py     `make_core`, by which web processes, workers and `tick` make their core from the environment
bodies.py   what its answers and errors look like
process.py  what surrounds requests: their ids in the log, their bounds, and the end of the process
demo.py     the same service over a sample shop, with keys and sessions that are no secret
"""
