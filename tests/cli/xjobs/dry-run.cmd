# Commands as a shell would read them; a barrier is shown.
printf "a \"b c\"\n%%%%\n{\"argv\":[\"it is\"]}\n" | mh xjobs --dry-run echo -n
mh xjobs --dry-run convert {} -o {/.}-{2}.png ::: "d/a b.jpg" ::: 1 2
printf "cd /srv; tar -xf a.tar >& a.log\nwc < b\n" | mh xjobs --dry-run
