# Long options may be cut short, GNU's before ours; what removes the root is typed in full
mkdir -p d/e; touch a -- -x
mh rm --re d; ls
mh rm --no-preserve / 2>&1; echo $?
mh rm --dry -v a
mh rm -x; echo $?
