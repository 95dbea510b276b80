//! The law of unsafe: where it may stand, and that each use is argued.
//! Does not judge the argument.

use super::Finding;
use super::scanned::{Scanned, word_at};
use std::path::Path;

/// How far above the `unsafe` its comment may stand.
const COMMENT_LINES: usize = 6;

/// Checks one file.
pub fn check(file: &Scanned) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, code) in file.numbered() {
        let Some(at) = word_at(code, "unsafe") else { continue };
        if !is_room(&file.path) {
            findings.push(Finding::new(
                file.place(number),
                "unsafe outside its rooms",
                "move it into foundation/sys, preload, a leaf module named kernel or the boundary of a binding",
            ));
        }
        if opens(&code[at + "unsafe".len()..]) && !is_argued(file, number) {
            findings.push(Finding::new(
                file.place(number),
                "unsafe without a SAFETY comment in the 6 lines above",
                "say there which invariant makes it sound",
            ));
        }
    }
    findings
}

fn is_room(path: &Path) -> bool {
    path.starts_with("foundation/sys")
        || path.starts_with("preload")
        // What turns another language's pointers into values, and nothing else: docs/decisions/0007-a-boundary-for-c.md.
        // What stands before libc's functions: docs/decisions/0011-a-preloaded-library.md.
        || (path.starts_with("bindings") && is_boundary(path))
        || path.ends_with("kernel.rs")
        || path.parent().is_some_and(|directory| directory.iter().any(|part| part == "kernel"))
}

/// `src/boundary.rs`, and the files of the directory beside it.
fn is_boundary(path: &Path) -> bool {
    path.ends_with("src/boundary.rs") || path.parent().is_some_and(|directory| directory.ends_with("src/boundary"))
}

/// A block, function, impl, trait or extern block begins; the type of a function pointer and an attribute do not.
fn opens(rest: &str) -> bool {
    let rest = rest.trim_start();
    let is_item = |word| rest.strip_prefix(word).is_some_and(|rest: &str| !rest.starts_with('('));
    rest.is_empty() || rest.starts_with('{') || ["fn", "impl", "trait", "extern"].into_iter().any(is_item)
}

/// `# Safety` is what rustdoc calls the same comment on an unsafe function.
fn is_argued(file: &Scanned, number: usize) -> bool {
    let above = &file.comments[(number - 1).saturating_sub(COMMENT_LINES)..number];
    above.iter().any(|comment| comment.contains("SAFETY") || comment.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Scanned::new(Path::new(path), text)).len()
    }

    #[test]
    fn unsafe_stays_in_its_rooms() {
        let argued = "// SAFETY: it is sound.\nunsafe { g() }";
        for room in [
            "foundation/sys/src/x.rs",
            "preload/x/src/lib.rs",
            "engines/a/src/kernel.rs",
            "engines/a/kernel/b.rs",
            "bindings/c/src/boundary.rs",
            "bindings/mtwrite/src/boundary/paths.rs",
        ] {
            assert_eq!(count(room, argued), 0, "{room}");
        }
        for other in [
            "engines/a/src/x.rs",
            "commands/src/kernel_list.rs",
            "foundation/system/src/x.rs",
            "bindings/c/src/share.rs",
            "bindings/mtwrite/src/shim.rs",
            "engines/a/src/boundary.rs",
        ] {
            assert_eq!(count(other, argued), 1, "{other}");
        }
        assert_eq!(count("commands/src/x.rs", "#![expect(unsafe_code)] // unsafe\nf(\"unsafe {\");"), 0);
    }

    #[test]
    fn every_unsafe_is_argued_near_by() {
        let kernel = "engines/a/src/kernel.rs";
        assert_eq!(count(kernel, "unsafe { g() }"), 1);
        assert_eq!(count(kernel, "unsafe fn g() {}"), 1);
        assert_eq!(count(kernel, "unsafe impl Send for A {}"), 1);
        assert_eq!(count(kernel, "unsafe extern \"C\" {}"), 1);
        assert_eq!(count(kernel, "/// # Safety\n/// The caller holds the lock.\nunsafe fn g() {}"), 0);
        assert_eq!(count(kernel, "type A = unsafe fn(u8);"), 0);
        assert_eq!(count(kernel, &format!("// SAFETY: far away.\n{}unsafe {{ g() }}", "\n".repeat(6))), 1);
        assert_eq!(count(kernel, "let a = \"SAFETY\";\nunsafe { g() }"), 1);
    }
}
