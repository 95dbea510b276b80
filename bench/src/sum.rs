//! The sum suite: checksums and hashes of one large file and of many small ones, in memory, against the tools of today.
//! Each row's values are made once by a tool that is not ours, or by one that is no rival, and every run's must be the same.

use super::corpus::Made;
use super::judge::Target;
use super::machine::cores;
use super::measure::{Tool, Verify};
use super::record::{About, HOW_FILES, Recorder};
use super::{BenchArguments, Case, Rival, machine, measure_and_record, without_missing_rivals};
use std::path::{Path, PathBuf};
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[
    ("time", "time"),
    ("b3sum", "b3sum"),
    ("xxhsum", "xxhash"),
    ("rhash", "rhash"),
    ("crc32", "libarchive-zip-perl"),
    ("openssl", "openssl"),
    ("python3", "python3"),
];

const RIVALS: &[machine::Asked<'_>] = &[
    ("sha256sum", &["--version"]),
    ("b3sum", &["--version"]),
    ("xxhsum", &["--version"]),
    ("rhash", &["--version"]),
    ("openssl", &["version"]),
    ("python3", &["--version"]),
];

/// A promise of the command: whatever the file.
const MEMORY_MB_MAX: f64 = 64.0;
const ROW_SECONDS: f64 = 120.0;

/// How large the data are.
#[derive(Clone, Copy)]
struct Sizes {
    large_bytes: u64,
    small_files: u64,
}

const WHOLE: Sizes = Sizes { large_bytes: 4 << 30, small_files: 84_000 };
const QUICK: Sizes = Sizes { large_bytes: 256 << 20, small_files: 4_000 };

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    let program = program.canonicalize().unwrap_or(program);
    let mh = program.to_str().ok_or("the program's path is not text")?;
    let sizes = if arguments.quick { QUICK } else { WHOLE };
    let rows = Rows { mh: mh.to_owned(), directory: arguments.data.join("manyhands-sum"), sizes };
    let cases: Vec<Case> = rows.cases().into_iter().filter(|case| arguments.wants(&case.name, case.corpus)).collect();
    if arguments.list {
        cases.iter().for_each(|case| println!("{} ({})", case.name, case.corpus));
        return Ok(());
    }
    let _named_row_by_row = workspace::install(PACKAGES);
    super::build(arguments)?;
    std::fs::create_dir_all(&rows.directory).map_err(|error| format!("could not make a directory: {error}"))?;
    let mut recorder = Recorder::begin(About {
        suite: arguments.suite.clone(),
        command_line: arguments.command_line(),
        how: HOW_FILES,
        rivals: machine::versions(RIVALS),
        corpora: format!(
            "one file of {} bytes, and {} of 12,000 bytes each, all random",
            sizes.large_bytes, sizes.small_files
        ),
    });
    for case in cases {
        if let Some(program) = case.missing() {
            recorder.left_out(&format!("{} ({})", case.name, case.corpus), &format!("{program} is not installed"));
            continue;
        }
        let case = without_missing_rivals(case, &mut recorder);
        measure_and_record(case, arguments.rounds(), &mut recorder);
    }
    if !arguments.keep {
        let _what_is_left = std::fs::remove_dir_all(&rows.directory);
    }
    let suffix = if arguments.only.is_empty() { "" } else { "-part" };
    recorder.finish(&format!("-sum{}{suffix}", if arguments.quick { "-quick" } else { "" }))
}

struct Rows {
    mh: String,
    directory: PathBuf,
    sizes: Sizes,
}

/// Values alone, in lower case: what tools print beside them differs.
const VALUES: &str = "tr A-F a-f | grep -oE '[0-9a-f]{8,128}' | sort";

