# A user that the machine does not know.
mh fit --user nobody-is-called-so
