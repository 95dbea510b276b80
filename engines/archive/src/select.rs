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
                b"" | b"." => {}
                b".." if self.absolute == Absolute::MadeRelative => return Named::LeadsUp,
                _ if stripped < self.strip_components => stripped += 1,
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

    /// Gives a member the path, and a hard link the target, that it has beneath the root.
    pub fn rename(&self, member: &mut Member) -> Named {
        if member.kind == Kind::HardLink {
            match self.place(&member.link) {
                Named::Path { path, .. } => member.link = path,
                Named::CutOff => return Named::CutOff,
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
    fn leading_names_are_cut_off_and_others_put_in_front() {
        let naming = Naming { strip_components: 1, ..Naming::default() };
        assert_eq!(path(&naming, "a/b/c").as_deref(), Some("b/c"));
        assert_eq!(path(&naming, "a/").as_deref(), None);
        let naming = Naming { top_level: Some(b"top".to_vec()), ..Naming::default() };
        assert_eq!(path(&naming, "a/b").as_deref(), Some("top/a/b"));
        assert_eq!(path(&naming, "top/b").as_deref(), Some("top/b"));
        let naming = Naming { absolute: Absolute::Kept, ..Naming::default() };
        assert_eq!(path(&naming, "/a/../b").as_deref(), Some("/a/../b"));
    }
}
