# mh links makes links under the old names and says which; a second time there is nothing to do; they work
mh links bin | sort | tr '\n' ' ' && echo && mh links bin
PATH=$PWD/bin:$PATH && seq 1000 > plain && gzip plain && ls *.gz plain 2>&1 | sed 's/.*: No/no/' && zcat plain.gz | tail -n 1
