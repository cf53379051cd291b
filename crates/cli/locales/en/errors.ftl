### Errors, and hints on what to do about them.
