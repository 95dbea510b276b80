# A frame that tells no size, and whose window is larger than is allowed: nothing is wrong with it, only its size is not known
printf '\050\265\057\375\000\220\021\000\000x\n' > wide.zst
mh tamp -l wide.zst; echo $?
mh tamp -l --json wide.zst; echo $?
