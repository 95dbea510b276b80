//! Rows of compression, by format and level: file to file, on all cores.
//! These are also the points of the chart of wall time against size.

use super::super::corpus::{Corpora, Corpus};
use super::super::judge::Target;
use super::super::machine::cores;
use super::super::measure::Tool;
use super::super::{Case, Rival};
use super::{Suite, informs, rival};
use std::path::Path;

/// Level by level.
const GZ: Target = Target::must(0.60).aim(0.45);
const ZST: Target = Target::must(0.90).aim(0.75);
const LZ4: Target = Target::must(0.60).aim(0.50);
const XZ: Target = Target::must(1.03).aim(0.95);
/// Of lbzip2.
const BZ2: Target = Target::must(1.0).aim(0.60);

impl Suite<'_> {
    /// What takes seconds.
    pub(super) fn compression(&mut self, corpora: &Corpora) {
        for level in ["-1", "-6", "-9"] {
            self.packing("gz", level, &corpora.whole, false);
        }
        for level in ["-1", "-3", "-9"] {
            self.packing("zst", level, &corpora.whole, false);
        }
        self.packing("lz4", "-1", &corpora.whole, false);
        self.packing("xz", "-1", &corpora.short, false);
        self.packing("bz2", "-9", &corpora.middle, false);
    }

    /// What takes half a minute a run.
    pub(super) fn slow_compression(&mut self, corpora: &Corpora) {
        self.packing("zst", "-19", &corpora.short, true);
        self.packing("xz", "-6", &corpora.middle, true);
    }

    fn packing(&mut self, format: &'static str, level: &'static str, corpus: &Corpus, is_slow: bool) {
        let (plain, out) = (&corpus.plain, self.data.file("out"));
        let ours = self.tamp("mh tamp", &["--format", format, level], plain, &out);
        let rivals = packers(format, level, plain, &out);
        let verify = Self::packed_as(format, plain);
        let case = Case::new(&format!("{format} {level}"), corpus.name, ours, rivals, verify);
        self.add(Case { level: Some((format, level)), is_slow, ..case });
    }
}

fn packers(format: &str, level: &str, plain: &Path, out: &Path) -> Vec<Rival> {
    let piping = |name: &str, words: &[&str]| Suite::piping(name, &[words, &[level, "-k", "-c"]].concat(), plain, out);
    let cores = cores().to_string();
    // Named and called as `pigz -p2`.
    let with_threads = |program: &str, option: &str| {
        let option = format!("{option}{cores}");
        piping(&format!("{program} {option}"), &[program, &option])
    };
    let zstd = || {
        let threads = format!("-T{cores}");
        Suite::zstd(&format!("zstd {threads}"), &[&threads, level], plain, out)
    };
    let pzstd = || -> Tool {
        let ends = [Suite::text(plain), "-o", Suite::text(out)];
        let words = ["pzstd", "-q", "-f", "-p", &cores, level];
        Tool::new(&format!("pzstd -p {cores}"), &[&words, ends.as_slice()].concat(), out)
    };
    let pixz = || {
        // Without -t it would look for a tar in it, and make an index of its files.
        Suite::between(&format!("pixz -p {cores}"), &["pixz", "-t", "-p", &cores, level], plain, out)
    };
    match format {
        "gz" => vec![rival(with_threads("pigz", "-p"), GZ)],
        "zst" => vec![rival(zstd(), ZST), rival(pzstd(), ZST)],
        "lz4" => vec![rival(Suite::between("lz4", &["lz4", "-q", "-f", level], plain, out), LZ4)],
        "xz" => vec![rival(with_threads("xz", "-T"), XZ), rival(pixz(), XZ)],
        "bz2" => vec![rival(with_threads("lbzip2", "-n"), BZ2), informs(with_threads("pbzip2", "-p"))],
        other => unreachable!("no suite has the format {other}"),
    }
}
