"""HTML and SVG for people: self-contained pages, drawn from plain data, everything escaped."""
