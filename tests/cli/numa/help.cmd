# The short help fits one screen.
mh numa -h
