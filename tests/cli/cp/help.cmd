# The short help fits one screen.
mh cp -h
