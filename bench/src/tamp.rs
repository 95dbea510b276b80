//! The `tamp` suite: which runs against which, and what the ratios should be; rows by kind in the directory beside this file.
//! A target stands beside the rival it is for; a rival without one only informs. Runs nothing and makes no file.

mod compression;
mod decompression;
mod files;
mod one_worker;

use super::corpus::{Corpus, Data, Made};
use super::forecast::Check;
use super::judge::Target;
use super::machine;
use super::measure::{Tool, Verify};
use super::{Case, Rival};
use std::path::Path;

/// Bytes a second of the slow producer: well below what two cores compress.
pub const PRODUCER_RATE: u64 = 100_000_000;

/// Bytes a second of the slow consumer, which gets packed bytes: a tenth of them, about.
pub const CONSUMER_RATE: u64 = PRODUCER_RATE / 10;

/// The corpus of the forecasts and the pipes.
pub const SOURCE: &str = super::corpus::SOURCE;

struct Suite<'a> {
    mh: &'a str,
    /// This program, for its producer and consumer.
    bench: String,
    data: &'a Data,
    cases: Vec<Case>,
}

/// All cases of the suite but the throttled disk.
pub fn cases(program: &Path, data: &Data) -> Result<Vec<Case>, String> {
    let mh = program.to_str().ok_or("the program's path is not text")?;
    data.file("out").to_str().ok_or("the data directory's name is not text")?;
    let mut suite = Suite { mh, bench: this_program()?, data, cases: Vec::new() };
    for corpora in [&data.source, &data.mixed] {
        suite.compression(corpora);
        suite.decompression(corpora);
    }
    // What takes half a minute a run, or as long to make: of one corpus only.
    suite.slow_compression(&data.source);
    suite.unxz(&data.source.middle);
    suite.one_worker();
    suite.pipes();
    suite.many_files();
    suite.tiny_file();
    Ok(suite.cases)
}

fn this_program() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
    path.to_str().map(str::to_owned).ok_or_else(|| "this program's path is not text".to_owned())
}

fn rival(tool: Tool, target: Target) -> Rival {
    Rival { tool, target }
}

fn informs(tool: Tool) -> Rival {
    Rival { tool, target: Target::none() }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Suite<'_> {
    fn text(path: &Path) -> &str {
        path.to_str().expect("the data directory's name is text")
    }

    /// The tool that unpacks a format for verification: the format's own, not ours.
    fn unpack(format: &str) -> Vec<String> {
        match format {
            "gz" => words(&["gzip", "-dc"]),
            "zst" => words(&["zstd", "-qdc"]),
            "lz4" => words(&["lz4", "-qdc"]),
            "xz" => words(&["xz", "-dc"]),
            "bz2" => words(&["bzip2", "-dc"]),
            other => unreachable!("no suite has the format {other}"),
        }
    }

    fn packed_as(format: &str, plain: &Path) -> Verify {
        Verify::Packed { unpack: Self::unpack(format), plain: plain.to_owned() }
    }

    fn add(&mut self, case: Case) {
        self.cases.push(case);
    }

    /// From file to file.
    fn tamp(&self, name: &str, options: &[&str], input: &Path, output: &Path) -> Tool {
        let ends = [Self::text(input), "-o", Self::text(output)];
        Tool::new(name, &[&[self.mh, "tamp", "-q", "-k", "-f"], options, &ends].concat(), output)
    }

    fn zstd(name: &str, options: &[&str], input: &Path, output: &Path) -> Tool {
        let ends = [Self::text(input), "-o", Self::text(output)];
        Tool::new(name, &[&["zstd", "-q", "-f"], options, &ends].concat(), output)
    }

    /// Called as `lz4 -1 INPUT OUTPUT`.
    fn between(name: &str, words: &[&str], input: &Path, output: &Path) -> Tool {
        Tool::new(name, &[words, &[Self::text(input), Self::text(output)]].concat(), output)
    }

    /// A tool that can only write to standard output.
    fn piping(name: &str, words: &[&str], input: &Path, output: &Path) -> Tool {
        Tool::new(name, &[words, &[Self::text(input)]].concat(), output).into_stdout()
    }

    /// A packed file in the data directory, and how it is made.
    fn packed(&self, corpus: &Corpus, name: &str, packer: &str) -> Made {
        let path = self.data.file(&format!("{}-{name}", corpus.name));
        Made { path, script: format!("{packer} '{}'", corpus.plain.display()) }
    }

    fn pipes(&mut self) {
        let (plain, out, mh) = (self.data.source.whole.plain.clone(), self.data.file("out"), self.mh);
        let case = |name: &str, ours: Tool, zstd: Tool| {
            Case::new(name, SOURCE, ours, vec![informs(zstd)], Self::packed_as("zst", &plain))
        };
        let piped = |name: &str, arguments: &[&str]| Tool::new(name, arguments, &out).into_stdout();
        let threads = format!("-T{}", machine::cores());
        let zstd = format!("zstd {threads}");
        let both =
            || [piped("mh tamp", &[mh, "tamp", "-q", "-3"]), piped(&zstd, &["zstd", "-q", "-c", &threads, "-3"])];
        let rate = PRODUCER_RATE.to_string();
        let producer = words(&[&self.bench, "produce", "--file", Self::text(&plain), "--rate", &rate]);
        let consumer = words(&[&self.bench, "consume", "--rate", &CONSUMER_RATE.to_string()]);
        let from_file = |mut tool: Tool| {
            tool.stdin = Some(plain.clone());
            tool
        };
        let [ours, zstd] = both().map(from_file);
        self.add(case("zst -3, stdin to stdout", ours, zstd));
        let [ours, zstd] = both().map(|mut tool| {
            tool.producer = Some(producer.clone());
            tool
        });
        self.add(case("zst -3, slow producer", ours, zstd));
        let [ours, zstd] = both().map(from_file).map(|mut tool| {
            tool.consumer = Some(consumer.clone());
            tool
        });
        self.add(case("zst -3, slow consumer", ours, zstd));
    }
}

