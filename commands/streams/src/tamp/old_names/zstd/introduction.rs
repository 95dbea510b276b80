//! `zstd -V`: a line that scripts can parse. The version is that of the library and of the manual we follow; our own name
//! stands in the same line.

use super::super::Wish;
use super::loudness;

/// The version of zstd that is followed.
const VERSION: &str = "1.5.7";

/// The version line of zstd's program, with our name in it.
pub(super) fn welcome() -> String {
    format!("*** Zstandard CLI (64-bit) v{VERSION} (compatible; manyhands {}) ***", env!("CARGO_PKG_VERSION"))
}

/// The output of `-V`: the number alone when quiet, the formats too when verbose.
pub(super) fn version(wish: &Wish) -> String {
    match loudness(wish) {
        ..0 => format!("{VERSION}\n"),
        0 => format!("{}\n", welcome()),
        1.. => format!("{}\n*** supports: zstd, gzip, lz4, lzma, xz \n", welcome()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_find_the_version() {
        let mut wish = Wish::new("zstd");
        assert!(version(&wish).starts_with("*** Zstandard CLI (64-bit) v1.5.7"));
        wish.args.quiet = 1;
        assert_eq!(version(&wish), "1.5.7\n");
    }
}
