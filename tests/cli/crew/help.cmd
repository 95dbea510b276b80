# What mh crew shows and orders, on one screen.
mh crew -h
