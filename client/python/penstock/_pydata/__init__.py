"""The parts of Python datasets that need neither the daemon nor the extension. README.md says what each file is for."""
