//! What a run directory says about the machine and the rivals: never its name, nor who owns it.
//! Read once before and once after; measures nothing.

use std::process::{Command, Stdio};

/// `2cpu-epyc`.
pub fn name() -> String {
    format!("{}cpu-{}", cores(), family(&cpu_model()))
}

/// What rivals that take a number of threads are given: all that this machine has.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn family(model: &str) -> &'static str {
    let model = model.to_lowercase();
    let known = ["epyc", "xeon", "ryzen", "threadripper", "core", "graviton", "ampere"];
    known.into_iter().find(|family| model.contains(family)).unwrap_or("cpu")
}

pub fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map_or("unknown".to_owned(), |line| line.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// The number only: a local build's suffix names its builder.
pub fn kernel() -> String {
    first_line("uname", &["-r"]).split('-').next().unwrap_or_default().to_owned()
}

pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

pub fn date() -> String {
    first_line("date", &["-u", "+%Y-%m-%d"])
}

/// A program, and what makes it tell its version.
pub type Asked<'a> = (&'a str, &'a [&'a str]);

/// One line of Markdown for each rival.
pub fn rivals() -> String {
    versions(&[
        ("pigz", &["--version"]),
        ("zstd", &["--version"]),
        ("gzip", &["--version"]),
        ("igzip", &["--version"]),
        ("bgzip", &["--version"]),
        ("libdeflate-gzip", &["-V"]),
        ("lz4", &["--version"]),
        ("xz", &["--version"]),
        // It does not tell its version.
        ("dpkg-query", &["--show", "pixz"]),
        ("bzip2", &["--help"]),
        ("lbzip2", &["--version"]),
        ("pbzip2", &["--version"]),
        ("rapidgzip", &["--version"]),
        ("gzippy", &["--version"]),
    ])
}

/// One line of Markdown for each program.
pub fn versions(asked: &[Asked<'_>]) -> String {
    let name = |program: &str, arguments: &[&str]| match program {
        "dpkg-query" => arguments[1..].join(", "),
        other => other.to_owned(),
    };
    let line = |(program, arguments): &Asked<'_>| {
        format!("- {}: {}\n", name(program, arguments), first_line(program, arguments))
    };
    asked.iter().map(line).collect()
}

/// What a program says first, on standard output or else on standard error.
pub fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().next().unwrap_or("not installed").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found_in_a_model() {
        assert_eq!(family("AMD EPYC 7763 64-Core Processor"), "epyc");
        assert_eq!(family("Intel(R) Xeon(R) Platinum 8488C"), "xeon");
        assert_eq!(family("something else"), "cpu");
    }

    #[test]
    fn what_is_not_installed_is_said_to_be() {
        assert_eq!(first_line("no-such-program-anywhere", &[]), "not installed");
        assert_eq!(first_line("echo", &["a\nb"]), "a");
    }
}
