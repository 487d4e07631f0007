"""An index on an object store, which one builds and many read.

    s3://bucket/prefix/CURRENT                             number and MANIFEST digest of the published generation
    s3://bucket/prefix/generations/00000007-<16 digits>/   MANIFEST text/ matrix/ meta/, and vectors/ written by LanceDB

The digits are the manifest's, so that two writers of the same number never write the same object.
CURRENT is written last, on the condition that it is still the one that was built upon. Readers
copy what searching needs and search the copy; the vectors' table stays in the store, where only
the next writer reads it.
"""
