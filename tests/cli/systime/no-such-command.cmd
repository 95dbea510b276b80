# A command that is not there is an error, not an empty table.
mh systime -- /nowhere/program 2>&1 | sed 's/.*warning.*//' | grep -v '^$'
