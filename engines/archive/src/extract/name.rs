//! A member's name in the archive beside the path that it became: mostly the same but for a slash. Held as what the path has not, since
//! names may be as long as a chunk, and many are under way at a time.

/// A name in the archive, as what is not also at the end of the path that it became.
#[derive(Clone)]
pub struct Name {
    front: Box<[u8]>,
    shared: u32,
    slashes: u32,
}

/// LIMIT: names have a mebibyte at most.
fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a name's bytes")
}

impl Name {
    /// `name` beside `path`.
    pub fn new(name: &[u8], path: &[u8]) -> Self {
        let slashes = name.iter().rev().take_while(|&&byte| byte == b'/').count();
        let name = &name[..name.len() - slashes];
        // By far the commonest, and compared in one go.
        if name == path {
            return Self { front: Box::default(), shared: count(path.len()), slashes: count(slashes) };
        }
        let shared = name.iter().rev().zip(path.iter().rev()).take_while(|(one, other)| one == other).count();
        Self { front: name[..name.len() - shared].into(), shared: count(shared), slashes: count(slashes) }
    }

    /// The name, given the path again.
    pub fn whole(&self, path: &[u8]) -> Vec<u8> {
        [&self.front, &path[path.len() - self.shared as usize..], &b"/".repeat(self.slashes as usize)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_whatever_became_of_it() {
        for (name, path) in [
            ("a/b", "a/b"),
            ("./a/b//", "a/b"),
            ("/", ""),
            ("", "x"),
            ("renamed", "top/other"),
            ("x/a", "a"),
            ("a", "top/a"),
        ] {
            let held = Name::new(name.as_bytes(), path.as_bytes());
            assert_eq!(held.whole(path.as_bytes()), name.as_bytes(), "{name} {path}");
        }
        assert!(Name::new(b"d/d/d/", b"d/d/d").front.is_empty(), "a slash costs no second name");
    }
}
