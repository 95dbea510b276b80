//! Reads command lines as the old tools do: clusters, values attached or apart, long options with `=` or apart, and their
//! unambiguous beginnings. A family's options are a table; this file knows none of them.

use super::Wish;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A family's options.
pub struct Table {
    /// All of them.
    pub options: &'static [Opt],
    /// And those that only one of the family's tools has.
    pub also: &'static [Opt],
    /// What digits among short options mean.
    pub digits: Digits,
    /// Whether the beginning of a long option is enough.
    pub abbreviates: bool,
}

impl Table {
    fn all(&self) -> impl Iterator<Item = &'static Opt> {
        self.options.iter().chain(self.also)
    }
}

/// What digits among short options mean.
#[derive(Clone, Copy)]
pub enum Digits {
    /// Each one is a level: `-10` is `-1 -0`.
    Single(fn(u8) -> bool),
    /// All that stand together are one: `-19`.
    Number,
    /// The same, where what has more than 32 bits is refused with these words.
    Word(&'static str),
}

/// An option.
pub struct Opt {
    /// Its names: one letter is a short option, more are a long one.
    pub names: &'static str,
    /// What value it has.
    pub takes: Takes,
    /// What it does.
    pub does: Does,
}

/// What value an option has.
#[derive(Clone, Copy)]
pub enum Takes {
    /// None.
    Nothing,
    /// The rest of the cluster, or the next word; behind `=`, or the next word.
    Value,
    /// The next word, even inside a cluster.
    NextWord,
    /// The same, where a next word that looks like an option is refused with these words.
    NextWordUnless(&'static str),
    /// In a cluster the letters that fit, perhaps none; behind `=` or none.
    Run(fn(u8) -> bool),
}

/// What an option does.
#[derive(Clone, Copy)]
pub enum Does {
    /// Changes the wish.
    Set(fn(&mut Wish)),
    /// Changes it by a value; an error is what is wrong with the value.
    Take(fn(&mut Wish, &OsStr) -> Result<(), String>),
    /// Nothing here: docs/commands/old-names.md says why.
    Nothing,
    /// Refuses, with the reason.
    Refuse(&'static str),
}

/// `names` without a value.
pub const fn flag(names: &'static str, set: fn(&mut Wish)) -> Opt {
    Opt { names, takes: Takes::Nothing, does: Does::Set(set) }
}

/// `names` with a value.
pub const fn value(names: &'static str, take: fn(&mut Wish, &OsStr) -> Result<(), String>) -> Opt {
    Opt { names, takes: Takes::Value, does: Does::Take(take) }
}

/// Accepted, without effect.
pub const fn accepted(names: &'static str) -> Opt {
    Opt { names, takes: Takes::Nothing, does: Does::Nothing }
}

/// Accepted with its value, without effect.
pub const fn accepted_value(names: &'static str) -> Opt {
    Opt { names, takes: Takes::Value, does: Does::Nothing }
}

/// Refused.
pub const fn refused(names: &'static str, reason: &'static str) -> Opt {
    Opt { names, takes: Takes::Nothing, does: Does::Refuse(reason) }
}

/// The options of our own that every command here has, under every name.
const OURS: &[Opt] = &[
    flag("explain", |wish| wish.args.shared.explain = true),
    Opt {
        names: "report",
        takes: Takes::Run(|letter| letter.is_ascii_alphabetic()),
        does: Does::Take(|wish, value| {
            wish.args.shared.report = Some(match value.to_str() {
                Some("" | "text") => mh_kit::shared_args::ReportFormat::Text,
                Some("json") => mh_kit::shared_args::ReportFormat::Json,
                _ => return Err("--report has the formats text and json".to_owned()),
            });
            Ok(())
        }),
    },
];

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// No such option; with its dashes.
    Unknown(String),
    /// A beginning of several: with them.
    Ambiguous(String, Vec<String>),
    /// Its value is missing.
    NoValue(String),
    /// It has none.
    UnwantedValue(String),
    /// In our words.
    Uncompressed(String),
}

/// Options that may stand in an environment variable, and its name.
#[derive(Clone, Copy)]
pub struct Allowed {
    /// The variable.
    pub variable: &'static str,
    /// One name of each.
    pub options: &'static [&'static str],
}

impl Allowed {
    fn forbids(self, typed: &str) -> Complaint {
        Complaint::Uncompressed(format!("{typed}: option not valid in {} environment variable", self.variable))
    }

    fn has(self, option: &Opt) -> bool {
        self.options.iter().any(|name| option.has(OsStr::new(name)))
    }
}

/// Reads `words` into `wish`; only what is `allowed`, where not everything is.
pub fn read(table: &Table, wish: &mut Wish, words: Vec<OsString>, allowed: Option<Allowed>) -> Result<(), Complaint> {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if let (b"--", Some(allowed)) = (bytes, allowed) {
            return Err(allowed.forbids("--"));
        }
        if bytes == b"--" {
            wish.args.files.extend(words.map(Into::into));
            return Ok(());
        }
        if let Some(long) = bytes.strip_prefix(b"--") {
            read_long(table, wish, long, &mut words, allowed)?;
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            read_cluster(table, wish, &bytes[1..], &mut words, allowed)?;
        } else {
            wish.args.files.push(word.into());
        }
    }
    Ok(())
}

