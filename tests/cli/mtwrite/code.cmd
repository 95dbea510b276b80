# The exit code is the program's, and it says that nothing was gained
mh mtwrite -- sh -c "exit 7"; echo $?; mh mtwrite -- true
