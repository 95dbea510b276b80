# Ends as env does when the program is not there.
mh timers run -- /nowhere/program
