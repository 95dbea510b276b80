//! `zstd -l`, `-lv` and `-b`: columns, sums, and what is said of files that are none.

use super::{Case, Family, ends, says};

const LISTS: &[Case] = &[
    says("zstd -l a.zst"),
    says("zstd -l a.zst lone.zst"),
    says("zstd -lv a.zst lone.zst 2> /dev/null"),
    says("zstd -l nosuch b dir a.zst"),
    says("zstd -lv b 2> /dev/null"),
    says("zstd -l short.zst"),
    says("zstd -l empty"),
    says("head -c 3 a.zst > s; zstd -l s"),
    says("head -c 13 a.zst > s; zstd -l s"),
    says("zstd -l trailed.zst plain.zst"),
    says("zstd -l < a.zst"),
    says("zstd -l -"),
    says("zstd -l"),
    says("zstd -l sym"),
    says("zstd -lq a.zst; zstd -lqq b"),
    says("cat a.zst lone.zst > s; zstd -l s; zstd -lv s 2> /dev/null"),
    says(
        r"printf '\120\052\115\030\001\000\000\000a' > s; cat s a.zst s > t; zstd -l t lone.zst; zstd -lv t 2> /dev/null",
    ),
    says("zstd -q -b1 -i0 nosuch"),
    says("zstd -b -i0 --format=gzip b"),
    says("zstd -b1 -i0 empty"),
    says("zstd -b3 -i0 dir"),
    says("zstd -b1e2 -i0 b > /dev/null"),
    says("zstd -b1 -i0 -S a b > /dev/null"),
    says("zstd -b1 -i0 -B4K -T1 a b | tr '\\r' '\\n' | tail -n 1 | cut -c -3"),
    says("zstd -qb1 -i0 b | tail -n 1 | cut -c -3"),
    ends("zstd -b1 -i0 -d a.zst > /dev/null"),
    ends("zstd -b1 -i0 -d b > /dev/null"),
    ends("zstd -qb1 --priority=x b"),
];

#[test]
fn lists_and_benchmarks_are_laid_out_as_zstds() {
    if let Some(family) = Family::new("zstd", "zst") {
        family.compare(LISTS);
    }
}
