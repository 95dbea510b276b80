# A pipe cannot be known again.
mh load sqlite:base.db read-write prepare --table-size 1 2>/dev/null; mh db load -d base.db sbtest1 - --csv --resume </dev/null
