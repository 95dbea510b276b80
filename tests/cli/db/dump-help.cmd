# The short help fits one screen.
mh db dump -h
