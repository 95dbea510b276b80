# A directory is not copied into itself.
mkdir d; mh cp -r d d
