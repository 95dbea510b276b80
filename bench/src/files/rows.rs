//! The rows of the files suite: who does what with which tree, what the ratio should be (issue 6, "How fast"), and how the result is
//! verified. Runs nothing and makes no file.

use super::place::Place;
use super::same::{Kept, Same};
use crate::corpus::Made;
use crate::judge::Target;
use crate::machine::cores;
use crate::measure::{Tool, Verify};
use crate::{Case, Rival};
use std::path::{Path, PathBuf};

/// The command, and the word that its rows have in their names.
pub const MTWRITE: &str = "mtwrite";

/// LIMIT of our peak memory, in every row.
const MEMORY_MB_MAX: f64 = 128.0;
/// What a row may take; with five rounds of most of them the suite takes half an hour.
const ROW_SECONDS: f64 = 75.0;
/// A copy of ten files takes as long as a program's start: so many are timed in one go.
const SMALL_TIMES: usize = 20;

/// Rows of one place.
pub struct Rows<'a> {
    mh: &'a str,
    place: &'a Place,
    cases: Vec<Case>,
}

impl<'a> Rows<'a> {
    /// All rows of the place in memory; those that need the same archive stand together.
    pub fn in_memory(mh: &'a str, place: &'a Place) -> Vec<Case> {
        let mut rows = Self { mh, place, cases: Vec::new() };
        rows.extract_plain();
        rows.under_mtwrite_tree();
        rows.create();
        let cores = cores();
        let [zstd, xz] = ["zstd", "xz"].map(|program| format!("{program} -T{cores}"));
        rows.packed("zst", "zstd", ["--zstd --level 3", &format!("{zstd} -q -3"), &zstd]);
        rows.packed("gz", "pigz", ["--gzip --level 6", "pigz -6", "pigz"]);
        // Level 1: what is decoded is what is measured, and level 6 takes ten minutes to make.
        rows.packed("xz", "xz", ["--xz --level 1", &format!("{xz} -1"), &xz]);
        rows.look_into("tar", "");
        rows.look_into("tar.zst", "--zstd");
        rows.look_into("tar.gz", "--gzip");
        rows.copy_tree();
        rows.remove_tree();
        rows.flat();
        rows.ten_files();
        rows.one_large();
        rows.under_mtwrite_eight();
        rows.cases
    }

    /// What a file system on a disk may change.
    pub fn on_disk(mh: &'a str, place: &'a Place) -> Vec<Case> {
        let mut rows = Self { mh, place, cases: Vec::new() };
        rows.extract_plain();
        rows.create_plain();
        rows.copy_tree();
        rows.remove_tree();
        rows.flat();
        rows.cases
    }

    fn add(&mut self, name: &str, ours: Tool, rivals: Vec<Rival>, verify: Verify, needs: Vec<Made>) {
        let case = Case::new(name, self.place.name, ours, rivals, verify);
        self.cases.push(Case { needs, memory_mb_max: Some(MEMORY_MB_MAX), seconds_max: ROW_SECONDS, ..case });
    }

    /// A line of shell with the place's words in it: @TREE, @NAME, @ABOVE (the directory above it) and @MEMBER (a file in it), @OUT and @HERE; and @MH.
    fn line(&self, text: &str) -> String {
        let quoted = |path: &Path| format!("'{}'", path.display());
        let words = [
            ("@MH", format!("'{}'", self.mh)),
            ("@TREE", quoted(&self.place.tree())),
            ("@NAME", format!("'{}'", self.place.tree_name)),
            ("@ABOVE", quoted(&self.place.above_tree)),
            ("@OUT", quoted(&self.out())),
            ("@HERE", quoted(&self.place.directory)),
            ("@MEMBER", format!("'{}'", self.place.member)),
        ];
        words.into_iter().fold(text.to_owned(), |text, (word, path)| text.replace(word, &path))
    }

    fn out(&self) -> PathBuf {
        self.place.path("out")
    }

