//! xxhsum. Its messages on a terminal's line begin with blanks that wipe out its progress, so they are not compared.

use super::{Case, compare, ends};

const XXHSUM: &[Case] = &[
    ends("xxhsum a empty text large"),
    ends(
        "xxhsum -H0 a; xxhsum -H1 a; xxhsum -H2 a; xxhsum -H3 a large; xxhsum -H32 a; xxhsum -H64 a; xxhsum -H128 large",
    ),
    ends("xxhsum --tag a; xxhsum --tag -H0 a; xxhsum --tag -H2 a; xxhsum --tag -H3 a"),
    ends("xxhsum --little-endian a; xxhsum --tag --little-endian a; xxhsum -H2 --little-endian --tag a"),
    ends("xxhsum < a; xxhsum - < a; cat large | xxhsum -H2"),
    ends("xxhsum 'new\nline' 'back\\slash'"),
    ends("xxhsum a nosuch empty"),
    ends("xxhsum dir a"),
    ends("xxhsum --foo a"),
    ends("xxhsum -H9 a"),
    ends("xxhsum a empty > x; xxhsum -c x; xxhsum -cq x; xxhsum -c --status x"),
    ends("xxhsum a empty | xxhsum -c"),
    ends(
        "(xxhsum -H0 a; xxhsum a; xxhsum -H2 a; xxhsum -H3 a; xxhsum --tag a; xxhsum --tag --little-endian a) > x; xxhsum -c x",
    ),
    ends("xxhsum a text > x; cat junk >> x; xxhsum -c x"),
    ends("xxhsum a text > x; cat junk >> x; xxhsum -c --strict x"),
    ends("xxhsum a text > x; cat junk >> x; xxhsum -c --warn x"),
    ends("xxhsum a text > x; echo changed > text; xxhsum -c x"),
    ends("xxhsum a text > x; echo changed > text; echo changed > a; xxhsum -cq x"),
    ends("xxhsum a text > x; rm text; xxhsum -c x"),
    ends("xxhsum -c nosuch"),
    ends("xxhsum -c junk"),
];

#[test]
fn xxhsum_prints_and_checks_the_same() {
    compare("xxhsum", XXHSUM);
}
