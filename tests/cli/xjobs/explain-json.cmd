# The same for programs.
mh xjobs -j 3 --explain --report=json true </dev/null
