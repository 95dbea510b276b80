# Names that are no text are targets like others, and escaped in every form
name=$(printf 'caf\351\001')
cp /bin/sleep "$name"; "./$name" 60 &
until [ "$(cat /proc/$!/comm)" = "$name" ]; do sleep 0.01; done
mh pstime -o name,command 0.05 "$name" | tail -n 1
mh pstime --csv -o name,command 0.05 "$name" | tail -n 1 | cut -d, -f5-
mh pstime --json 0.05 "$name" | grep -o '"name":"[^"]*"'
mh fit --csv --time 0.1 --comm "$name" --args "$name 60" | tail -n 1 | cut -d, -f1
mh ceiling 0.1 "$name" | cut -c1-13 | head -n 1
mh pstime 0.05 "x$name" 2>&1 >/dev/null | tail -n 1
kill $!
