"""What people type in a notebook: questions in one line, files and frames in hand.

In come words of the user's data and things in memory; out go query contexts, forms of charts and databases. Whoever
answers them is asked by the same calls as everybody.
"""
