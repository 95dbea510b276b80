//! A tree as text, one entry a line: everything that `cp -a` keeps.

use rustix::fs::{lgetxattr, llistxattr};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Everything in `directory`, itself included.
pub fn describe(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut described = BTreeMap::new();
    let mut names_of: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    let mut unseen = vec![PathBuf::new()];
    while let Some(relative) = unseen.pop() {
        let path = directory.join(&relative);
        let found = fs::symlink_metadata(&path).expect("it is there");
        let kind = found.file_type();
        let content = if kind.is_file() {
            let bytes = fs::read(&path).expect("readable for root");
            let sum = bytes.iter().fold(7_u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
            format!("{} bytes, sum {sum:x}", bytes.len())
        } else if kind.is_symlink() {
            format!("to {:?}", fs::read_link(&path).expect("a link"))
        } else {
            format!("device {}", found.rdev())
        };
        if kind.is_dir() {
            unseen.extend(
                fs::read_dir(&path).expect("listable").map(|entry| relative.join(entry.expect("an entry").file_name())),
            );
        } else if found.nlink() > 1 {
            names_of.entry(found.ino()).or_default().push(relative.clone());
        }
        let line = format!(
            "{:o} {}:{} at {}.{:09} {content} {:?}",
            found.mode(),
            found.uid(),
            found.gid(),
            found.mtime(),
            found.mtime_nsec(),
            attributes(&path)
        );
        described.insert(relative, line);
    }
    for mut names in names_of.into_values() {
        names.sort();
        for name in &names {
            described.get_mut(name).expect("described above").push_str(&format!(" also {names:?}"));
        }
    }
    described
}

fn attributes(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut names, mut value) = (vec![0; 65536], vec![0; 65536]);
    let length = llistxattr(path, &mut names).unwrap_or_default();
    let names = names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut found: Vec<_> = names
        .map(|name| {
            let length = lgetxattr(path, name, &mut value).expect("listed");
            (name.to_vec(), value[..length].to_vec())
        })
        .collect();
    found.sort();
    found
}

/// Asserts that two trees are the same.
pub fn assert_same(expected: &Path, found: &Path, what: &str) {
    let (expected, found) = (describe(expected), describe(found));
    let names: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let differences: Vec<String> = names
        .into_iter()
        .filter(|name| expected.get(*name) != found.get(*name))
        .map(|name| format!("{name:?}\n  should be {:?}\n  is        {:?}", expected.get(name), found.get(name)))
        .collect();
    assert!(
        differences.is_empty(),
        "{what}: {} differences\n{}",
        differences.len(),
        differences[..differences.len().min(8)].join("\n")
    );
}
