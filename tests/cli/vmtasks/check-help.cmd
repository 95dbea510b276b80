# The short help fits one screen.
mh vmtasks check -h
