# The short help fits one screen.
mh vmtasks bench -h
