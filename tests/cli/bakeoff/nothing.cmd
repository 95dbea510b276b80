# No file and no command.
mh bakeoff