    /// A tool that writes OUT. `before` prepares it, behind what settles the place.
    fn tool(&self, name: &str, program: &str, line: &str, before: &str) -> Tool {
        let mut tool = Tool::new(name, &["sh", "-c", &self.line(line)], &self.out());
        tool.program = self.line(program).trim_matches('\'').to_owned();
        // What is made before a run, too, is on the disk before it begins.
        tool.before = Some(format!("{} && {}", self.line(&format!("rm -rf @OUT && {before}")), self.place.settle));
        tool
    }

    fn rival(&self, [name, program, line]: [&str; 3], before: &str, target: Target) -> Rival {
        Rival { tool: self.tool(name, program, line, before), target }
    }

    fn made(&self, name: &str, script: &str) -> Made {
        Made { path: self.place.path(name), script: self.line(script) }
    }

    fn theirs(&self) -> Made {
        self.made("theirs.tar", "tar -C @ABOVE -c @NAME")
    }

    fn is_extracted(&self) -> Verify {
        let copy = self.out().join(&self.place.tree_name);
        Verify::Tree(Same { original: self.place.tree(), copy, kept: Kept::Seconds })
    }

    fn is_copied(&self, name: &Path, kept: Kept) -> Verify {
        Verify::Tree(Same { original: name.to_owned(), copy: self.out(), kept })
    }

    fn extract_plain(&mut self) {
        let before = "mkdir @OUT";
        let rivals = vec![
            self.rival(["tar", "tar", "tar -xpf @HERE/theirs.tar -C @OUT"], before, Target::must(0.60).aim(0.52)),
            self.rival(["bsdtar", "bsdtar", "bsdtar -xpf @HERE/theirs.tar -C @OUT"], before, Target::none()),
        ];
        let ours = self.tool("mh tar", "@MH", "@MH tar -xpf @HERE/theirs.tar -C @OUT", before);
        self.add("extract .tar", ours, rivals, self.is_extracted(), vec![self.theirs()]);
    }

    fn under_mtwrite_tree(&mut self) {
        let before = "mkdir @OUT";
        let target = Target::must(0.85).aim(0.625);
        let rivals = vec![self.rival(["tar", "tar", "tar -xpf @HERE/theirs.tar -C @OUT"], before, target)];
        let ours = self.tool("mh mtwrite -- tar", "@MH", "@MH mtwrite -- tar -xpf @HERE/theirs.tar -C @OUT", before);
        self.add("tar under mtwrite, tree", ours, rivals, self.is_extracted(), vec![self.theirs()]);
    }

    fn under_mtwrite_eight(&mut self) {
        let before = "mkdir @OUT";
        let bytes = self.place.sizes.eighth_bytes;
        let fill = format!("for one in 1 2 3 4 5 6 7 8; do head -c {bytes} /dev/urandom > @HERE/eight/$one; done");
        let pack = "tar -C @HERE -c --remove-files eight";
        let eight = self.made("eight.tar", &format!("mkdir -p @HERE/eight && {fill} && {pack}"));
        let verify = Verify::Archive { archive: eight.path.clone(), below: self.out(), name: "eight".to_owned() };
        let target = Target::must(0.65).aim(0.625);
        let rivals = vec![self.rival(["tar", "tar", "tar -xpf @HERE/eight.tar -C @OUT"], before, target)];
        let ours = self.tool("mh mtwrite -- tar", "@MH", "@MH mtwrite -- tar -xpf @HERE/eight.tar -C @OUT", before);
        self.add("tar under mtwrite, 8 big files", ours, rivals, verify, vec![eight]);
    }

    fn create_plain(&mut self) {
        let rivals = vec![
            self.rival(["tar", "tar", "tar -C @ABOVE -cf @OUT @NAME"], "true", Target::must(0.65).aim(0.5)),
            self.rival(["bsdtar", "bsdtar", "bsdtar -C @ABOVE -cf @OUT @NAME"], "true", Target::none()),
        ];
        let ours = self.tool("mh tar", "@MH", "@MH tar -cf @OUT -C @ABOVE @NAME", "true");
        self.add("create .tar", ours, rivals, self.is_archive(), Vec::new());
    }

