# What is not there and what is a directory is told; wrong command lines are refused.
mkdir d; printf hello > a; mh sum -a crc32 nosuch d a; echo "exit $?"; mh sum -a sha a; echo "exit $?"; mh sum --quiet a; echo "exit $?"; mh sum -c nosuch; echo "exit $?"; mh sum -c a; echo "exit $?"
