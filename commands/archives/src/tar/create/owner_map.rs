//! `--owner-map` and `--group-map`: owners to write instead of those that files have. COMPAT: GNU tar's files.

use super::super::selection::words_of;
use super::super::{TarArgs, read_list, usage};
use archive::create::OwnerMap;
use mh_kit::failure::Failure;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Asks the machine for the number of a name.
type NumberOf = fn(&[u8]) -> Option<u32>;
type NameOf = fn(u32) -> Option<Vec<u8>>;

/// The maps that the options name.
pub fn maps(args: &TarArgs) -> Result<[OwnerMap; 2], Failure> {
    let map = |path: Option<&Path>, ask: (NumberOf, NameOf)| match path {
        Some(path) => read(path, &read_list(path)?, ask),
        None => Ok(OwnerMap::default()),
    };
    Ok([
        map(args.writing.owner_map.as_deref(), (sys::names::user_number, sys::names::user_name))?,
        map(args.writing.group_map.as_deref(), (sys::names::group_number, sys::names::group_name))?,
    ])
}

/// Lines of `OLD NEW`; what stands behind `#` is a comment.
fn read(path: &Path, bytes: &[u8], (number_of, name_of): (NumberOf, NameOf)) -> Result<OwnerMap, Failure> {
    let mut map = OwnerMap::default();
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let wrong = |why: &str| usage(format!("{}:{}: {why}", path.display(), at + 1));
        // COMPAT: quotes keep blanks in names.
        let words = words_of(line).ok_or_else(|| wrong("a quote is not closed"))?;
        let [old, new] = match words.as_slice() {
            [] => continue,
            [old, new] => [old.as_bytes(), new.as_bytes()],
            _ => return Err(wrong("a line has an owner and the one to write instead")),
        };
        let old = number(old).or_else(|| number_of(old)).ok_or_else(|| wrong("there is no owner of this name"))?;
        let (name, new_number) = match new.iter().position(|&byte| byte == b':') {
            Some(colon) => {
                let number = digits(&new[colon + 1..]).ok_or_else(|| wrong("behind the colon stands a number"))?;
                (new[..colon].to_vec(), Some(number))
            }
            None => match number(new) {
                Some(number) => (name_of(number).unwrap_or_default(), Some(number)),
                None => (new.to_vec(), number_of(new)),
            },
        };
        // COMPAT: a name that there is not here keeps the number.
        map.insert(old, (new_number.map(u64::from), name));
    }
    Ok(map)
}

/// A number has a `+` in front of it, or is not a name.
fn number(word: &[u8]) -> Option<u32> {
    digits(word.strip_prefix(b"+").unwrap_or(word))
}

fn digits(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_who_is_written_instead_of_whom() {
        let ask: (NumberOf, NameOf) =
            (|name| (name == b"joe").then_some(7), |number| (number == 8).then(|| b"ann".to_vec()));
        let text = b"# who\n+1 a:5\njoe +8 # him\n4 \"a b:9\"\n\n2 joe\n3 nobody\n";
        let map = read(Path::new("m"), text, ask).expect("a map");
        let found = [1, 7, 2, 3, 4].map(|old| map.get(&old).cloned().expect("it is there"));
        let expected = [(Some(5), "a"), (Some(8), "ann"), (Some(7), "joe"), (None, "nobody"), (Some(9), "a b")];
        assert_eq!(found, expected.map(|(number, name)| (number, name.as_bytes().to_vec())));
        for wrong in ["a", "a b c", "nobody x", "1 a:b"] {
            assert!(read(Path::new("m"), wrong.as_bytes(), ask).is_err(), "{wrong}");
        }
    }
}
