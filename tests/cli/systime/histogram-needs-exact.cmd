# Samples have no durations: the histogram needs every call.
mh systime --histogram -- true
