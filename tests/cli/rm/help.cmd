# The short help fits one screen.
mh rm -h
