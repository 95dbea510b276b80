# Errors come in the order of the arguments and of the tree, whoever met them.
mkdir t; mh cp nowhere-2 nowhere-1 t; mh cp
