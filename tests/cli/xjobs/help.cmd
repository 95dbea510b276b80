# The ten options that people use, on one screen.
mh xjobs -h
