# A file that is not there.
mh bakeoff nowhere.toml
