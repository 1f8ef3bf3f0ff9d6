"""The words of the house: frozen records of what the metadata store holds, the repositories that keep them, settings.

Every room reads them. What leaves the library are `models`, not these.
"""
