# The version is one line, with the commit where it is known; each command has it
mh --version; mh -V; mh tamp --version; mh rm --version; mh crew --version
