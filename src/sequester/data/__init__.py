"""What is published: events of persons, their roles, and the fast face of both."""
