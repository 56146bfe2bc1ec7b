"""Applications of energies that have files and formats of their own."""
