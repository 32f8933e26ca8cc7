"""Results as text: Markdown tables and LaTeX."""
