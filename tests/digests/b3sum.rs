//! b3sum and crc32.

use super::{Case, compare, ends, says};

const B3SUM: &[Case] = &[
    says("b3sum a empty text large"),
    says("b3sum a nosuch empty"),
    says("b3sum dir a"),
    says("b3sum 'new\nline' 'back\\slash' ' blank'"),
    says("b3sum --no-names a text; b3sum --raw a"),
    says("b3sum < large; b3sum - < a; cat large | b3sum"),
    says("b3sum --num-threads 1 large; b3sum --no-mmap large"),
    ends("b3sum --foo a"),
    ends("b3sum --raw a text"),
    ends("b3sum --quiet a"),
    says("b3sum a text large | b3sum -c; b3sum a text > b; b3sum --check b; b3sum -c --quiet b"),
    ends("b3sum a text > b; echo changed > text; b3sum -c b"),
    ends("b3sum a text > b; echo changed > text; b3sum -c --quiet b"),
    ends("b3sum a text > b; rm a; b3sum -c b"),
    ends("b3sum a > b; cat junk >> b; b3sum text >> b; b3sum -c b"),
    says("b3sum 'new\nline' 'back\\slash' > b; b3sum -c b"),
];

const CRC32: &[Case] = &[
    says("crc32 a empty large"),
    says("crc32 a"),
    says("crc32"),
    says("cp a 'a-[3610A686].x'; cp a 'b 3610A687.x'; crc32 'a-[3610A686].x'; crc32 'b 3610A687.x' a"),
    ends("crc32 nosuch a"),
    ends("crc32 dir a"),
    ends("crc32 - --help < a"),
];

#[test]
fn b3sum_prints_and_checks_the_same() {
    compare("b3sum", B3SUM);
}

#[test]
fn crc32_prints_the_same() {
    compare("crc32", CRC32);
}
