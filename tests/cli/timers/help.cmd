# The short help fits one screen.
mh timers -h
