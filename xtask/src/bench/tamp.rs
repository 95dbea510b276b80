//! The `tamp` suite: which runs against which, and what the ratios should be.
//! A target stands beside the rival it is for; a rival without one only informs.

use super::corpus::Data;
use super::forecast::Check;
use super::measure::{Tool, Verify};
use super::{Case, Rival};
use crate::workspace::has_program;
use std::path::Path;

/// Bytes a second of the slow producer and the slow consumer: well below what two cores compress.
pub const SLOW_RATE: u64 = 100_000_000;

struct Suite<'a> {
    mh: &'a str,
    data: &'a Data,
    cases: Vec<Case>,
}

/// All cases of the suite but the throttled disk.
pub fn cases(program: &Path, data: &Data, only_names: bool) -> Result<Vec<Case>, String> {
    let mh = program.to_str().ok_or("the program's path is not text")?;
    let mut suite = Suite { mh, data, cases: Vec::new() };
    for (corpus, plain) in [("source", &data.source), ("mixed", &data.mixed)] {
        suite.compression(corpus, plain);
        if !only_names {
            suite.decompression(corpus, plain)?;
        }
    }
    suite.one_worker();
    suite.pipes();
    suite.small_files();
    Ok(suite.cases)
}

fn rival(tool: Tool, must: f64, aim: Option<f64>) -> Rival {
    Rival { tool, must: Some(must), aim }
}

