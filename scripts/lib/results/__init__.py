"""What campaigns have measured: read, grouped, and judged."""
