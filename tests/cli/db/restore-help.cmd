# The short help fits one screen.
mh db restore -h
