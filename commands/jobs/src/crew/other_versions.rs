//! Tables of other versions of this program: their runs share cores among themselves and not with this one's, which a person who wonders
//! about slow runs should know. Looks only.

use crew::budget::CrewDirectory;
use crew::budget::layout::ROWS;
use crew::budget::table::FILE_NAME;
use std::fs::File;

/// What every table's name begins with; its version follows.
const PREFIX: &str = "table-";

/// Those in which runs live now, by name.
pub fn living(directory: &CrewDirectory) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory.path()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_table = |name: &str| name.strip_prefix(PREFIX).is_some_and(|version| version.parse::<u32>().is_ok());
    let is_other = |name: &String| name != FILE_NAME && is_table(name);
    let mut others: Vec<String> = names.filter(is_other).filter(|name| has_runs(directory, name)).collect();
    others.sort();
    others
}

/// Each run keeps a byte of its table's file locked, in every version.
fn has_runs(directory: &CrewDirectory, name: &str) -> bool {
    let Ok(table) = File::open(directory.path().join(name)) else { return false };
    (0..ROWS as u64).any(|row| sys::byte_lock::is_locked(&table, row).unwrap_or(false))
}

/// For people.
pub fn remark(others: &[String]) -> Option<String> {
    (!others.is_empty()).then(|| {
        let tables = others.join(" and ");
        format!("runs of another version of mh ({tables}) are not shown, and share no cores with these")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_table_of_another_version_counts_while_a_run_lives_in_it() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("mh-versions-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let place = std::env::temp_dir().join(name);
        std::fs::create_dir(&place).expect("a directory");
        let directory = CrewDirectory::at(&place);
        let files = ["table-1", FILE_NAME, "table-x", "table-2.77.0"].map(|name| {
            let file = File::create(place.join(name)).expect("made");
            file.set_len(4096).expect("longer");
            file
        });
        assert_eq!(living(&directory), Vec::<String>::new(), "nobody lives there");
        files.iter().for_each(|file| assert!(sys::byte_lock::try_lock(file, 3).expect("asked")));
        let others = living(&directory);
        assert_eq!(others, ["table-1"]);
        assert!(remark(&others).is_some_and(|text| text.contains("(table-1)")) && remark(&[]).is_none());
        drop(files);
        std::fs::remove_dir_all(&place).expect("removed");
    }
}
