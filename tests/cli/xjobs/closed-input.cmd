# No standard input is no empty list
mh xjobs echo <&-; echo $?
mh xjobs echo < /dev/null; echo $?
