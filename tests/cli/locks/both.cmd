# Waiters choose locks by what they do, --locks by name
mh locks --waiters all --locks mcs
