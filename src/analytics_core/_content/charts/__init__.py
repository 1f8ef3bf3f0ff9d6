"""Charts: the namespace, and the questions, answers, payloads and exports behind it."""
