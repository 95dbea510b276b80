# No time is not enough
mh locks --seconds 0
