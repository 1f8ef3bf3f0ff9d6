"""Result frames and what is done with them after the statement ran."""
