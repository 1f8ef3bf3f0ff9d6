"""The history of the metadata store's tables: Alembic revisions, run forward by `_content.storage.migrate`.

Each revision in `versions` has `upgrade(op)`; it is handed its operations, so no global state is involved.
"""
