# The short help.
mh bakeoff -h
