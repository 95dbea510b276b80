# Names that are not UTF-8 go through byte for byte
name=$(printf 'f\377\376')
seq 10 > "$name" && mh tamp -v "$name" && rm "$name"
mh tamp -l "$name.zst" | awk '{ print $NF }'
mh tamp -l --json "$name.zst" | grep -c '^{.*}$'
mh tamp -d "$name.zst" && tail -n 1 "$name"
mh tamp "$name.missing"