    fn is_archive(&self) -> Verify {
        let (below, name) = (self.place.above_tree.clone(), self.place.tree_name.clone());
        Verify::Archive { archive: self.out(), below, name }
    }

    fn create(&mut self) {
        self.create_plain();
        let cores = cores();
        for (name, options, packer, packing) in [
            ("create .tar.zst -3", "--zstd --level 3", "zstd", format!("zstd -q -T{cores} -3")),
            ("create .tar.gz -6", "--gzip --level 6", "pigz", format!("pigz -p {cores} -6")),
        ] {
            let line = format!("tar -C @ABOVE -c @NAME | {packing} > @OUT");
            let rival = self.rival([&format!("tar, {packer}"), packer, &line], "true", Target::must(0.65).aim(0.5));
            let ours = self.tool("mh tar", "@MH", &format!("@MH tar {options} -cf @OUT -C @ABOVE @NAME"), "true");
            self.add(name, ours, vec![rival], self.is_archive(), Vec::new());
        }
    }

    /// Extraction of what we have packed and of what others have: by us, by tar with the format's tool, and by bsdtar.
    fn packed(&mut self, format: &str, program: &str, [ours, packer, unpacker]: [&str; 3]) {
        let before = "mkdir @OUT";
        let packed = |by: &str| format!("{by}.tar.{format}");
        let made = [
            ("ours", self.made(&packed("ours"), &format!("@MH tar {ours} -cf - -C @ABOVE @NAME"))),
            ("theirs", self.made(&packed("theirs"), &format!("tar -C @ABOVE -c @NAME | {packer}"))),
        ];
        for (by, made) in made {
            let archive = format!("@HERE/{}", packed(by));
            let target = || Target::must(0.65).aim(0.5);
            let tar = format!("tar -I '{unpacker}' -xpf {archive} -C @OUT");
            let rivals = vec![
                self.rival([&format!("tar, {unpacker}"), program, &tar], before, target()),
                self.rival(["bsdtar", "bsdtar", &format!("bsdtar -xpf {archive} -C @OUT")], before, target()),
            ];
            let tool = self.tool("mh tar", "@MH", &format!("@MH tar -xpf {archive} -C @OUT"), before);
            self.add(&format!("extract .tar.{format}, {by}"), tool, rivals, self.is_extracted(), vec![made.clone()]);
            self.decode(&format!("decode .tar.{format}, {by}, to nothing"), &archive, made);
        }
    }

    /// What the decoder allows, as a row of its own: it leaves no tree.
    fn decode(&mut self, name: &str, archive: &str, made: Made) {
        let tool = self.tool("mh tamp -d", "@MH", &format!("@MH tamp -q -dc {archive} > /dev/null"), "true");
        self.add(name, tool, Vec::new(), Verify::Exit, vec![made]);
    }

    /// All names, and one file, of an archive that we have made.
    fn look_into(&mut self, ending: &str, packing: &str) {
        let archive = self.made(&format!("indexed.{ending}"), &format!("@MH tar {packing} -cf - -C @ABOVE @NAME"));
        let names = self.made(&format!("names.{ending}"), &format!("tar -tf @HERE/indexed.{ending}"));
        let [ours, theirs] = [["mh tar", "@MH", "@MH tar"], ["tar", "tar", "tar"]];
        let listing = |[name, program, command]: [&str; 3]| {
            self.tool(name, program, &format!("{command} -tf @HERE/indexed.{ending} > @OUT"), "true")
        };
        let taking = |[name, program, command]: [&str; 3]| {
            let line = format!("{command} -xf @HERE/indexed.{ending} -C @OUT @NAME/@MEMBER");
            self.tool(name, program, &line, "mkdir @OUT")
        };
        // A plain archive has no index: its headers are read one by one, by all programs.
        let target = if packing.is_empty() { Target::none() } else { Target::must(0.01) };
        let rival = |tool| vec![Rival { tool, target }];
        let (list, lists) = (listing(ours), rival(listing(theirs)));
        let (take, takes) = (taking(ours), rival(taking(theirs)));
        let is_listed = Verify::Plain(names.path.clone());
        self.add(&format!("list .{ending} of ours"), list, lists, is_listed, vec![archive.clone(), names]);
        let member = |directory: PathBuf| directory.join(&self.place.tree_name).join(&self.place.member);
        let copy = member(self.out());
        let is_taken =
            Verify::Tree(Same { original: member(self.place.above_tree.clone()), copy, kept: Kept::Seconds });
        self.add(&format!("one member of .{ending} of ours"), take, takes, is_taken, vec![archive]);
    }

