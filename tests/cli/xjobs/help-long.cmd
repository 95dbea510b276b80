# All options.
mh xjobs --help
