# Help: what it shows, by which options; examples that work.
mh sysstat --help
