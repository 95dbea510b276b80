# What cannot be is told as mv tells it.
mkdir -p d/e; touch a; mh mv a nowhere/x; mh mv d d/e; mh mv d a; mh mv nowhere x
