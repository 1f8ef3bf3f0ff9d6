"""The SQL editor: statements of people, from their text to rows. It asks the engine and the content, and no one it."""
