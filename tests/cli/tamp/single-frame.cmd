# --single-frame and --long write one frame; without them there are several and a seek table
head -c 12000000 /dev/zero > plain
mh tamp -c plain > several.zst; mh tamp --single-frame -c plain > one.zst; mh tamp --long -c plain > long.zst
for name in several one long; do mh tamp -dc $name.zst | cmp - plain; done
mh tamp -l several.zst one.zst long.zst | awk 'NR > 1 { print $7, $8, $9 }'
