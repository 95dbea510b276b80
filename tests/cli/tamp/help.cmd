# The short help fits on a page and begins with what the command does
mh tamp -h
