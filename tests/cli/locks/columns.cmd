# One row a line: three numbers of threads, and one alone for what the lock itself costs
mh locks --csv --locks ticket -s uncontended,short -t 1,2,3 -n 1 --seconds 1ms | cut -d, -f 1,2,3,6
