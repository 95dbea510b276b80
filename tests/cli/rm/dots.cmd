# Nor are the working directory and the one above.
mkdir d; mh rm -r . .. d/.; ls
