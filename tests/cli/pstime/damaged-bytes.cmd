# What is no recording is given up at once: where it is damaged is said, and no memory is filled with it
mh pstime --replay /dev/zero
mh ceiling --replay /dev/urandom 2>&1 | grep -c "could not replay '/dev/urandom': "
printf '{"manyhands_recording":1,"tier":"no-rights","users":{}}\n{"at_ns":1,\0\n' >rec
mh pstime --replay rec
