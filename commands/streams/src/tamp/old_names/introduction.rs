//! A tool's texts about itself: a version line that scripts can parse, and which stream it goes to.
//! A version is the one whose manual and messages we follow; our own name stands in the same line.

/// The version line of a name.
pub(super) fn version_line(name: &str) -> String {
    let ours = concat!("manyhands ", env!("CARGO_PKG_VERSION"));
    match name {
        "gzip" => format!("gzip 1.12 (compatible; {ours})"),
        "gunzip" | "zcat" => format!("{name} (gzip) 1.12 (compatible; {ours})"),
        "pigz" | "unpigz" => format!("pigz 2.6 (compatible; {ours})"),
        "bzip2" | "bunzip2" | "bzcat" => {
            format!("bzip2, a block-sorting file compressor.  Version 1.0.8 (compatible; {ours})")
        }
        "lbzip2" => format!("lbzip2 version 2.5 (compatible; {ours})"),
        "lz4" | "unlz4" | "lz4cat" => format!("*** LZ4 command line interface 64-bits v1.9.4 (compatible; {ours}) ***"),
        _ => format!("{name} ({ours})"),
    }
}

/// Whether the tool prints help and version on standard error.
pub(super) fn goes_to_stderr(name: &str) -> bool {
    matches!(name, "bzip2" | "bunzip2" | "bzcat")
}

/// The first lines of a help text.
pub(super) fn help_begins(name: &str) -> String {
    let version = version_line(name);
    let ours = "mh tamp under an old name, on all cores";
    match name {
        "gzip" | "gunzip" | "zcat" => format!("Usage: {name} [OPTION]... [FILE]...\n{version}: {ours}\n"),
        "pigz" | "unpigz" => format!("Usage: {name} [options] [files ...]\n{version}: {ours}\n"),
        "lz4" | "unlz4" | "lz4cat" => format!("{version}\nUsage : \n      {name} [arg] [input] [output] \n\n{ours}\n"),
        "bzip2" | "bunzip2" | "bzcat" | "lbzip2" => {
            format!("{version}\n\n   usage: {name} [flags and input files in any order]\n\n{ours}\n")
        }
        _ => format!("{version}: {ours}\n\nusage: {name} [OPTIONS] [FILE...]\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_version_line_is_the_tools() {
        let first = |name| {
            let line = version_line(name);
            let digits = line.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
            digits.map(|part| part.trim_matches('.')).find(|part| part.contains('.')).map(str::to_owned)
        };
        assert_eq!(first("gzip").as_deref(), Some("1.12"));
        assert_eq!(first("bzip2").as_deref(), Some("1.0.8"));
        assert_eq!(first("lz4").as_deref(), Some("1.9.4"));
    }
}
