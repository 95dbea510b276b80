# A target that is there is refused, and one whose directory is not.
mkdir old rest.partial
mh db dump -d postgres://me@/shop -f old/; echo "exit $?"
mh db dump -d postgres://me@/shop -f rest; echo "exit $?"
mh db dump -d postgres://me@/shop -f no/such/place; echo "exit $?"
