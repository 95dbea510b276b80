# What is missing and what is a directory is told; the rest goes.
mkdir d; touch f; mh rm nowhere d f; ls; mh rm -f nowhere; mh rm
