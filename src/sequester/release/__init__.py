"""The result of a method, and the certificate that goes with it."""
