# Something has to be run
mh mtwrite -j 2