    fn copy_tree(&mut self) {
        let (tree, line) = (self.place.tree(), |program: &str| format!("{program} @TREE @OUT"));
        let rivals = vec![self.rival(["cp -a", "cp", &line("cp -a")], "true", Target::must(0.70).aim(0.55))];
        let ours = self.tool("mh cp -a", "@MH", &line("@MH cp -a"), "true");
        self.add("cp -a of the tree", ours, rivals, self.is_copied(&tree, Kept::Nanoseconds), Vec::new());
        let fast = || Target::must(1.0).aim(0.85);
        let rivals = vec![
            self.rival(["cpz", "cpz", &line("cpz")], "true", fast()),
            self.rival(["xcp -r", "xcp", &line("xcp --no-progress -r")], "true", fast()),
            self.rival(["cp -r", "cp", &line("cp -r")], "true", Target::none()),
        ];
        let ours = self.tool("mh cp -r", "@MH", &line("@MH cp -r"), "true");
        self.add("cp -r of the tree", ours, rivals, self.is_copied(&tree, Kept::Modes), Vec::new());
    }

    fn remove_tree(&mut self) {
        let (before, informs) = ("cp -a @TREE @OUT", Target::none());
        let rivals = vec![
            self.rival(["rmz", "rmz", "rmz @OUT"], before, Target::must(1.0)),
            self.rival(["rm -rf", "rm", "rm -rf @OUT"], before, informs),
        ];
        let ours = self.tool("mh rm -rf", "@MH", "@MH rm -rf @OUT", before);
        self.add("rm -rf of the tree", ours, rivals, Verify::Gone, Vec::new());
    }

    fn flat(&mut self) {
        let line = |program: &str| format!("{program} @HERE/flat @OUT");
        let fastest = || Target::must(1.0);
        let rivals = vec![
            self.rival(["cpz", "cpz", &line("cpz")], "true", fastest()),
            self.rival(["xcp -r", "xcp", &line("xcp --no-progress -r")], "true", fastest()),
            self.rival(["cp -r", "cp", &line("cp -r")], "true", fastest()),
        ];
        let ours = self.tool("mh cp -r", "@MH", &line("@MH cp -r"), "true");
        let verify = self.is_copied(&self.place.path("flat"), Kept::Modes);
        self.add("cp -r of a flat directory", ours, rivals, verify, Vec::new());
        let before = "cp -a @HERE/flat @OUT";
        let rivals = vec![
            self.rival(["rmz", "rmz", "rmz @OUT"], before, fastest()),
            self.rival(["rm -rf", "rm", "rm -rf @OUT"], before, fastest()),
        ];
        let ours = self.tool("mh rm -rf", "@MH", "@MH rm -rf @OUT", before);
        self.add("rm -rf of a flat directory", ours, rivals, Verify::Gone, Vec::new());
    }

