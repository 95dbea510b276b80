# All options
mh pstime --help
