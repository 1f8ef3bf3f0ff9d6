"""The one way to a user's database: actor and datasource in, checked statement out."""
