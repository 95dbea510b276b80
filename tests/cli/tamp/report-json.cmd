# --report=json is one object on one line of standard error; standard output is free for data
seq 100000 > plain
mh tamp --report=json -j 2 -c plain 2> report | mh tamp -d | cmp - plain
wc -l < report
grep -c '^{.*}$' report
for key in subject totals bytes_in bytes_out measures clocks bound forecast; do grep -c "\"$key\":" report; done
tr -d -c '{}' < report | awk '{ print gsub(/{/, "") == gsub(/}/, "") }'
