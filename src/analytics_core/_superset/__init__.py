"""From the form data of charts to query contexts, one small builder per chart kind.

In comes what a front end stores of a chart; out goes the query context that it asks, with the fields behind each value.
Nothing is looked up.
"""
