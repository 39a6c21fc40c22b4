"""One reader per format: `looks_like(head, path) -> bool` and `read(path) -> Batch`, streaming, tolerant, in bounded
memory. `observe.gather.READERS` names them; `readers.source.Source` opens plain and gzip files with a bound."""
