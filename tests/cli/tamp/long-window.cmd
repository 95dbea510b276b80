# A window above 128 MiB is refused with the option that allows it
printf '\050\265\057\375\000\220\021\000\000x\n' > wide.zst
mh tamp -d wide.zst; echo $?
mh tamp -d --long=28 wide.zst && cat wide && ls
