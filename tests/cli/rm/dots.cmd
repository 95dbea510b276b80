# Nor are the working folder and the one above.
mkdir d; mh rm -r . .. d/.; ls
