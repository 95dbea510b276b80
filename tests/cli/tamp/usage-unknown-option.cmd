# An option that does not exist is a usage error: exit 2
mh tamp --frobnicate
