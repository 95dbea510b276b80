# The short help fits one screen.
mh db index -h
