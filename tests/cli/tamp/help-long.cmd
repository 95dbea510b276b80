# The long help shows the options that the short one leaves out
mh tamp --help | grep -o -e '--single-frame' -e '--bgzf' -e '--ultra' -e '--long' -e '--suffix' | sort -u
