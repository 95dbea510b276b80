# Locks that know readers have no place where nobody only reads
mh locks --locks std-rw --scenario short
