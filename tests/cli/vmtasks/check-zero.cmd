# 0 is no process.
mh vmtasks check 0
