"""Pictures of answers: the kind of a chart, its form and its columns become a Vega-Lite specification."""
