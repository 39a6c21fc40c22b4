"""One reader per format: `read(path) -> Batch`, streaming, tolerant, in bounded memory."""
