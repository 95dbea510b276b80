# A number that is no time is not waited for as a name
mh systime 0
mh systime 0.001
