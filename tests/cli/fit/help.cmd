# The short help fits one screen.
mh fit -h