fn read_cluster(
    table: &Table,
    wish: &mut Wish,
    cluster: &[u8],
    words: &mut impl Iterator<Item = OsString>,
    allowed: Option<Allowed>,
) -> Result<(), Complaint> {
    let mut at = 0;
    while at < cluster.len() {
        let letter = cluster[at];
        let typed = format!("-{}", char::from(letter));
        if letter.is_ascii_digit() {
            at += read_level(table, wish, &cluster[at..])?;
            continue;
        }
        at += 1;
        let option = table.all().find(|option| option.has(OsStr::from_bytes(&[letter])));
        let option = option.ok_or_else(|| Complaint::Unknown(typed.clone()))?;
        let rest = &cluster[at..];
        let next = |words: &mut dyn Iterator<Item = OsString>| words.next().ok_or(Complaint::NoValue(typed.clone()));
        let value = match option.takes {
            Takes::Nothing => None,
            Takes::Value if !rest.is_empty() => {
                at = cluster.len();
                Some(OsStr::from_bytes(rest).to_owned())
            }
            Takes::Value | Takes::NextWord => Some(next(words)?),
            Takes::NextWordUnless(refusal) => Some(unless_dashed(next(words)?, refusal)?),
            Takes::Run(fits) => {
                let run = rest.iter().take_while(|&&letter| fits(letter)).count();
                at += run;
                Some(OsStr::from_bytes(&rest[..run]).to_owned())
            }
        };
        if let Some(allowed) = allowed.filter(|allowed| !allowed.has(option)) {
            return Err(allowed.forbids(&typed));
        }
        option.apply(wish, value.as_deref())?;
    }
    Ok(())
}

/// Returns how many letters the level has.
fn read_level(table: &Table, wish: &mut Wish, cluster: &[u8]) -> Result<usize, Complaint> {
    let digits = cluster.iter().take_while(|letter| letter.is_ascii_digit()).count();
    let taken = match table.digits {
        Digits::Single(is_level) if is_level(cluster[0]) => 1,
        Digits::Single(_) => return Err(Complaint::Unknown(format!("-{}", char::from(cluster[0])))),
        Digits::Number | Digits::Word(_) => digits,
    };
    if let (Digits::Word(words), None) = (table.digits, number32(&cluster[..taken])) {
        return Err(Complaint::Uncompressed(words.to_owned()));
    }
    let level = cluster[..taken]
        .iter()
        .fold(0_i32, |level, digit| level.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    wish.level = Some(level);
    Ok(taken)
}

fn read_long(
    table: &Table,
    wish: &mut Wish,
    typed: &[u8],
    words: &mut impl Iterator<Item = OsString>,
    allowed: Option<Allowed>,
) -> Result<(), Complaint> {
    let (name, attached) = match typed.iter().position(|&letter| letter == b'=') {
        Some(at) => (&typed[..at], Some(OsStr::from_bytes(&typed[at + 1..]).to_owned())),
        None => (typed, None),
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let option = find_long(table, &name)?;
    let value = match (option.takes, attached) {
        (Takes::Nothing, None) => None,
        (Takes::Nothing, Some(_)) => return Err(Complaint::UnwantedValue(format!("--{name}"))),
        (_, Some(attached)) => Some(attached),
        (Takes::Run(_), None) => Some(OsString::new()),
        (Takes::Value | Takes::NextWord, None) => {
            Some(words.next().ok_or_else(|| Complaint::NoValue(format!("--{name}")))?)
        }
        (Takes::NextWordUnless(refusal), None) => {
            let next = words.next().ok_or_else(|| Complaint::NoValue(format!("--{name}")))?;
            Some(unless_dashed(next, refusal)?)
        }
    };
    if let Some(allowed) = allowed.filter(|allowed| !allowed.has(option)) {
        let whole = option.long_names().find(|long| long.starts_with(&name)).unwrap_or(&name);
        return Err(allowed.forbids(&format!("--{whole}")));
    }
    option.apply(wish, value.as_deref())
}

fn unless_dashed(word: OsString, refusal: &str) -> Result<OsString, Complaint> {
    if word.as_bytes().starts_with(b"-") { Err(Complaint::Uncompressed(refusal.to_owned())) } else { Ok(word) }
}

fn find_long(table: &Table, name: &str) -> Result<&'static Opt, Complaint> {
    if let Some(option) = table.all().chain(OURS).find(|option| name.len() > 1 && option.has(OsStr::new(name))) {
        return Ok(option);
    }
    let begins = |option: &&Opt| option.long_names().any(|long| long.starts_with(name));
    let meant: Vec<&Opt> = match table.abbreviates && !name.is_empty() {
        true => table.all().filter(begins).collect(),
        false => Vec::new(),
    };
    match meant[..] {
        [option] => Ok(option),
        [] => Err(Complaint::Unknown(format!("--{name}"))),
        _ => {
            let names = meant.iter().flat_map(|option| option.long_names().filter(|long| long.starts_with(name)));
            Err(Complaint::Ambiguous(format!("--{name}"), names.map(|long| format!("--{long}")).collect()))
        }
    }
}

impl Opt {
    fn has(&self, name: &OsStr) -> bool {
        self.names.split(' ').any(|own| name == own)
    }

    fn long_names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ').filter(|name| name.len() > 1)
    }

    fn apply(&self, wish: &mut Wish, value: Option<&OsStr>) -> Result<(), Complaint> {
        match self.does {
            Does::Set(set) => set(wish),
            Does::Take(take) => take(wish, value.unwrap_or_default()).map_err(Complaint::Uncompressed)?,
            Does::Nothing => {}
            Does::Refuse(reason) => return Err(Complaint::Uncompressed(reason.to_owned())),
        }
        Ok(())
    }
}

