# A command line in one word is no program: the hint comes once, and --shell runs it
seq 3 > a.txt; seq 4 > 'b c.txt'
mh xjobs -j1 'gzip -c {} > {.}.gz' ::: a.txt 'b c.txt'; echo $?
mh xjobs -j1 --shell 'gzip -c {} > {.}.gz' ::: a.txt 'b c.txt'; echo $?; ls
mh xjobs -j1 sh -c 'exit 3' ::: "it's" 'a b'; echo $?
