"""Ask JAX."""
