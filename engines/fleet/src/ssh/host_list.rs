//! Hosts as people write them: `web[1-3,7]`, `root@db[01-12].example.org`, or a file with one a line.

use super::check_destination;
use crate::Error;
use std::path::Path;

/// LIMIT: hosts of one list.
const HOSTS_MAX: usize = 4096;

/// LIMIT: letters of one word, and of a file.
const WORD_MAX: usize = 4096;
const FILE_MAX: u64 = 1 << 20;

const EXPAND: &str = "use hosts";

/// All hosts that the words mean, each once, in their order.
pub fn expand_hosts<Word: AsRef<str>>(words: impl IntoIterator<Item = Word>) -> Result<Vec<String>, Error> {
    let mut hosts: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for word in words {
        for host in expand(word.as_ref())? {
            check_destination(&host)?;
            if seen.insert(host.clone()) {
                hosts.push(host);
            }
        }
        if hosts.len() > HOSTS_MAX {
            return Err(too_many(word.as_ref()));
        }
    }
    Ok(hosts)
}

/// The hosts of a file: one a line, `#` begins a comment.
pub fn read_hosts_file(path: &Path) -> Result<Vec<String>, Error> {
    const READ: &str = "read hosts file";
    let bytes = std::fs::metadata(path).map_err(|cause| Error::at(READ, path, cause))?.len();
    if bytes > FILE_MAX {
        return Err(Error::refused(READ, path.display().to_string(), format!("longer than {FILE_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|cause| Error::at(READ, path, cause))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    expand_hosts(lines.filter(|line| !line.is_empty()))
}

fn too_many(word: &str) -> Error {
    Error::refused(EXPAND, shortened(word), format!("more than {HOSTS_MAX}"))
}

fn shortened(word: &str) -> String {
    word.chars().take(60).collect::<String>().escape_default().to_string()
}

/// One word, with all its brackets.
fn expand(word: &str) -> Result<Vec<String>, Error> {
    let refuse = |reason: &str| Error::refused(EXPAND, shortened(word), reason);
    if word.len() > WORD_MAX {
        return Err(refuse("too long"));
    }
    let mut found = vec![String::new()];
    let mut rest = word;
    while let Some((before, inside)) = rest.split_once('[') {
        let (inside, after) = inside.split_once(']').ok_or_else(|| refuse("a '[' without its ']'"))?;
        let numbers = numbers(inside).ok_or_else(|| refuse("between '[' and ']' are numbers and ranges, as 1-3,7"))?;
        if found.len().saturating_mul(numbers.len()) > HOSTS_MAX {
            return Err(too_many(word));
        }
        found = found
            .iter()
            .flat_map(|so_far| numbers.iter().map(move |number| format!("{so_far}{before}{number}")))
            .collect();
        rest = after;
    }
    if rest.contains(']') {
        return Err(refuse("a ']' without its '['"));
    }
    found.iter_mut().for_each(|host| host.push_str(rest));
    Ok(found)
}

/// `1-3,7`; as wide as the first bound if that begins with 0. None if it is no list, or too long a one.
fn numbers(list: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let is_number =
            |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(from) || !is_number(to) {
            return None;
        }
        let (first, last): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        let count = usize::try_from(last.checked_sub(first)?).ok()?;
        if numbers.len() + count >= HOSTS_MAX {
            return None;
        }
        let width = if from.starts_with('0') { from.len() } else { 0 };
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_expanded() {
        let hosts = |word| expand_hosts([word]).expect("hosts");
        assert_eq!(hosts("web[1-3,7]"), ["web1", "web2", "web3", "web7"]);
        assert_eq!(hosts("root@db[08-10].x"), ["root@db08.x", "root@db09.x", "root@db10.x"]);
        assert_eq!(hosts("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(hosts("web7"), ["web7"]);
        assert_eq!(expand_hosts(["a", "b", "a"]).expect("hosts"), ["a", "b"], "each once");
        assert_eq!(hosts("web[1-4096]").len(), 4096);
    }

    #[test]
    fn mistakes_are_refused() {
        for word in
            ["web[", "web[1-", "web]", "web[a]", "web[3-1]", "web[]", "web[1-9999999999]", "web[1-4097]", "-x[1-2]"]
        {
            assert!(expand_hosts([word]).is_err(), "{word}");
        }
        assert!(expand_hosts(["a[1-99]b[1-99]"]).is_err());
    }

    #[test]
    fn a_file_has_one_a_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("hosts");
        std::fs::write(&path, "# ours\nweb[1-2]\n\n root@db1  # the first\n").expect("written");
        assert_eq!(read_hosts_file(&path).expect("hosts"), ["web1", "web2", "root@db1"]);
        assert!(read_hosts_file(&directory.path().join("nosuch")).is_err());
    }
}
