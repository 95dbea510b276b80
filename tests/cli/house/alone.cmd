# mh alone shows the commands and where to begin; it was not asked for anything, so that is no error
mh