impl Rows {
    fn cases(&self) -> Vec<Case> {
        let mut cases = self.checksums();
        cases.extend(self.hashes());
        cases.push(self.several());
        cases.extend(self.small());
        cases
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// @MH, @LARGE, @SMALL (the directory) and @NAMES (a list of its files, each ended by a zero byte).
    fn line(&self, text: &str) -> String {
        let quoted = |path: &Path| format!("'{}'", path.display());
        let words = [
            ("@MH", format!("'{}'", self.mh)),
            ("@LARGE", quoted(&self.path("large"))),
            ("@SMALL", quoted(&self.path("small"))),
            ("@NAMES", quoted(&self.path("names"))),
            ("@CORES", cores().to_string()),
        ];
        words.into_iter().fold(text.to_owned(), |text, (word, path)| text.replace(word, &path))
    }

    fn tool(&self, name: &str, program: &str, line: &str) -> Tool {
        let mut tool = Tool::new(name, &["sh", "-c", &self.line(line)], &self.path("out")).into_stdout();
        tool.program = self.line(program).trim_matches('\'').to_owned();
        tool
    }

    fn made(&self, name: &str, script: &str) -> Made {
        Made { path: self.path(name), script: self.line(script) }
    }

    fn large(&self) -> Made {
        self.made("large", &format!("head -c {} /dev/urandom", self.sizes.large_bytes))
    }

    fn names(&self) -> Made {
        let bytes = self.sizes.small_files * 12_000;
        let split = "split -a 3 -d -b 12000000 - @SMALL/d && for part in @SMALL/d*; do mkdir $part.d && split -a 3 -d -b 12000 $part $part.d/f && rm $part || exit 1; done";
        self.made("names", &format!("mkdir -p @SMALL && head -c {bytes} /dev/urandom | ({split}) && find @SMALL -type f -print0 | LC_ALL=C sort -z"))
    }

    /// A row whose values `truth` prints.
    fn row(&self, name: &str, corpus: &'static str, ours: &str, rivals: Vec<Rival>, truth: &str, data: Made) -> Case {
        let file = format!("values-{}", name.replace([' ', ',', '.'], "-"));
        let expected = self.made(&file, truth);
        let verify = Verify::Plain(expected.path.clone());
        let case = Case::new(name, corpus, self.tool("mh sum", "@MH", ours), rivals, verify);
        Case { needs: vec![data, expected], memory_mb_max: Some(MEMORY_MB_MAX), seconds_max: ROW_SECONDS, ..case }
    }

    fn rival(&self, [name, program, line]: [&str; 3], target: Target) -> Rival {
        Rival { tool: self.tool(name, program, line), target }
    }

    /// Tools that compute another checksum are rivals in speed: the fastest of them all counts.
    fn checksums(&self) -> Vec<Case> {
        let python = "import sys,zlib\nf=open(sys.argv[1],'rb',0); b=bytearray(1<<20); m=memoryview(b); c=0\nwhile n:=f.readinto(b): c=zlib.crc32(m[:n],c)\nprint('%08x'%c)";
        let python = format!("python3 -c \"{python}\" @LARGE");
        let others = |values: &str| {
            let theirs = |line: &str| format!("{line} > /dev/null && {values}");
            [
                ("cksum", "cksum", theirs("cksum @LARGE")),
                ("rhash --crc32", "rhash", theirs("rhash --crc32 @LARGE")),
                ("rhash --crc32c", "rhash", theirs("rhash --crc32c @LARGE")),
                ("xxhsum -H3", "xxhsum", theirs("xxhsum -q -H3 @LARGE")),
                ("python zlib", "python3", theirs(&python)),
            ]
            .map(|(name, program, line)| {
                // No CRC, and no target: what reading alone allows.
                let target = if program == "xxhsum" { Target::none() } else { Target::must(0.60) };
                self.rival([name, program, &line], target)
            })
            .into()
        };
        let row = |algorithm: &str, truth: &str| {
            let name = format!("{algorithm}, one file");
            let values = format!(
                "cat {}",
                self.line(&format!("'{}'", self.path(&format!("values-{algorithm}--one-file")).display()))
            );
            let ours = format!("@MH sum --tag -a {algorithm} @LARGE | grep -oE '[0-9a-f]{{8}}$'");
            self.row(&name, "large", &ours, others(&values), truth, self.large())
        };
        vec![
            row("crc32", &python),
            row("crc32c", "rhash --printf '%{crc32c}\\n' @LARGE"),
            row("cksum", "cksum @LARGE | awk '{ printf \"%08x\\n\", $1 }'"),
        ]
    }

    fn hashes(&self) -> Vec<Case> {
        let row = |algorithm: &str, rivals: Vec<Rival>, truth: &str| {
            let ours = format!("@MH sum --untagged -a {algorithm} @LARGE | {VALUES}");
            self.row(
                &format!("{algorithm}, one file"),
                "large",
                &ours,
                rivals,
                &format!("{truth} | {VALUES}"),
                self.large(),
            )
        };
        let of = |tool: &str, name: &str, line: &str, target| {
            self.rival([name, tool, &format!("{line} | {VALUES}")], target)
        };
        let b3 = of("b3sum", "b3sum, 2 threads", "b3sum --no-names --num-threads 2 @LARGE", Target::must(1.05));
        let by_openssl = |algorithm: &str, target| {
            of(
                "openssl",
                &format!("openssl {algorithm}"),
                &format!("openssl dgst -r -{algorithm} @LARGE | cut -d ' ' -f 1"),
                target,
            )
        };
        let coreutils = |tool: &str, target| of(tool, tool, &format!("{tool} @LARGE | cut -d ' ' -f 1"), target);
        let value = |tool: &str| format!("{tool} @LARGE | cut -d ' ' -f 1");
        vec![
            row("blake3", vec![b3], "b3sum --no-names @LARGE"),
            row(
                "sha256",
                vec![coreutils("sha256sum", Target::must(1.05)), by_openssl("sha256", Target::must(1.05))],
                &value("sha256sum"),
            ),
            row(
                "md5",
                vec![coreutils("md5sum", Target::must(1.05)), by_openssl("md5", Target::none())],
                &value("md5sum"),
            ),
            row(
                "sha1",
                vec![coreutils("sha1sum", Target::must(1.05)), by_openssl("sha1", Target::none())],
                &value("sha1sum"),
            ),
            row("blake2b", vec![coreutils("b2sum", Target::must(1.05))], &value("b2sum")),
            row(
                "xxh3",
                vec![of("xxhsum", "xxhsum -H3", "xxhsum -q -H3 @LARGE | cut -d = -f 2", Target::none())],
                "xxhsum -q -H3 @LARGE | cut -d = -f 2",
            ),
        ]
    }

    fn several(&self) -> Case {
        let one = "rhash --printf '%{crc32c}\\n' @LARGE; b3sum --no-names @LARGE; sha256sum @LARGE | cut -d ' ' -f 1";
        let theirs = format!("true && ({one}) | {VALUES}");
        let rival = self.rival(["rhash, b3sum, sha256sum", "b3sum", &theirs], Target::must(0.60));
        let ours = format!("@MH sum -a crc32c,blake3,sha256 @LARGE | grep -oE '[0-9a-f]*$' | {VALUES}");
        self.row("crc32c, blake3, sha256 in one read", "large", &ours, vec![rival], &theirs, self.large())
    }

    fn small(&self) -> Vec<Case> {
        let row = |algorithm: &str, tool: &str, target: Target| {
            let values = "cut -d ' ' -f 1 | sort";
            let theirs = format!("xargs -0 -n 500 -P @CORES {tool} < @NAMES | {values}");
            let rivals = vec![
                self.rival([&format!("xargs -P {tool}"), tool, &theirs], target),
                self.rival([tool, tool, &format!("xargs -0 {tool} < @NAMES | {values}")], Target::none()),
            ];
            let ours = format!("@MH sum --untagged -r -a {algorithm} @SMALL | {values}");
            let truth = format!("xargs -0 {tool} < @NAMES | {values}");
            self.row(&format!("{algorithm}, small files"), "small", &ours, rivals, &truth, self.names())
        };
        vec![
            row("sha256", "sha256sum", Target::must(0.75)),
            row("blake3", "b3sum", Target::must(0.75)),
            row("md5", "md5sum", Target::none()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_rival_and_values() {
        let rows = Rows { mh: "mh".to_owned(), directory: PathBuf::from("/data"), sizes: QUICK };
        let cases = rows.cases();
        assert_eq!(cases.len(), 13);
        for case in &cases {
            assert!(!case.rivals.is_empty() && matches!(case.verify, Verify::Plain(_)), "{}", case.name);
            let Verify::Plain(values) = &case.verify else { continue };
            assert!(case.needs.iter().any(|made| made.path == *values), "{}", case.name);
            assert!(!case.needs.iter().any(|made| made.script.contains('@')), "{}: a word is left", case.name);
        }
    }
}
