# Names that could steer a terminal or a reader are shown with escapes; the files are found all the same
for name in "it's" 'a b' "$(printf 'line\nbreak')" "$(printf 'bell\007')" -dash 'back\slash'; do
    seq 10 > "./$name" && mh tamp -v -- "$name" && mh tamp -t -- "$name.zst"
done
ls | od -c | grep -c '\\a'
mh tamp -- "$(printf 'no\033[2Jsuch')"
