# A command that does not exist is a usage error
mh no-such-command
