# The journal tells everything of a job; a second run has nothing to do.
printf "echo a\n" | mh xjobs --journal j
grep -c begin j
sed 1d j | tr "," "\n" | cut -d: -f1
printf "echo a\necho b\n" | mh xjobs --journal j --resume
