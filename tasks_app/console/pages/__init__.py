"""The pages. Each module has a ``Reading``, the builders of its fragments, and the page that joins them."""
