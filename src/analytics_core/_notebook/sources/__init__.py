"""What people have in hand (frames, files, connections, engines), as what a database can be read from."""
