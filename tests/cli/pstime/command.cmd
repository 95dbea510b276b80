# A program's end is ours: its output on standard output, its times on standard error, its code
mh pstime -- sh -c 'echo out; exit 7' 2>err
echo $?
cut -c1-36 err | head -n 1; cut -c1-5 err | tail -n 3
