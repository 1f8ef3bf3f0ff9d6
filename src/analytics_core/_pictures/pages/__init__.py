"""The pages of dashboards: their boxes, the Markdown and the style sheets in them, as HTML and SVG."""
