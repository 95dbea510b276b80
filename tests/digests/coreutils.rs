//! md5sum and its relatives, b2sum, cksum.

use super::{Case, compare, ends, says};

const MD5SUM: &[Case] = &[
    says("md5sum a empty text large"),
    says("md5sum a nosuch dir - 'new\nline' 'back\\slash' \"$(printf 'return\\r')\" ' blank' < text"),
    says("md5sum --tag a 'new\nline'"),
    says("md5sum -z a 'new\nline' 'back\\slash'"),
    says("md5sum -b a"),
    says("md5sum -bt a"),
    says("md5sum -tb a"),
    says("md5sum --tag -b a"),
    says("md5sum --tag --text a"),
    says("md5sum -bt --tag a"),
    says("md5sum < a"),
    says("md5sum - < a"),
    says("md5sum link dangling"),
    says("cat large | md5sum"),
    says("md5sum /proc/version /sys/class/net/lo/mtu /dev/null"),
    says("md5sum --foo"),
    says("md5sum -x a"),
    says("md5sum --st a"),
    says("md5sum --che"),
    says("md5sum --check=a a"),
    says("md5sum -l 8 a"),
    says("md5sum -- -c"),
    says("md5sum a -c"),
    says("md5sum --status a"),
    says("md5sum --quiet a"),
    says("md5sum --strict a"),
    says("md5sum -w a"),
    says("md5sum --ignore-missing a"),
    says("md5sum --tag -c a"),
    says("md5sum -zc a"),
    says("md5sum -bc a"),
    says("md5sum -ct a"),
    says("md5sum --quiet --warn a"),
];

const CHECKS: &[Case] = &[
    says("md5sum a empty > m; md5sum -c m"),
    says("md5sum a empty | md5sum -c"),
    says("md5sum a empty | md5sum -c -"),
    says("md5sum -c nosuch"),
    says("md5sum -c dir"),
    says("md5sum -c empty"),
    says("md5sum -c junk"),
    says("md5sum -c junk --status"),
    says("md5sum a > m; sha256sum a > s; md5sum -c m s"),
    says("md5sum a > m; sha256sum a > s; md5sum -c s m"),
    says(
        "md5sum 'new\nline' 'back\\slash' \"$(printf 'return\\r')\" ' blank' \"it's \\$5\" > m; md5sum -c m; echo x > 'new\nline'; md5sum -c m; rm 'new\nline'; md5sum -c m",
    ),
    says("md5sum --tag 'new\nline' 'back\\slash' ' blank' > m; md5sum -c m"),
    says("md5sum -b a > m; md5sum -c m"),
    says(
        "md5sum a text > m; cat junk >> m; echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch' >> m; echo changed > text; md5sum -c m",
    ),
    says(
        "md5sum a text > m; cat junk >> m; echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch' >> m; echo changed > text; md5sum -cw m",
    ),
    says(
        "md5sum a text > m; cat junk junk >> m; echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch' >> m; echo changed > text; md5sum -c --quiet m",
    ),
    says(
        "md5sum a text > m; cat junk >> m; echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch' >> m; echo changed > text; md5sum -c --status m",
    ),
    says("md5sum a text > m; cat junk >> m; md5sum -c --strict m"),
    says("md5sum a text > m; cat junk >> m; md5sum -c m"),
    says("(echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch'; md5sum a) | md5sum -c --ignore-missing"),
    says("echo 'd41d8cd98f00b204e9800998ecf8427e  nosuch' | md5sum -c --ignore-missing"),
    says("echo 'd41d8cd98f00b204e9800998ecf8427e  dir' | md5sum -c"),
    says("echo 'd41d8cd98f00b204e9800998ecf8427e  -' | md5sum -c"),
    says("printf '# c\\n\\nd41d8cd98f00b204e9800998ecf8427e  empty\\r\\n' | md5sum -c"),
    says("printf 'D41D8CD98F00B204E9800998ECF8427E *empty' | md5sum -c"),
    says("printf ' \\t d41d8cd98f00b204e9800998ecf8427e  empty\\n' | md5sum -c"),
    says("printf 'd41d8cd98f00b204e9800998ecf8427e empty\\n' | md5sum -c"),
    says("printf 'd41d8cd98f00b204e9800998ecf8427e  empty\\nd41d8cd98f00b204e9800998ecf8427e empty\\n' | md5sum -c"),
    says("printf 'd41d8cd98f00b204e9800998ecf8427e empty\\nd41d8cd98f00b204e9800998ecf8427e  empty\\n' | md5sum -c"),
    says("printf '\\\\d41d8cd98f00b204e9800998ecf8427e  no\\\\xsuch\\n' | md5sum -c"),
    says("printf '\\\\d41d8cd98f00b204e9800998ecf8427e  no\\\\nsuch\\n' | md5sum -c"),
    says("printf 'd41d8cd98f00b204e9800998ecf8427e  no\\\\nsuch\\n' | md5sum -c"),
    says(
        "printf 'MD5 (empty) = d41d8cd98f00b204e9800998ecf8427e\\nMD5(empty)= d41d8cd98f00b204e9800998ecf8427e\\nMD5  (empty) = d41d8cd98f00b204e9800998ecf8427e\\n' | md5sum -cw",
    ),
    says("printf 'SHA1 (empty) = d41d8cd98f00b204e9800998ecf8427e\\n' | md5sum -c"),
    says(
        "printf 'd41d8cd98f00b204e9800998ecf8427eempty\\nd41d8cd98f00b204e9800998ecf8427  empty\\nd41d8cd98f00b204e9800998ecf8427g  empty\\n' | md5sum -cw",
    ),
    says("printf 'd41d8cd98f00b204e9800998ecf8427e  \\n' | md5sum -cw"),
    says("md5sum a > m; md5sum -c --quiet --status m; md5sum -c --status --quiet m; md5sum -c --status --warn m"),
    says("md5sum a | md5sum -c a -"),
];

