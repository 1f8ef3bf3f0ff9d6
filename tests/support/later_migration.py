"""A revision after the newest one, for tests of migrations on stores with data; copied beside the real ones."""

revision = "9999"
down_revision = "0103"
branch_labels = None
depends_on = None


def upgrade(op):
    import time

    import sqlalchemy as sa

    time.sleep(0.2)  # long enough for other processes to come along
    op.add_column("ac_charts", sa.Column("later", sa.Integer(), nullable=False, server_default="7"))
