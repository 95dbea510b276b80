# A process that does not exist is no subject.
mh systime -p 4194303
