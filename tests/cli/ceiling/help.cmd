# The help tells the exit codes
mh ceiling --help
