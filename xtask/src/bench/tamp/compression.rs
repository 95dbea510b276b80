//! Rows of compression, by format and level: file to file, on two cores.
//! These are also the points of the chart of wall time against size.

use super::super::corpus::{Corpora, Corpus};
use super::super::judge::Target;
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
    let pzstd = || -> Tool {
        let ends = [Suite::text(plain), "-o", Suite::text(out)];
        Tool::new("pzstd -p 2", &[&["pzstd", "-q", "-f", "-p", "2", level], ends.as_slice()].concat(), out)
    };
    match format {
        "gz" => vec![rival(piping("pigz -p2", &["pigz", "-p2"]), GZ)],
        "zst" => {
            vec![rival(Suite::zstd("zstd -T2", &["-T2", level], plain, out), ZST), rival(pzstd(), ZST)]
        }
        "lz4" => vec![rival(Suite::between("lz4", &["lz4", "-q", "-f", level], plain, out), LZ4)],
        // Without -t it would look for a tar in it, and make an index of its files.
        "xz" => vec![
            rival(piping("xz -T2", &["xz", "-T2"]), XZ),
            rival(Suite::between("pixz -p 2", &["pixz", "-t", "-p", "2", level], plain, out), XZ),
        ],
        "bz2" => vec![
            rival(piping("lbzip2 -n2", &["lbzip2", "-n2"]), BZ2),
            informs(piping("pbzip2 -p2", &["pbzip2", "-p2"])),
        ],
        other => unreachable!("no suite has the format {other}"),
    }
}
