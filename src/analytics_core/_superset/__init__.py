"""From the form data of charts to query contexts, one small builder per chart kind."""
