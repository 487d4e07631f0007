# Makes the SQLite database that is named of the SQL on stdin.
exec python -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())' "$1"