    fn ten_files(&mut self) {
        let often = |line: &str| format!("i=0; while [ $i -lt {SMALL_TIMES} ]; do {line}; i=$((i+1)); done");
        let target = || Target::must(1.1);
        let ten = self.place.path("ten");
        let last = self.out().join((SMALL_TIMES - 1).to_string());
        let copied = Same { original: ten.clone(), copy: last.clone(), kept: Kept::Modes };
        let rivals = vec![self.rival(["cp -r", "cp", &often("cp -r @HERE/ten @OUT/$i")], "mkdir @OUT", target())];
        let ours = self.tool("mh cp -r", "@MH", &often("@MH cp -r @HERE/ten @OUT/$i"), "mkdir @OUT");
        self.add(&format!("cp -r of 10 files, {SMALL_TIMES} times"), ours, rivals, Verify::Tree(copied), Vec::new());
        let archive = self.made("ten.tar", "tar -C @HERE -c ten");
        let extracted = Same { original: ten, copy: last.join("ten"), kept: Kept::Seconds };
        let line = |program: &str| often(&format!("mkdir @OUT/$i && {program} -xpf @HERE/ten.tar -C @OUT/$i"));
        let rivals = vec![self.rival(["tar", "tar", &line("tar")], "mkdir @OUT", target())];
        let ours = self.tool("mh tar", "@MH", &line("@MH tar"), "mkdir @OUT");
        self.add(
            &format!("extract 10 files, {SMALL_TIMES} times"),
            ours,
            rivals,
            Verify::Tree(extracted),
            vec![archive],
        );
    }

    fn one_large(&mut self) {
        let bytes = self.place.sizes.large_bytes;
        let large = self.made("large", &format!("head -c {bytes} /dev/urandom"));
        let line = |program: &str| format!("{program} @HERE/large @OUT");
        let before = self.place.touch_for_large();
        let rivals = vec![
            self.rival(["cp", "cp", &line("cp")], &before, Target::must(1.0).aim(0.8)),
            self.rival(["cpz", "cpz", &line("cpz")], &before, Target::none()),
            self.rival(["xcp", "xcp", &line("xcp --no-progress")], &before, Target::none()),
        ];
        let ours = self.tool("mh cp", "@MH", &line("@MH cp"), &before);
        let verify = Verify::Plain(large.path.clone());
        self.add(&format!("cp of one file of {} MiB", bytes >> 20), ours, rivals, verify, vec![large]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Sizes;
    use super::*;

    fn place(name: &'static str) -> Place {
        Place::named(name, Path::new("/d"), None, Sizes::QUICK)
    }

    #[test]
    fn every_row_has_its_own_name_and_no_word_is_left_in_a_line() {
        let (memory, ext4) = (place("tmpfs"), place("ext4"));
        let cases = Rows::in_memory("/b/mh", &memory).into_iter().chain(Rows::on_disk("/b/mh", &ext4));
        let cases: Vec<Case> = cases.collect();
        let mut names: Vec<String> = cases.iter().map(|case| format!("{} {}", case.name, case.corpus)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        for case in &cases {
            let tools = std::iter::once(&case.ours).chain(case.rivals.iter().map(|rival| &rival.tool));
            for tool in tools {
                let before = tool.before.clone().unwrap_or_default();
                let words = tool.arguments.iter().chain([&before]).chain(case.needs.iter().map(|made| &made.script));
                assert!(words.into_iter().all(|text| !text.contains('@')), "{}: {:?}", case.name, tool.arguments);
            }
        }
    }

    #[test]
    fn what_is_extracted_is_made_first() {
        let memory = place("tmpfs");
        let cases = Rows::in_memory("/b/mh", &memory);
        let reads: Vec<&Case> =
            cases.iter().filter(|case| case.ours.arguments.iter().any(|text| text.contains("/d'/"))).collect();
        assert!(reads.len() > 10);
        for case in
            reads.into_iter().filter(|case| !case.name.contains("flat") && !case.name.starts_with("cp -r of 10"))
        {
            let is_made = |made: &Made| {
                let name = made.path.file_name().and_then(|name| name.to_str()).unwrap_or("?").to_owned();
                case.ours.arguments.iter().any(|text| text.contains(&name))
            };
            assert!(case.needs.iter().any(is_made), "{}", case.name);
        }
    }
}
