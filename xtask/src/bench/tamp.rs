//! The `tamp` suite: which runs against which, and what the ratios should be.
//! A target stands beside the rival it is for; a rival without one only informs. Runs nothing and makes no file.

use super::corpus::{Data, Made};
use super::forecast::Check;
use super::judge::Target;
use super::measure::{Tool, Verify};
use super::{Case, Rival};
use std::path::{Path, PathBuf};

/// Bytes a second of the slow producer: well below what two cores compress.
pub const PRODUCER_RATE: u64 = 100_000_000;

/// Bytes a second of the slow consumer, which gets packed bytes: a tenth of them, about.
pub const CONSUMER_RATE: u64 = PRODUCER_RATE / 10;

/// Names of the corpora.
pub const SOURCE: &str = "source";
const MIXED: &str = "mixed";

struct Suite<'a> {
    mh: &'a str,
    /// This program, for its producer and consumer.
    xtask: String,
    data: &'a Data,
    cases: Vec<Case>,
}

/// All cases of the suite but the throttled disk.
pub fn cases(program: &Path, data: &Data) -> Result<Vec<Case>, String> {
    let mh = program.to_str().ok_or("the program's path is not text")?;
    data.file("out").to_str().ok_or("the data folder's name is not text")?;
    let mut suite = Suite { mh, xtask: this_program()?, data, cases: Vec::new() };
    for (corpus, plain) in [(SOURCE, &data.source), (MIXED, &data.mixed)] {
        suite.compression(corpus, plain);
        suite.gunzip(corpus, plain);
        suite.unzstd(corpus, plain);
    }
    suite.one_worker();
    suite.pipes();
    suite.small_files();
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
        path.to_str().expect("the data folder's name is text")
    }

    fn unpack(format: &str) -> Vec<String> {
        if format == "gz" { words(&["gzip", "-dc"]) } else { words(&["zstd", "-qdc"]) }
    }

    fn add(&mut self, name: &str, corpus: &'static str, ours: Tool, rivals: Vec<Rival>, verify: Verify) {
        self.cases.push(Case { name: name.to_owned(), corpus, ours, rivals, verify, needs: Vec::new() });
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

    /// A tool that can only write to standard output.
    fn piping(name: &str, words: &[&str], input: &Path, output: &Path) -> Tool {
        Tool::new(name, &[words, &[Self::text(input)]].concat(), output).into_stdout()
    }

    fn compression(&mut self, corpus: &'static str, plain: &Path) {
        let out = self.data.file("out");
        for level in ["-1", "-6", "-9"] {
            let ours = self.tamp("mh tamp", &["--format", "gz", level], plain, &out);
            let pigz = Self::piping("pigz -p2", &["pigz", "-p2", level, "-k", "-c"], plain, &out);
            let verify = Verify::Packed { unpack: Self::unpack("gz"), plain: plain.to_owned() };
            self.add(&format!("gz {level}"), corpus, ours, vec![rival(pigz, Target::must(0.60).aim(0.45))], verify);
        }
        for level in ["-1", "-3", "-9"] {
            let ours = self.tamp("mh tamp", &["--format", "zst", level], plain, &out);
            let zstd = Self::zstd("zstd -T2", &["-T2", level], plain, &out);
            let verify = Verify::Packed { unpack: Self::unpack("zst"), plain: plain.to_owned() };
            self.add(&format!("zst {level}"), corpus, ours, vec![rival(zstd, Target::must(0.95).aim(0.75))], verify);
        }
    }

    /// A packed file in the data folder, and how it is made.
    fn packed(&self, corpus: &str, name: &str, packer: &str, plain: &Path) -> Made {
        let path = self.data.file(&format!("{corpus}-{name}"));
        Made { path, script: format!("{packer} '{}'", plain.display()) }
    }

    fn gunzip(&mut self, corpus: &'static str, plain: &Path) {
        let (mh, out) = (self.mh, self.data.file("out"));
        let foreign = || self.packed(corpus, "pigz.gz", "pigz -p2 -6 -c", plain);
        let own = self.packed(corpus, "own.gz", &format!("'{mh}' tamp -q --format gz -6 -c"), plain);
        let bgzf = self.packed(corpus, "bgzf.gz", &format!("'{mh}' tamp -q --bgzf -6 -c"), plain);
        let theirs = |name: &str, words: &[&str]| Self::piping(name, words, &foreign().path, &out);
        let pigz = theirs("pigz -d", &["pigz", "-dc"]);
        let foreign_rivals = vec![
            rival(pigz.clone(), Target::must(0.50)),
            informs(theirs("igzip -d", &["igzip", "-dc"])),
            informs(theirs("libdeflate -d", &["libdeflate-gzip", "-dc"])),
            informs(theirs("gzip -d", &["gzip", "-dc"])),
        ];
        let bgzip = Self::piping("bgzip -@2 -d", &["bgzip", "-@2", "-dc"], &bgzf.path, &out);
        let cases = [
            ("gunzip, pigz's file", foreign().path, foreign_rivals),
            ("gunzip, own members", own.path.clone(), vec![rival(pigz.clone(), Target::must(0.45).aim(0.30))]),
            ("gunzip, BGZF", bgzf.path.clone(), vec![informs(bgzip), informs(pigz)]),
        ];
        let needs = [vec![foreign()], vec![own, foreign()], vec![bgzf, foreign()]];
        for ((name, packed, rivals), needs) in cases.into_iter().zip(needs) {
            let ours = self.tamp("mh tamp -d", &["-d"], &packed, &out);
            let verify = Verify::Plain(plain.to_owned());
            self.cases.push(Case { name: name.to_owned(), corpus, ours, rivals, verify, needs });
        }
    }

    fn unzstd(&mut self, corpus: &'static str, plain: &Path) {
        let (mh, out) = (self.mh, self.data.file("out"));
        let frame = || self.packed(corpus, "zstd.zst", "zstd -q -3 -c", plain);
        let own = self.packed(corpus, "own.zst", &format!("'{mh}' tamp -q --format zst -3 -c"), plain);
        let zstd = Self::zstd("zstd -d", &["-d"], &frame().path, &out);
        let cases = [
            ("unzstd, ordinary frame", frame().path, Target::must(1.05)),
            ("unzstd, own frames", own.path.clone(), Target::must(0.65).aim(0.50)),
        ];
        let needs = [vec![frame()], vec![own, frame()]];
        for ((name, packed, target), needs) in cases.into_iter().zip(needs) {
            let ours = self.tamp("mh tamp -d", &["-d"], &packed, &out);
            let (rivals, verify) = (vec![rival(zstd.clone(), target)], Verify::Plain(plain.to_owned()));
            self.cases.push(Case { name: name.to_owned(), corpus, ours, rivals, verify, needs });
        }
    }

    fn one_worker(&mut self) {
        let (plain, out) = (self.data.source.clone(), self.data.file("out"));
        let verify = |format| Verify::Packed { unpack: Self::unpack(format), plain: plain.clone() };
        let ours = self.tamp("mh tamp -j1", &["-j1", "--format", "zst", "-3"], &plain, &out);
        let zstd = Self::zstd("zstd -T1", &["-T1", "-3"], &plain, &out);
        self.add("one worker, zst -3", SOURCE, ours, vec![rival(zstd, Target::must(1.05))], verify("zst"));
        let ours = self.tamp("mh tamp -j1", &["-j1", "--format", "gz", "-6"], &plain, &out);
        let libdeflate = Self::piping("libdeflate-gzip", &["libdeflate-gzip", "-6", "-c"], &plain, &out);
        self.add("one worker, gz -6", SOURCE, ours, vec![rival(libdeflate, Target::must(1.05))], verify("gz"));
    }

    fn pipes(&mut self) {
        let (plain, out, mh) = (self.data.source.clone(), self.data.file("out"), self.mh);
        let verify = || Verify::Packed { unpack: Self::unpack("zst"), plain: plain.clone() };
        let piped = |name: &str, arguments: &[&str]| Tool::new(name, arguments, &out).into_stdout();
        let both =
            || [piped("mh tamp", &[mh, "tamp", "-q", "-3"]), piped("zstd -T2", &["zstd", "-q", "-c", "-T2", "-3"])];
        let rate = PRODUCER_RATE.to_string();
        let producer = words(&[&self.xtask, "produce", "--file", Self::text(&plain), "--rate", &rate]);
        let consumer = words(&[&self.xtask, "consume", "--rate", &CONSUMER_RATE.to_string()]);
        let from_file = |mut tool: Tool| {
            tool.stdin = Some(plain.clone());
            tool
        };
        let [ours, zstd] = both().map(from_file);
        self.add("zst -3, stdin to stdout", SOURCE, ours, vec![informs(zstd)], verify());
        let [ours, zstd] = both().map(|mut tool| {
            tool.producer = Some(producer.clone());
            tool
        });
        self.add("zst -3, slow producer", SOURCE, ours, vec![informs(zstd)], verify());
        let [ours, zstd] = both().map(from_file).map(|mut tool| {
            tool.consumer = Some(consumer.clone());
            tool
        });
        self.add("zst -3, slow consumer", SOURCE, ours, vec![informs(zstd)], verify());
    }

    fn small_files(&mut self) {
        let inputs: Vec<&str> = self.data.small.iter().map(|path| Self::text(path)).collect();
        let outputs: Vec<PathBuf> = self.data.small.iter().map(|path| path.with_extension("zst")).collect();
        let with_outputs = |mut tool: Tool| {
            tool.more_outputs = outputs[1..].to_vec();
            tool
        };
        let ours = [&[self.mh, "tamp", "-k", "-q", "-f", "-3"], inputs.as_slice()].concat();
        let script = format!("printf '%s\\n' {} | xargs -P2 -n1 zstd -q -f -3", inputs.join(" "));
        let ours = with_outputs(Tool::new("mh tamp", &ours, &outputs[0]));
        let zstd = with_outputs(Tool::new("xargs -P2 zstd", &["sh", "-c", &script], &outputs[0]));
        let name = format!("zst -3, {} files of 1 MiB", inputs.len());
        let verify = Verify::PackedEach { unpack: Self::unpack("zst"), plain: self.data.small.clone() };
        self.add(&name, MIXED, ours, vec![informs(zstd)], verify);
    }

    /// What starting costs.
    fn tiny_file(&mut self) {
        let (plain, out) = (self.data.tiny.clone(), self.data.file("out"));
        let verify = |format| Verify::Packed { unpack: Self::unpack(format), plain: plain.clone() };
        let ours = self.tamp("mh tamp", &["--format", "zst", "-3"], &plain, &out);
        let zstd = Self::zstd("zstd -T2", &["-T2", "-3"], &plain, &out);
        self.add("zst -3, a file of 1 KiB", SOURCE, ours, vec![informs(zstd)], verify("zst"));
        let ours = self.tamp("mh tamp", &["--format", "gz", "-6"], &plain, &out);
        let pigz = Self::piping("pigz -p2", &["pigz", "-p2", "-6", "-k", "-c"], &plain, &out);
        self.add("gz -6, a file of 1 KiB", SOURCE, ours, vec![informs(pigz)], verify("gz"));
    }
}

/// Forecasts to be held against real runs.
pub fn forecasts(program: &Path, data: &Data) -> Result<Vec<Check>, String> {
    let (mh, this) = (program.display(), this_program()?);
    let (input, output) = (data.source.display(), data.file("out").display().to_string());
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
        let folder = tempfile::tempdir().expect("a folder");
        let data = Data::at(folder.path(), true, true);
        let cases = cases(Path::new("/b/mh"), &data).expect("the names are text");
        let mut names: Vec<String> = cases.iter().map(|case| format!("{} {}", case.name, case.corpus)).collect();
        assert_eq!(names.len(), 2 * 11 + 8);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len(), "each name and corpus once");
        assert_eq!(forecasts(Path::new("/b/mh"), &data).expect("the names are text").len(), 4);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn what_is_unpacked_is_made_first() {
        let data = Data::at(Path::new("/nowhere"), true, true);
        let cases = cases(Path::new("/b/mh"), &data).expect("the names are text");
        for case in cases.iter().filter(|case| case.name.starts_with("gunzip") || case.name.starts_with("unzstd")) {
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
