//! Going from path to path through the directories on the way: what a path has in common with the one before costs a comparison of bytes, so
//! that a hundred thousand directories in one another cost what their names do, and not the square of it per level.

/// The directories on the way to the path that was gone to last, each with something of the caller's.
#[derive(Debug)]
pub struct Way<T> {
    /// Their names, each with a slash behind it.
    path: Vec<u8>,
    /// Where each ends in `path`, slash included.
    levels: Vec<(usize, T)>,
}

impl<T> Default for Way<T> {
    fn default() -> Self {
        Self { path: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Way<T> {
    /// Leaves the directories that `path` does not lie in, the deepest first. Returns what of `path` is still ahead.
    pub fn leave_for<'p>(&mut self, path: &'p [u8], mut left: impl FnMut(T)) -> &'p [u8] {
        let common = common_bytes(&self.path, path);
        while let Some((_, level)) = self.levels.pop_if(|(end, _)| *end > common) {
            left(level);
        }
        let end = self.levels.last().map_or(0, |(end, _)| *end);
        self.path.truncate(end);
        &path[end..]
    }

    /// Goes into the directory `name`.
    pub fn enter(&mut self, name: &[u8], level: T) {
        self.path.extend_from_slice(name);
        self.path.push(b'/');
        self.levels.push((self.path.len(), level));
    }

    /// What the deepest directory has.
    pub fn last(&self) -> Option<&T> {
        self.levels.last().map(|(_, level)| level)
    }

    /// What the directories have, the furthest from the path first, those before number `from` left out.
    pub fn levels(&self, from: usize) -> impl Iterator<Item = &T> {
        self.levels[from..].iter().map(|(_, level)| level)
    }

    /// How many directories there are.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Whether the directory at `path` is one of them.
    pub fn is_through(&self, path: &[u8]) -> bool {
        self.path.get(path.len()) == Some(&b'/') && self.path.starts_with(path)
    }
}

/// Bytes at the front that both have.
fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    // Names are compared in stretches first: byte by byte is ten times slower.
    const STRETCH: usize = 64;
    let stretches = one.chunks_exact(STRETCH).zip(other.chunks_exact(STRETCH));
    let from = stretches.take_while(|(one, other)| one == other).count() * STRETCH;
    from + one[from..].iter().zip(&other[from..]).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes to `path`; says what was left and what is entered.
    fn go(way: &mut Way<String>, path: &str) -> (Vec<String>, Vec<String>) {
        let (mut left, mut entered) = (Vec::new(), Vec::new());
        let ahead = way.leave_for(path.as_bytes(), |level| left.push(level)).to_vec();
        let names: Vec<&[u8]> = ahead.split(|&byte| byte == b'/').collect();
        for name in &names[..names.len() - 1] {
            entered.push(String::from_utf8_lossy(name).into_owned());
            way.enter(name, String::from_utf8_lossy(name).into_owned());
        }
        (left, entered)
    }

    #[test]
    fn only_what_two_paths_have_not_in_common_is_left_and_entered() {
        let long = "x".repeat(200);
        let mut way = Way::default();
        for (path, left, entered) in [
            ("a/b/c", "", "a b"),
            ("a/b/d", "", ""),
            ("a/b/d/e", "", "d"),
            ("a/b", "d b", ""),
            ("a", "a", ""),
            ("a/b", "", "a"),
            ("ab/c", "a", "ab"),
            ("/ab/c", "ab", " ab"),
            ("ab", "ab ", ""),
            (&format!("{long}/{long}/y"), "", &format!("{long} {long}")),
            (&format!("{long}/{long}y/z"), &long, &format!("{long}y")),
        ] {
            let words = |names: Vec<String>| names.join(" ");
            let (is_left, is_entered) = go(&mut way, path);
            assert_eq!((words(is_left).as_str(), words(is_entered).as_str()), (left, entered), "{path}");
        }
        assert!(way.is_through(long.as_bytes()) && !way.is_through(b"x") && !way.is_through(b""));
        assert_eq!((way.depth(), way.levels(1).count()), (2, 1));
    }
}
