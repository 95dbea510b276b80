# --report has the archive's sizes, compressed and uncompressed, both ways
mkdir d; seq 20000 > d/x; size() { stat -c %s $1; }
report() { sed -n 's/.*"totals":{"bytes_in":\([0-9]*\),"bytes_out":\([0-9]*\).*/\1 \2/p'; }
mh tar cf a.tar d; mh tar cf a.tar.zst --zstd d --report=json 2>&1 | report > made; mh tar xf a.tar.zst --report=json 2>&1 | report > taken
test "$(cat made)" = "$(size a.tar) $(size a.tar.zst)" && echo made
test "$(cat taken)" = "$(size a.tar.zst) $(size a.tar)" && echo taken
mh tar xf a.tar --report=json 2>&1 | report > plain; test "$(cat plain)" = "$(size a.tar) $(size a.tar)" && echo plain
mh tar cf b.tar.gz -I gzip d --report=json 2>&1 | report > packed; test "$(cat packed)" = "$(size a.tar) $(size b.tar.gz)" && echo packed