/// Digits alone, where they fit into 32 bits.
fn number32(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A whole number, with a binary unit where there is one: `4`, `64K`, `1MiB`.
pub fn number(text: &OsStr) -> Option<u64> {
    let text = text.to_str()?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let shift = match &text[digits..] {
        "" => 0,
        "k" | "K" | "KB" | "KiB" | "Ki" | "kB" => 10,
        "m" | "M" | "MB" | "MiB" | "Mi" => 20,
        "g" | "G" | "GB" | "GiB" | "Gi" => 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The letters of a number with its unit.
pub fn is_of_number(letter: u8) -> bool {
    letter.is_ascii_digit() || b"KMGBi".contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const TABLE: Table = Table {
        options: &[
            flag("d decompress", |wish| wish.args.decompress = true),
            flag("c stdout to-stdout", |wish| wish.args.stdout = true),
            flag("v verbose", |wish| wish.args.verbose += 1),
            accepted("V version"),
            value("S suffix", |wish, value| {
                wish.args.suffix = value.to_str().map(str::to_owned);
                Ok(())
            }),
            Opt {
                names: "T threads",
                takes: Takes::Run(is_of_number),
                does: Does::Take(|wish, value| {
                    wish.args.shared.hands = number(value).and_then(|hands| usize::try_from(hands).ok());
                    Ok(())
                }),
            },
            refused("Z lzw", "not here"),
        ],
        also: &[],
        digits: Digits::Single(|digit| digit != b'0'),
        abbreviates: true,
    };

    fn wish(line: &str) -> Result<Wish, Complaint> {
        let mut wish = Wish::new("gzip");
        read(&TABLE, &mut wish, line.split(' ').map(OsString::from).collect(), None)?;
        Ok(wish)
    }

    #[test]
    fn clusters_values_and_levels() {
        let all = wish("-dc9S .x file -vv -T4 -- -v").expect("fine");
        assert!(all.args.decompress && all.args.stdout);
        assert_eq!((all.level, all.args.suffix.as_deref(), all.args.verbose), (Some(9), Some(".x"), 2));
        assert_eq!((all.args.shared.hands, &all.args.files), (Some(4), &vec![PathBuf::from("file"), "-v".into()]));
        assert_eq!(wish("-T4c -S.y").expect("fine").args.suffix.as_deref(), Some(".y"));
    }

    #[test]
    fn long_options_and_their_beginnings() {
        assert!(wish("--dec --std").is_ok_and(|wish| wish.args.decompress && wish.args.stdout));
        assert_eq!(wish("--suffix=.z").expect("fine").args.suffix.as_deref(), Some(".z"));
        assert_eq!(wish("--suf .z").expect("fine").args.suffix.as_deref(), Some(".z"));
        assert_eq!(wish("--threads=3").expect("fine").args.shared.hands, Some(3));
        assert!(wish("--explain").expect("fine").args.shared.explain);
    }

    #[test]
    fn complaints_say_what_was_typed() {
        let complaint = |line| wish(line).map(|_| ()).expect_err("wrong");
        assert_eq!(complaint("-dx"), Complaint::Unknown("-x".to_owned()));
        assert_eq!(complaint("-10"), Complaint::Unknown("-0".to_owned()));
        assert_eq!(complaint("--foo"), Complaint::Unknown("--foo".to_owned()));
        assert_eq!(complaint("-S"), Complaint::NoValue("-S".to_owned()));
        assert_eq!(complaint("--stdout=1"), Complaint::UnwantedValue("--stdout".to_owned()));
        assert_eq!(complaint("-Z"), Complaint::Uncompressed("not here".to_owned()));
        let both = vec!["--verbose".to_owned(), "--version".to_owned()];
        assert_eq!(complaint("--ver"), Complaint::Ambiguous("--ver".to_owned(), both));
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(number(OsStr::new("4")), Some(4));
        assert_eq!(number(OsStr::new("64K")), Some(64 << 10));
        assert_eq!(number(OsStr::new("1MiB")), Some(1 << 20));
        assert_eq!(number(OsStr::new("x")), None);
        assert_eq!(number(OsStr::new("4x")), None);
    }
}
