# The short help fits one screen.
mh db verify -h
