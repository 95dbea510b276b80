# The help fits a screen
mh pstime -h
