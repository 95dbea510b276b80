# The short help fits one screen.
mh vmtasks -h
