# The short help.
mh load -h
