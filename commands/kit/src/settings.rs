//! The settings file: what a user, or the machine's administrator, wants of every run that is not told otherwise.
//! One file is read, the first there is: `MH_CONFIG`, `$XDG_CONFIG_HOME/manyhands/config.toml` (else `~/.config`), `/etc`.

use crate::context::variable;
use crate::shared_args::{PriorityArg, WEIGHTS};
use crew::budget::Priority;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// What stands in the file, or what holds where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// Its part about the cores.
    pub crew: CrewSettings,
}

/// `[crew]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrewSettings {
    /// The class of runs that are given none.
    pub priority: Option<PriorityArg>,
    /// Their weight; 1 to 10,000.
    pub weight: Option<u16>,
    /// Cores that runs of class low and idle never take.
    pub reserved_cores: usize,
    /// The highest class whose runs leave alone what programs outside the budget keep busy.
    pub gives_way: GivesWay,
}

/// `gives_way`: a class, or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GivesWay {
    /// Nobody does.
    None,
    /// Idle runs.
    Idle,
    /// Idle and low ones.
    #[default]
    Low,
    /// All but high ones.
    Normal,
    /// All.
    High,
}

impl GivesWay {
    /// Up to which class.
    pub fn up_to(self) -> Option<Priority> {
        match self {
            Self::None => None,
            Self::Idle => Some(Priority::Idle),
            Self::Low => Some(Priority::Low),
            Self::Normal => Some(Priority::Normal),
            Self::High => Some(Priority::High),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    crew: CrewSettings,
}

impl Settings {
    /// Reads the file. The error is text that reads after "could not".
    pub fn load() -> Result<Self, String> {
        let Some(path) = path() else { return Ok(Self::default()) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                return Err(format!("read the settings in {}: {}", terminal::quote(&path), kernel_words(&error)));
            }
        };
        let crew = parse(&path, &text)?;
        Ok(Self { path: Some(path), crew })
    }

    /// What of it concerns a run, in words for its plan; none where there is no file.
    pub fn in_words(&self) -> Option<(String, String)> {
        let path = terminal::quote(self.path.as_ref()?);
        let crew = &self.crew;
        let mut words = Vec::new();
        words.extend(crew.priority.map(|class| format!("priority {class:?}").to_lowercase()));
        words.extend(crew.weight.map(|weight| format!("weight {weight}")));
        words.extend((crew.reserved_cores > 0).then(|| format!("{} reserved", crew.reserved_cores)));
        if crew.gives_way != GivesWay::default() {
            words.push(format!("gives way: {:?}", crew.gives_way).to_lowercase());
        }
        Some((path, if words.is_empty() { "it sets nothing".to_owned() } else { words.join(", ") }))
    }
}

fn kernel_words(error: &io::Error) -> String {
    crate::failure::with_causes(error)
}

/// The file to be read. A named one must be there; empty, there is none.
fn path() -> Option<PathBuf> {
    if let Some(named) = variable("MH_CONFIG") {
        return (!named.is_empty()).then(|| PathBuf::from(named));
    }
    let home = || variable("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".config"));
    let own = variable("XDG_CONFIG_HOME").filter(|directory| !directory.is_empty()).map(PathBuf::from).or_else(home);
    let candidates = own.into_iter().chain([PathBuf::from("/etc")]);
    candidates.map(|directory| directory.join("manyhands/config.toml")).find(|path| path.exists())
}

fn parse(path: &Path, text: &str) -> Result<CrewSettings, String> {
    let refuse = |line: usize, cause: &str| {
        Err(format!(
            "understand the settings in {}, line {line}: {}",
            terminal::quote(path),
            terminal::printable(cause)
        ))
    };
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let before = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..before].iter().filter(|&&byte| byte == b'\n').count();
            return refuse(line, error.message());
        }
    };
    if file.crew.weight.is_some_and(|weight| !WEIGHTS.contains(&weight)) {
        let line = text.lines().position(|line| line.trim_start().starts_with("weight")).unwrap_or(0);
        return refuse(line + 1, "weight is not a number from 1 to 10,000");
    }
    Ok(file.crew)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse(Path::new("/a b/config.toml"), text).expect_err(text)
    }

    #[test]
    fn what_is_set_is_read_and_the_rest_stays() {
        let text = "# mine\n[crew]\npriority = \"low\"\nweight = 200\nreserved_cores = 1\n";
        let crew = parse(Path::new("x"), text).expect("a good file");
        let (priority, weight) = (Some(PriorityArg::Low), Some(200));
        assert_eq!(crew, CrewSettings { priority, weight, reserved_cores: 1, gives_way: GivesWay::Low });
        assert_eq!(parse(Path::new("x"), ""), Ok(CrewSettings::default()));
        let settings = Settings { path: Some(PathBuf::from("/x")), crew };
        let words = settings.in_words().expect("there is a file");
        assert_eq!(words, ("'/x'".to_owned(), "priority low, weight 200, 1 reserved".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let unknown = said("[crew]\n\npriorty = \"low\"\n");
        assert!(
            unknown.starts_with("understand the settings in '/a b/config.toml', line 3: unknown field `priorty`"),
            "{unknown}"
        );
        assert!(said("[crew]\npriority = \"highest\"\n").contains("line 2: unknown variant `highest`"));
        assert!(said("[crew]\nweight = 0\n").contains("line 2: weight is not a number from 1"));
        assert!(said("[crew\n").contains("line 1: "));
        assert!(said("[crew]\nreserved_cores = -1\n").contains("line 2: "));
    }
}
