"""The terminal side of capdisc: one file per command, streams and exit codes. All the work is in
capdisc_indexer.
"""

import sys

if sys.platform == "win32":  # locks by fcntl, and files that are opened relative to a folder
    sys.stderr.write("error: capdisc does not run on Windows\nhint: use it in WSL\n")
    sys.exit(3)
