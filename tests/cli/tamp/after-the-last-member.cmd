# gz: zeros to the end are padding; anything else after the last member or frame is an error
seq 1000 > plain; mh tamp -F gz -c plain > a.gz; mh tamp -c plain > a.zst
(cat a.gz; head -c 700 /dev/zero) > padded.gz; (cat a.gz; echo more) > more.gz; (cat a.zst; echo more) > more.zst
mh tamp -dc padded.gz | cmp - plain && echo padding is fine
mh tamp -d more.gz; mh tamp -d more.zst
mh tamp -dc more.gz > sound; echo $?; cmp sound plain && ls
