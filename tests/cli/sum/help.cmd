# The short help fits one screen.
mh sum -h
