# The short help fits one screen.
mh innodb -h
