//! Rows of many files, and of a single one so small that only starting and ending count.
//! Outputs lie beside the files.

use super::super::Case;
use super::super::corpus::{Files, MIXED, TINY};
use super::super::judge::Target;
use super::super::machine::cores;
use super::super::measure::{Tool, Verify};
use super::{Suite, rival};
use std::path::PathBuf;

const MANY: Target = Target::must(0.60).aim(0.50);
const START_TO_END: Target = Target::must(1.50).aim(1.0);

/// One start is too short for a clock around time(1), which starts too.
const STARTS: &str = "100";

impl Suite<'_> {
    pub(super) fn many_files(&mut self) {
        let (small, many) = (&self.data.small, &self.data.many);
        let mib = format!("zst -3, {} files of 1 MiB", small.paths.len());
        let one_each = xargs(small, "1", &["zstd", "-q", "-f", "-3"], ".zst");
        let kib = |what: &str| format!("{what}, {} files of 64 KiB", many.paths.len());
        let by_32 = xargs(many, "32", &["zstd", "-q", "-f", "-3"], ".zst");
        let gzip = xargs(many, "32", &["gzip", "-q", "-f", "-k", "-6"], ".gz");
        let threads = format!("-p{}", cores());
        let pigz = ["pigz", "-q", "-f", "-k", &threads, "-6"];
        let pigz = given_all(&format!("pigz {threads}, all files"), many, &pigz, ".gz");
        let rows = [
            (self.each(&mib, small, "zst", "-3"), vec![rival(one_each, MANY)]),
            // 32 files a start: what is left to win is the rival's writing and its waiting at the end of each 32.
            (self.each(&kib("zst -3"), many, "zst", "-3"), vec![rival(by_32, Target::none())]),
            (self.each(&kib("gz -6"), many, "gz", "-6"), vec![rival(pigz, MANY), rival(gzip, MANY)]),
        ];
        for (case, rivals) in rows {
            self.add(Case { rivals, ..case });
        }
    }

    /// All files in one run of ours.
    fn each(&self, name: &str, files: &Files, format: &str, level: &str) -> Case {
        let words = [self.mh, "tamp", "-k", "-q", "-f", "--format", format, level];
        let ours = given_all("mh tamp", files, &words, &format!(".{format}"));
        let verify = Verify::PackedEach { unpack: Self::unpack(format), plain: files.paths.clone() };
        Case::new(name, MIXED, ours, Vec::new(), verify)
    }

    /// What starting costs.
    pub(super) fn tiny_file(&mut self) {
        let plain = self.data.tiny.clone();
        let rows = [("gz", "-6", "gzip", "-k"), ("zst", "-3", "zstd", "-k")];
        for (format, level, tool, keep) in rows {
            let output = beside(&plain, &format!(".{format}"));
            let repeated = |name: &str, words: &[&str]| {
                let script = format!("i=0; while [ $i -lt {STARTS} ]; do \"$@\" || exit 1; i=$((i+1)); done");
                Tool::new(name, &[&["sh", "-c", &script, "sh"], words, &[Self::text(&plain)]].concat(), &output)
            };
            let ours = repeated("mh tamp", &[self.mh, "tamp", "-q", "-f", "-k", "--format", format, level]);
            let mut theirs = repeated(tool, &[tool, "-q", "-f", keep, level]);
            theirs.program = tool.to_owned();
            let name = format!("{format} {level}, a file of 1 KiB, {STARTS} times");
            let rivals = vec![rival(theirs, START_TO_END)];
            self.add(Case::new(&name, TINY, ours, rivals, Self::packed_as(format, &plain)));
        }
    }
}

fn beside(plain: &std::path::Path, suffix: &str) -> PathBuf {
    let mut name = plain.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn writing_beside(mut tool: Tool, files: &Files, suffix: &str) -> Tool {
    tool.more_outputs = files.paths[1..].iter().map(|path| beside(path, suffix)).collect();
    tool
}

/// A tool that takes all files at once.
fn given_all(name: &str, files: &Files, words: &[&str], suffix: &str) -> Tool {
    let paths: Vec<&str> = files.paths.iter().map(|path| Suite::text(path)).collect();
    let tool = Tool::new(name, &[words, paths.as_slice()].concat(), &beside(&files.paths[0], suffix));
    writing_beside(tool, files, suffix)
}

/// A tool of one core, as many of it at a time as there are cores, each given so many files.
fn xargs(files: &Files, count: &str, words: &[&str], suffix: &str) -> Tool {
    let at_once = format!("-P{}", cores());
    let name = format!("xargs {at_once} -n{count} {}", words[0]);
    let words = [&["xargs", &at_once, "-n", count], words].concat();
    let mut tool = Tool::new(&name, &words, &beside(&files.paths[0], suffix));
    tool.stdin = Some(files.list.clone());
    tool.program = words[4].to_owned();
    writing_beside(tool, files, suffix)
}
