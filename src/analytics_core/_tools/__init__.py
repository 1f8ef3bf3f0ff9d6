"""Small parts that know nothing of analytics: displays, formats, pivots, memos, bounded calls, typed JSON, whole files.

Every room may use them; they use nothing of ours but `errors`.
"""
