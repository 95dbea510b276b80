# Says of each file which way its bytes went and why.
touch empty; mkdir d; mh cp --debug --reflink=never empty copy; mh cp -r --debug d other
