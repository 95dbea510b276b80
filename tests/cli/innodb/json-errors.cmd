# With --json there is a total whatever happens.
mh innodb --json missing.ibd
