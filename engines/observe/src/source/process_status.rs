//! `/proc/PID/status` (proc_pid_status(5)): whose a process is, where it may run, how often it went to sleep.

use super::words::{lines, number, number_of, value_of, words};

/// The name. COMPAT: the kernel writes line ends and backslashes in it as `\n` and `\\` here, and nowhere else.
pub fn name(text: &[u8]) -> Option<Vec<u8>> {
    let mut written = lines(text).find_map(|line| line.strip_prefix(b"Name:\t"))?.iter().copied();
    let mut name = Vec::new();
    while let Some(byte) = written.next() {
        match byte {
            b'\\' => name.extend(written.next().map(|escaped| if escaped == b'n' { b'\n' } else { escaped })),
            byte => name.push(byte),
        }
    }
    Some(name)
}

/// The effective user, as `ps` shows.
pub fn user(text: &[u8]) -> Option<u32> {
    // Real, effective, saved, file system.
    let effective = words(value_of(text, b"Uid:")?).nth(1)?;
    u32::try_from(number(effective)?).ok()
}

/// How many CPUs it may run on.
pub fn cpus_allowed(text: &[u8]) -> Option<u32> {
    cpu_count(value_of(text, b"Cpus_allowed_list:")?)
}

/// Times that it went to sleep by itself.
pub fn sleeps(text: &[u8]) -> Option<u64> {
    number_of(text, b"voluntary_ctxt_switches:")
}

/// How many CPUs `0-3,8` are.
pub fn cpu_count(list: &[u8]) -> Option<u32> {
    // LIMIT: more CPUs than a list of a damaged file claims are not counted; Linux has at most 8,192.
    const CPUS_MAX: u64 = 1 << 16;
    let mut count = 0;
    for part in list.split(|&byte| byte == b',').filter(|part| !part.is_empty()) {
        let mut ends = part.splitn(2, |&byte| byte == b'-').map(number);
        let first = ends.next().flatten()?;
        let last = ends.next().map_or(Some(first), |last| last)?;
        if last < first || last >= CPUS_MAX {
            return None;
        }
        count += u32::try_from(last - first + 1).ok()?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_and_the_cpus_are_found() {
        let text = b"Name:\tx\nUid:\t1000\t0\t1000\t1000\nCpus_allowed_list:\t0-3,8\n\
            voluntary_ctxt_switches:\t23\nnonvoluntary_ctxt_switches:\t214\n";
        assert_eq!(user(text), Some(0));
        assert_eq!(cpus_allowed(text), Some(5));
        assert_eq!(sleeps(text), Some(23));
        assert_eq!(user(b"Name:\tUid:\n"), None);
    }

    #[test]
    fn a_name_is_what_the_program_called_itself() {
        assert_eq!(name(b"Name:\tb\\nc\nUid:\t0\n").as_deref(), Some(&b"b\nc"[..]));
        assert_eq!(name(b"Name:\tback\\\\n \n").as_deref(), Some(&b"back\\n "[..]));
        assert_eq!(name(b"Name:\t\xff\\\n").as_deref(), Some(&b"\xff"[..]), "cut off in the middle");
        assert_eq!(name(b"Uid:\t0\n"), None);
    }

    #[test]
    fn damaged_lists_have_no_count() {
        for bad in [&b"3-1"[..], b"x", b"0-", b"0-99999999999"] {
            assert_eq!(cpu_count(bad), None);
        }
        assert_eq!(cpu_count(b""), Some(0));
    }
}
