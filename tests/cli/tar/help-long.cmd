# every option
mh tar --help
