//! Rows of one worker each: what a core does, without the help of a second one.
//! `zstd -T1` reads and writes in a second thread; the rival with a target is `zstd --single-thread`, which has none.

use super::super::Case;
use super::super::corpus::Corpus;
use super::super::judge::Target;
use super::{Suite, informs, rival};

const SAME_WORK: Target = Target::must(1.05);

impl Suite<'_> {
    pub(super) fn one_worker(&mut self) {
        let (out, source) = (self.data.file("out"), &self.data.source);
        let row = |format: &str, level: &str, corpus: &Corpus| {
            let ours = self.tamp("mh tamp -j1", &["-j1", "--format", format, level], &corpus.plain, &out);
            let verify = Self::packed_as(format, &corpus.plain);
            Case::new(&format!("one worker, {format} {level}"), corpus.name, ours, Vec::new(), verify)
        };
        let piping = |name: &str, words: &[&str], corpus: &Corpus| Self::piping(name, words, &corpus.plain, &out);
        let (whole, short) = (&source.whole, &source.short);
        let zstd = Self::zstd("zstd --single-thread", &["--single-thread", "-3"], &whole.plain, &out);
        let zstd_t1 = Self::zstd("zstd -T1 (a second thread for I/O)", &["-T1", "-3"], &whole.plain, &out);
        let lz4 = Self::between("lz4", &["lz4", "-q", "-f", "-1"], &whole.plain, &out);
        let libdeflate = piping("libdeflate-gzip", &["libdeflate-gzip", "-6", "-c"], whole);
        let xz = piping("xz -T1", &["xz", "-T1", "-1", "-k", "-c"], short);
        let bzip2 = piping("bzip2", &["bzip2", "-9", "-k", "-c"], short);
        let rows = [
            (row("zst", "-3", whole), vec![rival(zstd, SAME_WORK), informs(zstd_t1)]),
            (row("gz", "-6", whole), vec![rival(libdeflate, SAME_WORK)]),
            (row("lz4", "-1", whole), vec![rival(lz4, SAME_WORK)]),
            (row("xz", "-1", short), vec![rival(xz, SAME_WORK)]),
            (row("bz2", "-9", short), vec![rival(bzip2, SAME_WORK)]),
        ];
        for (case, rivals) in rows {
            self.add(Case { rivals, ..case });
        }
    }
}