fn informs(tool: Tool) -> Rival {
    Rival { tool, must: None, aim: None }
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

    fn add(&mut self, name: String, corpus: &'static str, ours: Tool, rivals: Vec<Rival>, verify: Verify) {
        let is_there = |rival: &Rival| has_program(&rival.tool.arguments[0]);
        let rivals = rivals.into_iter().filter(is_there).collect();
        self.cases.push(Case { name, corpus, ours, rivals, verify });
    }

    fn compression(&mut self, corpus: &'static str, plain: &Path) {
        let (input, out) = (Self::text(plain), self.data.file("out"));
        let output = Self::text(&out);
        for level in ["-1", "-6", "-9"] {
            let ours =
                Tool::new("mh tamp", &[self.mh, "tamp", "-qf", "--format", "gz", level, input, "-o", output], &out);
            let pigz = Tool::new("pigz -p2", &["pigz", "-p2", level, "-c", input], &out).into_stdout();
            let verify = Verify::Packed { unpack: Self::unpack("gz"), plain: plain.to_owned() };
            self.add(format!("gz {level}"), corpus, ours, vec![rival(pigz, 0.60, Some(0.45))], verify);
        }
        for level in ["-1", "-3", "-9"] {
            let ours =
                Tool::new("mh tamp", &[self.mh, "tamp", "-qf", "--format", "zst", level, input, "-o", output], &out);
            let zstd = Tool::new("zstd -T2", &["zstd", "-qf", "-T2", level, input, "-o", output], &out);
            let verify = Verify::Packed { unpack: Self::unpack("zst"), plain: plain.to_owned() };
            self.add(format!("zst {level}"), corpus, ours, vec![rival(zstd, 0.95, Some(0.75))], verify);
        }
    }

    fn decompression(&mut self, corpus: &'static str, plain: &Path) -> Result<(), String> {
        let (input, mh, out) = (Self::text(plain), self.mh, self.data.file("out"));
        let output = Self::text(&out);
        let made = |name: &str, script: String| self.data.made(&format!("{corpus}-{name}"), &script);
        let pigz_file = made("pigz.gz", format!("pigz -p2 -6 -c '{input}'"))?;
        let own_gz = made("own.gz", format!("'{mh}' tamp -qc --format gz -6 '{input}'"))?;
        let bgzf = made("own-bgzf.gz", format!("'{mh}' tamp -qc --bgzf -6 '{input}'"))?;
        let frame = made("zstd.zst", format!("zstd -q -3 -c '{input}'"))?;
        let own_zst = made("own.zst", format!("'{mh}' tamp -qc --format zst -3 '{input}'"))?;
        let ours =
            |packed: &Path| Tool::new("mh tamp -d", &[mh, "tamp", "-dqf", Self::text(packed), "-o", output], &out);
        let theirs = |name: &str, arguments: &[&str], packed: &Path| {
            let arguments = [arguments, &[Self::text(packed)]].concat();
            Tool::new(name, &arguments, &out).into_stdout()
        };
        let verify = || Verify::Plain(plain.to_owned());
        let pigz = theirs("pigz -d", &["pigz", "-dc"], &pigz_file);
        let zstd = Tool::new("zstd -d", &["zstd", "-dqf", Self::text(&frame), "-o", output], &out);
        let foreign_rivals = vec![
            rival(pigz.clone(), 0.50, None),
            informs(theirs("igzip -d", &["igzip", "-dc"], &pigz_file)),
            informs(theirs("libdeflate -d", &["libdeflate-gzip", "-dc"], &pigz_file)),
            informs(theirs("gzip -d", &["gzip", "-dc"], &pigz_file)),
        ];
        let bgzf_rivals = vec![informs(theirs("bgzip -@2 -d", &["bgzip", "-@2", "-dc"], &bgzf)), informs(pigz.clone())];
        let additions = [
            ("gunzip, pigz's file", ours(&pigz_file), foreign_rivals),
            ("gunzip, own members", ours(&own_gz), vec![rival(pigz, 0.45, Some(0.30))]),
            ("gunzip, BGZF", ours(&bgzf), bgzf_rivals),
            ("unzstd, ordinary frame", ours(&frame), vec![rival(zstd.clone(), 1.05, None)]),
            ("unzstd, own frames", ours(&own_zst), vec![rival(zstd, 0.65, Some(0.5))]),
        ];
        for (name, ours, rivals) in additions {
            self.add(name.to_owned(), corpus, ours, rivals, verify());
        }
        Ok(())
    }

    fn one_worker(&mut self) {
        let (plain, out) = (self.data.source.clone(), self.data.file("out"));
        let (input, output, mh) = (Self::text(&plain), Self::text(&out), self.mh);
        let ours = |format: &str, level: &str| {
            Tool::new("mh tamp -j1", &[mh, "tamp", "-qf", "-j1", "--format", format, level, input, "-o", output], &out)
        };
        let zstd = Tool::new("zstd -T1", &["zstd", "-qf", "-T1", "-3", input, "-o", output], &out);
        let libdeflate = Tool::new("libdeflate-gzip", &["libdeflate-gzip", "-6", "-c", input], &out).into_stdout();
        let verify = |format| Verify::Packed { unpack: Self::unpack(format), plain: plain.clone() };
        let (zst, gz) = (ours("zst", "-3"), ours("gz", "-6"));
        self.add("one worker, zst -3".to_owned(), "source", zst, vec![rival(zstd, 1.05, None)], verify("zst"));
        self.add("one worker, gz -6".to_owned(), "source", gz, vec![rival(libdeflate, 1.05, None)], verify("gz"));
    }

    fn pipes(&mut self) {
        let (plain, out, mh) = (self.data.source.clone(), self.data.file("out"), self.mh);
        let verify = || Verify::Packed { unpack: Self::unpack("zst"), plain: plain.clone() };
        let piped = |name: &str, arguments: &[&str]| Tool::new(name, arguments, &out).into_stdout();
        let both = || (piped("mh tamp", &[mh, "tamp", "-q", "-3"]), piped("zstd -T2", &["zstd", "-qc", "-T2", "-3"]));
        let rate = SLOW_RATE.to_string();
        let this = std::env::current_exe().unwrap_or_default();
        let this = this.to_str().unwrap_or_default();
        let input = Self::text(&plain);
        let slow_producer = words(&[this, "produce", "--file", input, "--rate", &rate]);
        let slow_consumer = words(&[this, "consume", "--rate", &(SLOW_RATE / 10).to_string()]);
        let (mut ours, mut zstd) = both();
        (ours.stdin, zstd.stdin) = (Some(plain.clone()), Some(plain.clone()));
        self.add("zst -3, stdin to stdout".to_owned(), "source", ours, vec![informs(zstd)], verify());
        let (mut ours, mut zstd) = both();
        (ours.producer, zstd.producer) = (Some(slow_producer.clone()), Some(slow_producer));
        self.add("zst -3, slow producer".to_owned(), "source", ours, vec![informs(zstd)], verify());
        let (mut ours, mut zstd) = both();
        (ours.stdin, zstd.stdin) = (Some(plain.clone()), Some(plain.clone()));
        (ours.consumer, zstd.consumer) = (Some(slow_consumer.clone()), Some(slow_consumer));
        self.add("zst -3, slow consumer".to_owned(), "source", ours, vec![informs(zstd)], verify());
    }

    fn small_files(&mut self) {
        let inputs: Vec<&str> = self.data.small.iter().map(|path| Self::text(path)).collect();
        let outputs: Vec<_> = self.data.small.iter().map(|path| path.with_extension("zst")).collect();
        let with_outputs = |mut tool: Tool| {
            tool.output.clone_from(&outputs[0]);
            tool.more_outputs = outputs[1..].to_vec();
            tool
        };
        let ours = [&[self.mh, "tamp", "-qf", "-3"], inputs.as_slice()].concat();
        let script = format!("printf '%s\\n' {} | xargs -P2 -n1 zstd -qf -3", inputs.join(" "));
        let rival = with_outputs(Tool::new("xargs -P2 zstd", &["sh", "-c", &script], &outputs[0]));
        let ours = with_outputs(Tool::new("mh tamp", &ours, &outputs[0]));
        let verify = Verify::PackedEach { unpack: Self::unpack("zst"), plain: self.data.small.clone() };
        self.add(format!("zst -3, {} files of 1 MiB", inputs.len()), "mixed", ours, vec![informs(rival)], verify);
    }
}

/// Forecasts to be held against real runs.
pub fn forecasts(program: &Path, data: &Data) -> Vec<Check> {
    let mh = program.to_string_lossy().into_owned();
    let input = data.source.to_string_lossy().into_owned();
    let output = data.file("out").to_string_lossy().into_owned();
    let this = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
    let gz = format!("'{mh}' tamp -qf --format gz -6 '{input}' -o '{output}'");
    let zst = format!("'{mh}' tamp -q -3");
    let slow = SLOW_RATE;
    let slower = SLOW_RATE / 10;
    vec![
        Check { name: "forecast: gz -6 from a file".into(), before: String::new(), command: gz, after: String::new() },
        Check {
            name: "forecast: zst -3 from a pipe".into(),
            before: format!("cat '{input}' |"),
            command: zst.clone(),
            after: format!("> '{output}'"),
        },
        Check {
            name: "forecast: slow reader".into(),
            before: format!("'{this}' produce --file '{input}' --rate {slow} |"),
            command: zst.clone(),
            after: format!("> '{output}'"),
        },
        Check {
            name: "forecast: slow writer".into(),
            before: String::new(),
            command: format!("{zst} -c '{input}'"),
            after: format!("| '{this}' consume --rate {slower} > '{output}'"),
        },
    ]
}
