# The root is not removed, by whatever name.
mh rm -r -j 1 --dry-run /; mh rm -rf --dry-run /../..
