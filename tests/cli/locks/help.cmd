# The short help fits one screen.
mh locks -h
