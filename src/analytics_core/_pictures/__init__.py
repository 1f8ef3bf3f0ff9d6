"""Pictures of answers: the kind of a chart, its form and its columns become a Vega-Lite specification.

In come form data and columns; out go specifications, and pages for dashboards. Nothing is asked, and nothing is drawn
here: a renderer does that.
"""
