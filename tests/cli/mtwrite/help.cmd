# The short help fits one screen
mh mtwrite -h
