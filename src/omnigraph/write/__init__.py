"""Every writer: from a captured state to a staged plan, and through the publisher."""
