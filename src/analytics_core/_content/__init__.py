"""What is stored, and who may see it: one namespace for each subject.

In come payloads and an actor; each call parses, authorises, takes one unit of work and returns the contract's shapes.
Questions go on to the engine. `storage` keeps records, `lookups` and `questions` are what the engine is handed, `jobs`
is work in the background.
"""
