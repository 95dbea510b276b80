# Without a command, the commands are named.
mh numa
