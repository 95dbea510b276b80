# The version is one line
mh --version
