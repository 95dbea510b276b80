# A command that is not there is an error, not an empty table.
mh systime -- /nowhere/program 2>err; echo $?; sed 's/.*warning.*//' err | grep -v '^$'
mh systime -- / 2>/dev/null; echo $?
