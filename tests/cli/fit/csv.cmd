# One line for each instance after a line of names; the shell that asks is the only one.
sh -c 'mh fit --comm sh --args fit-csv-case --time 0.1 --csv; : fit-csv-case' > list
head -n 1 list
tail -n +2 list | cut -d, -f 1,3,4,14 | sort -u