const OTHERS: &[Case] = &[
    says(
        "for tool in sha1sum sha224sum sha256sum sha384sum sha512sum b2sum; do $tool a empty large; $tool --tag a; $tool a text | $tool -c; $tool --tag a | $tool -c; done",
    ),
    says("sha256sum a | sha512sum -c"),
    says("sha256sum nosuch"),
    says("b2sum -l 128 a; b2sum -l 128 --tag a; b2sum -l 512 a; b2sum -l 0 a"),
    ends("b2sum -l 7 a"),
    ends("b2sum -l 520 a"),
    ends("b2sum -l x a"),
    says("b2sum -l 128 a | b2sum -c; b2sum -l 128 --tag a | b2sum -c; b2sum a | b2sum -c -l 128"),
    says("printf 'BLAKE2b-7 (a) = 00\\n' | b2sum -c"),
    says("(b2sum -l 8 a; b2sum -l 16 a; b2sum a) | b2sum -c"),
];

const CKSUM: &[Case] = &[
    says("cksum a empty text large nosuch - < a"),
    says("cksum < a"),
    says("cksum - < a"),
    says("cat large | cksum"),
    says("cksum 'new\nline'"),
    says(
        "for type in bsd sysv crc md5 sha1 sha224 sha256 sha384 sha512 blake2b sm3; do cksum -a $type a large; cksum -a $type < a; cksum -a $type --untagged a; done",
    ),
    says("cksum -a sha3x a 2>&1 | head -n 0"),
    ends("cksum -a foo a"),
    says("cksum -a sha25 a"),
    ends("cksum -a sha a"),
    says("cksum -a md5 'new\nline'"),
    says("cksum -za md5 'new\nline'"),
    says("cksum --tag a; cksum --untagged a"),
    says("cksum -a blake2b -l 256 a; cksum -a blake2b -l 256 --untagged a"),
    says("cksum -l 8 a"),
    says("cksum -a md5 -l 8 a"),
    says("(cksum -a md5 a; cksum -a sha512 a; cksum -a sm3 a; cksum -a blake2b a; cksum -a blake2b -l 8 a) | cksum -c"),
    says("cksum -a sha256 --untagged a | cksum -c"),
    says("cksum -a sha256 --untagged a | cksum -a sha256 -c"),
    says("cksum -a sha256 a | cksum -a sha256 -c"),
    says("cksum -a sha256 a | cksum -a md5 -c"),
    says("cksum -a crc -c a"),
    says("cksum -c a"),
    says("cksum -cw junk"),
    says("cksum -ca md5 --warn junk"),
    says("cksum a | cksum -c"),
    says("cksum -b a"),
    says("cksum --untagged -a sm3 text | cksum -a sm3 --check"),
];

#[test]
fn md5sum_prints_the_same() {
    compare("md5sum", MD5SUM);
}

#[test]
fn md5sum_checks_the_same() {
    compare("md5sum", CHECKS);
}

#[test]
fn the_relatives_of_md5sum_print_and_check_the_same() {
    compare("b2sum", OTHERS);
}

#[test]
fn cksum_prints_and_checks_the_same() {
    compare("cksum", CKSUM);
}
