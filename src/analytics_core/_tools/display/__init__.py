"""What notebooks and terminals show of an object: blocks, written as HTML and as text.

`blocks` says what there is to see, `html` and `text` write it, `values` writes the values of a column for people, and
`bundles` puts all forms together for `_repr_mimebundle_`. Nothing here asks a database, a store or a clock.
"""
