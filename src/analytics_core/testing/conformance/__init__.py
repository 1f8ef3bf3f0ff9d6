"""One suite of tests per port: subclass it in a test module, give it your implementation, and pytest runs it.

The suites need pytest, which the library itself does not install.
"""
