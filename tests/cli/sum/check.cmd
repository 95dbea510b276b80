# A check reports each file, then counts what is wrong.
printf hello > a; printf x > b; printf y > c; mh sum a b c > sums; echo junk >> sums; printf z > b; rm c; mh sum -c -w sums; echo "exit $?"; mh sum -c --quiet --ignore-missing sums 2> said; echo "exit $?"; mh sum -c --status sums; echo "exit $?"
