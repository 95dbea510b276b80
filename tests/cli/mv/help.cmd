# The short help fits one screen.
mh mv -h
