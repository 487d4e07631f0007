"""An index on an object store, which one builds and many read."""
