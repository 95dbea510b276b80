//! Rows of decompression: files of other tools, and our own, which are made to be decoded in parallel.
//! Beside our own files the rival decodes the file of its own kind that says the same.

use super::super::corpus::{Corpora, Corpus, Made};
use super::super::judge::Target;
use super::super::machine::cores;
use super::super::measure::{Tool, Verify};
use super::super::{Case, Rival};
use super::{Suite, informs, rival};

impl Suite<'_> {
    pub(super) fn decompression(&mut self, corpora: &Corpora) {
        self.gunzip(&corpora.whole);
        self.unzstd(&corpora.whole);
        // At this level a file takes minutes to be made.
        self.ordinary_frame(&corpora.middle, 19);
        self.unlz4(&corpora.whole);
        self.bunzip2(&corpora.middle);
    }

    /// Ours unpacks the first file; all of them are made first.
    fn unpacking(&mut self, name: &str, corpus: &Corpus, needs: Vec<Made>, rivals: Vec<Rival>) {
        let ours = self.tamp("mh tamp -d", &["-d"], &needs[0].path, &self.data.file("out"));
        let case = Case::new(name, corpus.name, ours, rivals, Verify::Plain(corpus.plain.clone()));
        self.add(Case { needs, ..case });
    }

    /// A file that we pack.
    fn own(&self, corpus: &Corpus, name: &str, options: &str) -> Made {
        self.packed(corpus, name, &format!("'{}' tamp -q {options} -c", self.mh))
    }

    fn gunzip(&mut self, corpus: &Corpus) {
        let out = self.data.file("out");
        let cores = cores();
        let foreign = || self.packed(corpus, "pigz.gz", &format!("pigz -p{cores} -6 -c"));
        let own = self.own(corpus, "own.gz", "--format gz -6");
        let bgzf = self.own(corpus, "bgzf.gz", "--bgzf -6");
        let theirs = |name: &str, words: &[&str]| Self::piping(name, words, &foreign().path, &out);
        let pigz = theirs("pigz -d", &["pigz", "-dc"]);
        let threads = cores.to_string();
        let foreign_rivals = vec![
            rival(pigz.clone(), Target::must(0.45)),
            rival(theirs("igzip -d", &["igzip", "-dc"]), Target::none().aim(1.0)),
            informs(theirs(&format!("rapidgzip -P {cores} -d"), &["rapidgzip", "-P", &threads, "-d", "-c"])),
            informs(theirs(&format!("gzippy -p{cores} -d"), &["gzippy", &format!("-p{cores}"), "-d", "-c"])),
            informs(theirs("libdeflate -d", &["libdeflate-gzip", "-dc"])),
            informs(theirs("gzip -d", &["gzip", "-dc"])),
        ];
        let at_once = format!("-@{cores}");
        let bgzip = Self::piping(&format!("bgzip {at_once} -d"), &["bgzip", &at_once, "-dc"], &bgzf.path, &out);
        let target = Target::must(0.45).aim(0.30);
        let rows = [
            ("gunzip, pigz's file", vec![foreign()], foreign_rivals),
            ("gunzip, own members", vec![own, foreign()], vec![rival(pigz.clone(), target)]),
            ("gunzip, BGZF", vec![bgzf, foreign()], vec![rival(pigz, target), informs(bgzip)]),
        ];
        for (name, needs, rivals) in rows {
            self.unpacking(name, corpus, needs, rivals);
        }
    }

    /// As zstd makes it from a file.
    fn frame(&self, corpus: &Corpus, level: u32) -> Made {
        self.packed(corpus, &format!("zstd-{level}.zst"), &format!("zstd -q -T{} -{level} -c", cores()))
    }

    fn ordinary_frame(&mut self, corpus: &Corpus, level: u32) {
        let made = self.frame(corpus, level);
        let zstd = Self::zstd("zstd -d", &["-d"], &made.path, &self.data.file("out"));
        let rivals = vec![rival(zstd, Target::must(0.75).aim(0.60))];
        self.unpacking(&format!("unzstd, ordinary frame of -{level}"), corpus, vec![made], rivals);
    }

    fn unzstd(&mut self, corpus: &Corpus) {
        for level in [1, 3, 9] {
            self.ordinary_frame(corpus, level);
        }
        let (made, out) = (self.frame(corpus, 3), self.data.file("out"));
        let zstd = Self::zstd("zstd -d", &["-d"], &made.path, &out);
        let own = self.own(corpus, "own.zst", "--format zst -3");
        let rivals = vec![rival(zstd.clone(), Target::must(0.65).aim(0.50))];
        self.unpacking("unzstd, own frames", corpus, vec![own, made.clone()], rivals);
        let alone = self.tamp("mh tamp -d -j1", &["-d", "-j1"], &made.path, &out);
        // Without the option the program reads and writes in threads of their own, --single-thread or not.
        let single = Self::zstd("zstd -d --no-asyncio", &["-d", "--no-asyncio"], &made.path, &out);
        let (rivals, plain) = (vec![rival(single, Target::must(1.03))], Verify::Plain(corpus.plain.clone()));
        let case = Case::new("unzstd, ordinary frame, one hand", corpus.name, alone, rivals, plain);
        self.add(Case { needs: vec![made], ..case });
    }

    fn unlz4(&mut self, corpus: &Corpus) {
        // Its blocks are independent unless it is asked for others.
        let theirs = || self.packed(corpus, "lz4.lz4", "lz4 -q -1 -c");
        let own = self.own(corpus, "own.lz4", "--format lz4 -1");
        let lz4 = Self::between("lz4 -d", &["lz4", "-q", "-f", "-d"], &theirs().path, &self.data.file("out"));
        let rows = [("unlz4, lz4's file", vec![theirs()]), ("unlz4, own blocks", vec![own, theirs()])];
        for (name, needs) in rows {
            self.unpacking(name, corpus, needs, vec![rival(lz4.clone(), Target::must(0.65).aim(0.50))]);
        }
    }

    fn bunzip2(&mut self, corpus: &Corpus) {
        let (packed, out) = (self.packed(corpus, "bzip2.bz2", "bzip2 -9 -c"), self.data.file("out"));
        let theirs = |name: &str, words: &[&str]| Self::piping(name, words, &packed.path, &out);
        let [of_lbzip2, of_pbzip2] = ["-n", "-p"].map(|option| format!("{option}{}", cores()));
        let lbzip2 = theirs(&format!("lbzip2 {of_lbzip2} -d"), &["lbzip2", &of_lbzip2, "-dc"]);
        let pbzip2 = theirs(&format!("pbzip2 {of_pbzip2} -d"), &["pbzip2", &of_pbzip2, "-dc"]);
        let rivals = vec![rival(lbzip2, Target::must(0.70).aim(0.50)), informs(pbzip2)];
        self.unpacking("bunzip2, bzip2's file", corpus, vec![packed], rivals);
    }

    pub(super) fn unxz(&mut self, corpus: &Corpus) {
        let out = self.data.file("out");
        let threads = format!("-T{}", cores());
        let sized = self.packed(corpus, "blocks.xz", &format!("xz {threads} -6 -c"));
        let plain = self.packed(corpus, "plain.xz", "xz -T1 -6 -c");
        let theirs = |name: &str, words: &[&str], made: &Made| -> Tool { Self::piping(name, words, &made.path, &out) };
        let rows = [
            ("unxz, blocks with sizes", theirs(&format!("xz {threads} -d"), &["xz", &threads, "-dc"], &sized), sized),
            ("unxz, one block", theirs("xz -d", &["xz", "-T1", "-dc"], &plain), plain),
        ];
        for (name, xz, made) in rows {
            self.unpacking(name, corpus, vec![made], vec![rival(xz, Target::must(0.90).aim(0.80))]);
        }
    }
}
