# A program that is not there is told as env(1) does
mh mtwrite -- no-such-program
