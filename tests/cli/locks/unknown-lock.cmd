# A lock that is not there
mh locks --locks mcs,spinny
