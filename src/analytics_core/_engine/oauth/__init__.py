"""OAuth 2.0 to reach databases on their users' behalf: registrations, states, exchanges, and tokens kept fresh."""
