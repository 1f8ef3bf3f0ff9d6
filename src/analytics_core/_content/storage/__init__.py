"""The metadata store on SQLAlchemy: tables, repositories, unit of work, migrations."""
