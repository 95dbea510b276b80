# The options of crew run, on one screen.
mh crew run -h
