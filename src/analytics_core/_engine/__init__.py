"""One question becomes rows.

In come a request (who asks, when, which query context) and the datasets that it names; out comes `ChartData`. It knows
no tables of the store, no forms of charts and no pictures: what it needs of them is handed to it by protocols.
"""
