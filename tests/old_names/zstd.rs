//! zstd, unzstd, zstdcat, zstdmt.

use super::{Case, Family, ends, run_line, says};
use crate::place::said;
use testkit::program::ProgramOutcome;

const ZSTD: &[Case] = &[
    says("zstd b"),
    ends("zstd a"),
    says("zstd -qk b a"),
    says("zstd -f a"),
    says("zstd -q b"),
    says("zstd --rm b"),
    ends("zstd b odd.name"),
    says("zstd nosuch"),
    says("zstd -d b"),
    ends("zstd -d nosuch"),
    says("zstd -d plain.zst"),
    says("zstd -dc plain.zst"),
    says("zstd -dcf plain.zst"),
    says("zstdcat b"),
    says("zstdcat -f b a.zst"),
    says("zstd -df short.zst"),
    ends("zstd -t short.zst bad.zst trailed.zst a.zst"),
    says("zstd -df trailed.zst"),
    says("zstd dir"),
    says("zstd -r dir"),
    says("zstd sym"),
    says("zstd -f sym"),
    says("zstd h1"),
    ends("zstd -c b"),
    says("zstd -o x b"),
    says("zstd b -o x"),
    ends("zstd a b -o x"),
    ends("zstd a.zst"),
    ends("zstd -20 b"),
    ends("zstd --ultra -22 b"),
    ends("zstd --foo b"),
    ends("zstd -y b"),
    says("zstd -o"),
    ends("zstd --fast=3 b"),
    ends("zstd --fast=a b"),
    says("zstd -T0 b"),
    says("zstd -T2 b"),
    says("zstd --threads=2 b"),
    says("zstd --threads 2 b"),
    ends("zstd --format=gzip b"),
    ends("zstd --format=foo b"),
    says("zstd -k b"),
    says("zstd < b"),
    says("zstd -d < a.zst"),
    ends("ZSTD_CLEVEL=19 zstd b"),
    says("ZSTD_CLEVEL=foo zstd b"),
    says("ZSTD_NBTHREADS=foo zstd b"),
    says("zstd --output-dir-flat dir b"),
    says("zstd --output-dir-mirror dir b"),
    says("zstd --filelist=empty"),
    says("zstd --exclude-compressed -q lone.zst b"),
    says("zstd --adapt b"),
    says("zstd -d -o x a.zst"),
    says("unzstd lone.zst"),
    says("unzstd -f a.zst"),
    says("unzstd --rm lone.zst"),
    says("zstd -dc empty"),
    says("zstd -t b"),
    says("zstd -z b"),
    ends("zstd -c a b | zstd -dc"),
    ends("zstd --rm -c b"),
    says("zstd -- b"),
    says("zstd -M99 b"),
    says("zstd --single-thread b"),
    says("zstd -qq nosuch"),
    says("zstdmt -8k b"),
    says("zstd -k8 b"),
    says("zstd -l a.zst | head -n 1"),
    says(
        r"printf '\120\052\115\030\001\000\000\000a' > s; zstd -q b; cat s b.zst s > s.zst; zstd -l s.zst | cut -c -14,47-",
    ),
    says("zstd --no-progress --sparse --asyncio -q b"),
    says("(echo a | zstd; echo plain) | zstd -dcf"),
    says("(echo a | zstd; echo plain) | zstd -dc"),
    says("(echo a | zstd; echo plain) | zstd -dcf --no-pass-through"),
    says("echo plain | zstd -dcf --no-pass-through"),
    says("echo plain | zstd -dc --pass-through"),
    says("echo plain | zstd -d --pass-through --no-pass-through -c"),
    says("zstdcat --no-pass-through b"),
    ends("zstd -d --pass-through plain.zst"),
    says("zstd -tf b"),
    ends("zstd -t --pass-through b"),
    says("(zstd -c a; gzip -c b; zstd -c b) > m.zst; zstd -dc m.zst; zstd -t m.zst; zstd -d m.zst"),
    says("(gzip -c a; zstd -c b) | zstd -dc"),
    says("(gzip -c a; head -c 9 /dev/zero) | zstd -dcf"),
    ends("(gzip -c a; gzip -c b | head -c 2000) > m.gz; zstd -d m.gz; r=$?; rm m.gz; exit $r"),
    says("cp a.zst c.zstd; zstd -d c.zstd; zstd -d odd.name"),
    says("cp b q.zstd; zstd --exclude-compressed q.zstd"),
    ends("zstd --fast=131073 -c b; zstd --fast=4294967295 -c b"),
    says("zstd --fast=4294967296 -c b"),
    says("zstd -4294967296 -c b"),
    says("zstd -T4294967296 -c b"),
    says("zstd -T99999999999 -c b"),
    says("zstd --threads=4294967296 -c b"),
    says("zstd -M4096M -c b"),
    says("zstd -M99999999999 -c b"),
    says("zstd -B99999999999 -c b"),
    says("zstd --memlimit=4096MB -c b"),
    says("zstd --long=4294967323 -c b"),
    says("zstd --adapt=min=99999999999 -c b"),
    ends("zstd --fast=0 -c b > /dev/null"),
    ends("zstd --fast=5K -c b"),
    ends("zstd --stream-size=4294967296 -c b"),
    ends("zstd --block-size=1000 -c b"),
    says("ZSTD_CLEVEL=99999999999 zstd b"),
    says("ZSTD_NBTHREADS=4294967297 zstd b"),
    says("ZSTD_NBTHREADS=-3 zstd b"),
    ends("ZSTD_CLEVEL=+3 zstd b; ZSTD_CLEVEL=-3 zstd -c a"),
    ends("zstd -D odd.name --no-dictID b && zstd -dc -D odd.name b.zst | cmp - b"),
    says("zstd --no-dictID -q b"),
    says("zstd --output-dir-flat= b"),
    says("zstd --output-dir-mirror= b"),
    says("zstd --output-dir-flat '' -c b"),
    says("zstd --output-dir-mirror=out dir/../b"),
    says("zstd -q --output-dir-mirror=out dir/x ./b"),
    says("zstd -q --output-dir-mirror=out dir/../b a"),
    says("zstd -q -c b > one.zst; zstd -l one.zst a.zst | tail -n 2 | cut -c -14,47-"),
    says("zstd -l a.zst | wc -l; zstd -l a.zst lone.zst nosuch 2> /dev/null | tail -n 1 | cut -c -14,47-"),
    says("zstd -q -c b > c.zst; zstd -lv c.zst 2> /dev/null | grep -v '^Compr\\|Ratio'"),
    says("zstd -q -c b > c.zst; cp c.zst d.zst; zstd -lv c.zst d.zst 2> /dev/null | grep -v '^Compr\\|Ratio'"),
];

#[test]
fn zstd_and_its_relatives_do_and_say_the_same() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare(ZSTD);
    }
}

/// The columns too, which cases do not look at.
#[test]
fn sizes_stand_where_the_real_tool_has_them() {
    let Some(family) = Family::new("zstd", "zst") else { return };
    for line in ["printf world > w; zstd -k w", "printf world > w; printf y > v; zstd -k w v"] {
        let (theirs, ours) = (family.directory(), family.directory());
        let last = |outcome: &ProgramOutcome| {
            let text = said(outcome);
            text.rsplit(['\r', '\n']).find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end().to_owned()
        };
        let (real, linked) = (run_line(&theirs, line, None), run_line(&ours, line, Some(family.links.path())));
        assert_eq!(last(&linked), last(&real), "{line}");
    }
}
