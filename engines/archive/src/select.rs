//! What becomes of a member's name before it is placed: which are taken at all, what is cut off, how a name stays inside.
//! Pure: names in, names out.

use crate::member::{Kind, Member};

/// How names become paths.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Leading names that are cut off.
    pub strip_components: usize,
    /// Names that are put in front: `--one-top-level`.
    pub top_level: Option<Vec<u8>>,
    /// Whether absolute names and `..` are taken as they stand: `-P`.
    pub absolute: Absolute,
}

/// What absolute names mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absolute {
    /// They are made relative; `..` is refused.
    #[default]
    MadeRelative,
    /// What they say.
    Kept,
}

/// What a name became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A path beneath the root; empty for the root itself.
    Path {
        /// Names with a slash between, none of them empty or `.`.
        path: Vec<u8>,
        /// What was taken off its front.
        removed: Vec<u8>,
    },
    /// Nothing is left of it: all names were cut off.
    CutOff,
    /// It has `..` in it.
    LeadsUp,
}

impl Naming {
    /// Where a member goes.
    pub fn place(&self, name: &[u8]) -> Named {
        let (mut path, mut stripped) = (Vec::with_capacity(name.len()), 0);
        for part in name.split(|&byte| byte == b'/') {
            match part {
                b"" => {}
                b".." if self.absolute == Absolute::MadeRelative => return Named::LeadsUp,
                // COMPAT: `.` is a part that counts.
                _ if stripped < self.strip_components => stripped += 1,
                b"." => {}
                part => {
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    path.extend_from_slice(part);
                }
            }
        }
        if self.strip_components > 0 && path.is_empty() {
            return Named::CutOff;
        }
        let slashes = name.iter().take_while(|&&byte| byte == b'/').count();
        if let Some(top) = &self.top_level
            && path.split(|&byte| byte == b'/').next() != Some(top.as_slice())
        {
            path = if path.is_empty() { top.clone() } else { [top, path.as_slice()].join(&b'/') };
        }
        let keeps_root = self.absolute == Absolute::Kept && slashes > 0 && self.strip_components == 0;
        if keeps_root && self.top_level.is_none() {
            path.insert(0, b'/');
        }
        let removed = if keeps_root || self.strip_components > 0 { Vec::new() } else { name[..slashes].to_vec() };
        Named::Path { path, removed }
    }

    /// Gives a member the path, and a hard link the target, that it has beneath the root. A target of which nothing is left is an empty one.
    pub fn rename(&self, member: &mut Member) -> Named {
        if member.kind == Kind::HardLink {
            match self.place(&member.link) {
                Named::Path { path, .. } => member.link = path,
                Named::CutOff => member.link.clear(),
                Named::LeadsUp => return Named::LeadsUp,
            }
        }
        let named = self.place(&member.path);
        if let Named::Path { path, .. } = &named {
            member.path.clone_from(path);
        }
        named
    }
}

/// Whether a symbolic link that stands at `path` may lead out of the root, given that no directory on the way to `path` is a link. One that goes up
/// behind a name may, since that name may be a link; whatever goes up first and then down stays inside if all links beneath the root do.
pub fn may_lead_outside(path: &[u8], link: &[u8]) -> bool {
    let names = |path: &'_ [u8]| path.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b".")).count();
    let mut above = names(path).saturating_sub(1);
    let mut is_down = false;
    for name in link.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if is_down || above == 0 => return true,
            b".." => above -= 1,
            _ => is_down = true,
        }
    }
    link.starts_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(naming: &Naming, name: &str) -> Option<String> {
        match naming.place(name.as_bytes()) {
            Named::Path { path, .. } => Some(String::from_utf8_lossy(&path).into_owned()),
            Named::CutOff | Named::LeadsUp => None,
        }
    }

    #[test]
    fn names_stay_inside() {
        let naming = Naming::default();
        for (name, expected) in [
            ("a/b", Some("a/b")),
            ("/a", Some("a")),
            ("///./a//b/.", Some("a/b")),
            ("./", Some("")),
            ("..", None),
            ("a/../b", None),
            ("././//./..", None),
            ("a/..b", Some("a/..b")),
        ] {
            assert_eq!(path(&naming, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn links_that_may_lead_outside_are_seen() {
        for (path, link) in [
            ("a", "/x"),
            ("a/b", "../../x"),
            ("a", ".."),
            ("a", "b/../c"),
            ("a/b/c", "x/.."),
            ("./a", ".."),
            ("a", "./.."),
        ] {
            assert!(may_lead_outside(path.as_bytes(), link.as_bytes()), "{path} {link}");
        }
        for (path, link) in
            [("a/b", "../x"), ("a/b", ".."), ("a", "b/c"), ("a/b/c", "./..//.././x/y"), ("a", "..x/...")]
        {
            assert!(!may_lead_outside(path.as_bytes(), link.as_bytes()), "{path} {link}");
        }
    }

    #[test]
    fn leading_names_are_cut_off_and_others_put_in_front() {
        let naming = Naming { strip_components: 1, ..Naming::default() };
        assert_eq!(path(&naming, "a/b/c").as_deref(), Some("b/c"));
        assert_eq!(path(&naming, "a/").as_deref(), None);
        assert_eq!((path(&naming, "./f").as_deref(), path(&naming, ".//a/./f").as_deref()), (Some("f"), Some("a/f")));
        assert_eq!((path(&naming, "./"), path(&naming, "/a/f").as_deref()), (None, Some("f")));
        let naming = Naming { top_level: Some(b"top".to_vec()), ..Naming::default() };
        assert_eq!(path(&naming, "a/b").as_deref(), Some("top/a/b"));
        assert_eq!(path(&naming, "top/b").as_deref(), Some("top/b"));
        let naming = Naming { absolute: Absolute::Kept, ..Naming::default() };
        assert_eq!(path(&naming, "/a/../b").as_deref(), Some("/a/../b"));
    }
}
