# The report for programs.
printf "1\n2\n" | mh xjobs --report=json true 2>&1 | tr "," "\n" | cut -d: -f1 | head -n 8
