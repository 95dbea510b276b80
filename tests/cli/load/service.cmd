# What the echo server is to do is checked before it is started.
mh load echo --echo-service 3xsleep:1ms