/// Forecasts to be held against real runs.
pub fn forecasts(program: &Path, data: &Data) -> Result<Vec<Check>, String> {
    let (mh, this) = (program.display(), this_program()?);
    let (input, output) = (data.source.whole.plain.display(), data.file("out").display().to_string());
    let check = |name: &str, before: String, command: String, after: String| {
        let name = format!("forecast: {name}");
        Check { name, before, command, after }
    };
    let gz = format!("'{mh}' tamp -q -k -f --format gz -6 '{input}' -o '{output}'");
    let zst = format!("'{mh}' tamp -q -3");
    let into_file = format!("> '{output}'");
    let producer = format!("'{this}' produce --file '{input}' --rate {PRODUCER_RATE} |");
    let consumer = format!("| '{this}' consume --rate {CONSUMER_RATE} > '{output}'");
    Ok(vec![
        check("gz -6 from a file", String::new(), gz, String::new()),
        check("zst -3 from a pipe", format!("cat '{input}' |"), zst.clone(), into_file.clone()),
        check("slow reader", producer, zst.clone(), into_file),
        check("slow writer", String::new(), format!("{zst} -c '{input}'"), consumer),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_can_be_listed_without_making_anything() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = Data::at(directory.path(), true, true);
        let cases = cases(Path::new("/b/mh"), &data).expect("the names are text");
        let mut names: Vec<String> = cases.iter().map(|case| format!("{} {}", case.name, case.corpus)).collect();
        assert_eq!(names.len(), 2 * (9 + 12) + 4 + 5 + 3 + 3 + 2);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len(), "each name and corpus once");
        assert_eq!(forecasts(Path::new("/b/mh"), &data).expect("the names are text").len(), 4);
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn what_is_unpacked_is_made_first() {
        let data = Data::at(Path::new("/nowhere"), true, true);
        let cases = cases(Path::new("/b/mh"), &data).expect("the names are text");
        for case in cases.iter().filter(|case| !case.needs.is_empty()) {
            for tool in std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool)) {
                let is_made = case
                    .needs
                    .iter()
                    .any(|made| tool.arguments.iter().any(|word| *word == made.path.display().to_string()));
                assert!(is_made, "{}, {}", case.name, tool.name);
            }
        }
    }
}
