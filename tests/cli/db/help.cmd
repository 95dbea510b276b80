# The short help.
mh db load -h
