# A process that is not there is an error that names it; the exit code is for scripts.
mh vmtasks check 4194304
