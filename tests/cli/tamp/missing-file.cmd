# A file that is not there
mh tamp nowhere
