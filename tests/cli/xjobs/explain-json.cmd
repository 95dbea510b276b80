# The same for programs.
mh xjobs -j 3 --memory 1G --explain --report=json true </dev/null
