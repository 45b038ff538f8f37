"""Object stores, faults and datasets for tests: see README.md."""
