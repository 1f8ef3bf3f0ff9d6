"""One module per engine: how its connections are opened, walled, timed and interrupted."""
