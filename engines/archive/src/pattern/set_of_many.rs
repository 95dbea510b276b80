//! Many patterns, asked about many names: a name is looked up, not compared with each pattern. Texts without wildcards are found by their hash, those
//! with wildcards by a text that whatever they match has in it. What matches is what `Pattern::matches` says.

use super::{Manner, Pattern, set as bracket, trimmed};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// LIMIT: bytes of a key of a pattern with wildcards: as many lookups at most begin at each byte of a name.
const KEY_BYTES_MAX: usize = 32;
/// So few patterns with wildcards are compared one by one: that is sooner done.
const FEW: usize = 8;

/// Patterns that are all taken in one manner. Each text has a number, the first text 0; a text that was given before has the number that it had.
#[derive(Debug)]
pub struct PatternSet {
    manner: Manner,
    texts: HashMap<Box<[u8]>, Known>,
    /// The numbers of slashes that texts without wildcards have, and the bytes of the longest with as many.
    slashes: BTreeMap<usize, usize>,
    /// Those that are not looked up by their whole text.
    globs: Vec<(Pattern, usize)>,
    by_key: HashMap<Box<[u8]>, Vec<usize>>,
    key_bytes: BTreeSet<usize>,
    /// Which of `globs` are compared with each name.
    compared: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    number: usize,
    is_literal: bool,
}

impl Default for PatternSet {
    fn default() -> Self {
        Self::new([], Manner::EXCLUDED)
    }
}

impl PatternSet {
    /// Of texts as [`Pattern::new`] takes them.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t [u8]>, manner: Manner) -> Self {
        let mut set = Self {
            manner,
            texts: HashMap::new(),
            slashes: BTreeMap::new(),
            globs: Vec::new(),
            by_key: HashMap::new(),
            key_bytes: BTreeSet::new(),
            compared: Vec::new(),
        };
        texts.into_iter().for_each(|text| set.add(text));
        set.index_globs();
        set
    }

    fn add(&mut self, text: &[u8]) {
        let (key, is_literal) = self.key_of(text);
        if self.texts.contains_key(&*key) {
            return;
        }
        let number = self.texts.len();
        if is_literal {
            let longest = self.slashes.entry(slashes(&key)).or_default();
            *longest = key.len().max(*longest);
        } else {
            self.globs.push((Pattern::new(text, self.manner), number));
        }
        self.texts.insert(key.into_owned().into(), Known { number, is_literal });
    }

    /// What a text is known by, and whether it is a name, without wildcards.
    fn key_of<'t>(&self, text: &'t [u8]) -> (Cow<'t, [u8]>, bool) {
        let text = trimmed(text);
        let has_wildcards = self.manner.wildcards && text.iter().any(|byte| b"*?[\\".contains(byte));
        // Nothing, or a slash alone, is compared: no name has it as a part.
        let is_literal = !has_wildcards && !text.is_empty() && text != b"/";
        (if is_literal { self.folded(text) } else { text.into() }, is_literal)
    }

    fn folded<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.manner.ignore_case { text.to_ascii_lowercase().into() } else { text.into() }
    }

    fn index_globs(&mut self) {
        for (at, (pattern, _)) in self.globs.iter().enumerate() {
            let key = longest_literal(pattern.text(), self.manner);
            let key = self.folded(&key[key.len().saturating_sub(KEY_BYTES_MAX)..]).into_owned();
            if key.is_empty() || self.globs.len() <= FEW {
                self.compared.push(at);
            } else {
                self.key_bytes.insert(key.len());
                self.by_key.entry(key.into()).or_default().push(at);
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// How many texts there are, each counted once.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// The number of a text that was given.
    pub fn number_of(&self, text: &[u8]) -> Option<usize> {
        self.texts.get(&*self.key_of(text).0).map(|known| known.number)
    }

    /// Whether any of them matches a name.
    pub fn matches(&self, name: &[u8]) -> bool {
        !self.is_empty() && self.search(name, &mut |_| true)
    }

    /// The numbers of all that match a name, some perhaps more than once. Says whether there are any.
    pub fn each_match(&self, name: &[u8], mut each: impl FnMut(usize)) -> bool {
        let mut any = false;
        self.search(name, &mut |number| {
            any = true;
            each(number);
            false
        });
        any
    }

    /// Ends at the first match that `ends` says yes to.
    fn search(&self, name: &[u8], ends: &mut dyn FnMut(usize) -> bool) -> bool {
        let folded = self.folded(trimmed_name(name));
        (!self.slashes.is_empty() && self.search_literals(&folded, ends))
            || self.compared.iter().any(|&at| self.is_found(at, name, ends))
            || (!self.key_bytes.is_empty() && self.search_globs(name, &folded, ends))
    }

    fn is_found(&self, at: usize, name: &[u8], ends: &mut dyn FnMut(usize) -> bool) -> bool {
        let (pattern, number) = &self.globs[at];
        pattern.matches(name) && ends(*number)
    }

    /// Looks up those parts of a name, between slashes, that have as many slashes in them as any of the texts.
    fn search_literals(&self, name: &[u8], ends: &mut dyn FnMut(usize) -> bool) -> bool {
        let borders: Vec<usize> = (0..name.len()).filter(|&at| name[at] == b'/').chain([name.len()]).collect();
        let starts = if self.manner.anchored { 1 } else { borders.len() };
        for first in 0..starts {
            let start = if first == 0 { 0 } else { borders[first - 1] + 1 };
            for (&slashes, &longest) in &self.slashes {
                let Some(&end) = borders.get(first + slashes) else { break };
                let is_meant = self.manner.beneath || end == name.len();
                if !is_meant || end - start > longest {
                    continue;
                }
                let known = self.texts.get(&name[start..end]).filter(|known| known.is_literal);
                if known.is_some_and(|known| ends(known.number)) {
                    return true;
                }
            }
        }
        false
    }

    /// Compares those patterns whose key stands in the name.
    fn search_globs(&self, name: &[u8], folded: &[u8], ends: &mut dyn FnMut(usize) -> bool) -> bool {
        (0..folded.len()).any(|from| {
            let keys = self.key_bytes.iter().map_while(|bytes| folded.get(from..from + bytes));
            let mut found = keys.filter_map(|key| self.by_key.get(key)).flatten();
            found.any(|&at| self.is_found(at, name, ends))
        })
    }
}

fn slashes(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'/').count()
}

fn trimmed_name(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    &name[..end]
}

/// The longest text that stands in whatever a pattern matches, as it is there.
fn longest_literal(text: &[u8], manner: Manner) -> Vec<u8> {
    if !manner.wildcards {
        return text.to_vec();
    }
    let (mut longest, mut run, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let (taken, literal) = match &text[at..] {
            [b'*' | b'?', ..] => (1, None),
            [b'\\', escaped, ..] => (2, Some(*escaped)),
            // How long a set is does not depend on the letter that is looked for.
            [b'[', rest @ ..] => bracket(rest, 0, false).map_or((1, Some(b'[')), |(_, taken)| (taken + 1, None)),
            rest => (1, Some(rest[0])),
        };
        at += taken;
        run.extend(literal);
        if (literal.is_none() || at >= text.len()) && run.len() > longest.len() {
            longest.clone_from(&run);
        }
        if literal.is_none() {
            run.clear();
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers of the patterns that match a name, each asked by itself.
    fn one_by_one(texts: &[Vec<u8>], manner: Manner, name: &[u8]) -> BTreeSet<Vec<u8>> {
        let matching = texts.iter().filter(|text| Pattern::new(text, manner).matches(name));
        matching.map(|text| trimmed(text).to_ascii_lowercase()).collect()
    }

    fn looked_up(texts: &[Vec<u8>], manner: Manner, name: &[u8]) -> BTreeSet<Vec<u8>> {
        let set = PatternSet::new(texts.iter().map(Vec::as_slice), manner);
        let mut found = BTreeSet::new();
        let any = set.each_match(name, |number| _ = found.insert(number));
        assert_eq!((any, set.matches(name)), (!found.is_empty(), !found.is_empty()));
        let given = texts.iter().filter(|text| set.number_of(text).is_some_and(|number| found.contains(&number)));
        given.map(|text| trimmed(text).to_ascii_lowercase()).collect()
    }

    fn manner() -> impl Strategy<Value = Manner> {
        any::<[bool; 5]>().prop_map(|[wildcards, anchored, match_slash, ignore_case, beneath]| Manner {
            wildcards,
            anchored,
            match_slash,
            ignore_case,
            beneath,
        })
    }

    proptest! {
        #[test]
        fn what_is_looked_up_is_what_each_pattern_matches(
            texts in prop::collection::vec("[abA/]{0,3}[abA/*?]{0,3}(\\\\[ab*]|\\[[ab]\\]|\\[!a|[ab/]|)[abA/]{0,2}", 0..24),
            names in prop::collection::vec("[abA/*\\[\\\\]{0,10}", 1..8),
            manner in manner(),
        ) {
            let texts: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
            for name in names.iter().map(String::as_bytes).chain(texts.iter().map(Vec::as_slice)) {
                prop_assert_eq!(looked_up(&texts, manner, name), one_by_one(&texts, manner, name), "{:?}", name);
            }
        }
    }

    #[test]
    fn a_text_that_is_given_again_has_the_number_that_it_had() {
        let set = PatternSet::new([&b"a"[..], b"*.c", b"a/", b"*.c", b"b"], Manner::EXCLUDED);
        let numbers = [&b"a"[..], b"a/", b"*.c", b"b", b"c"].map(|text| set.number_of(text));
        assert_eq!((numbers, set.len()), ([Some(0), Some(0), Some(1), Some(2), None], 3));
    }

    #[test]
    fn patterns_are_known_by_the_longest_text_that_they_need() {
        for (text, expected) in [
            ("*.c", ".c"),
            ("ab*cde?f", "cde"),
            ("a\\*bc*d", "a*bc"),
            ("[abc]d[", "d["),
            ("x[[:alpha:]]yz", "yz"),
            ("*", ""),
        ] {
            let longest = longest_literal(text.as_bytes(), Manner::EXCLUDED);
            assert_eq!(String::from_utf8_lossy(&longest), expected, "{text}");
        }
    }

    /// Not timed: compared with each, it would take minutes.
    #[test]
    fn many_patterns_are_not_compared_with_each_name() {
        let texts: Vec<String> =
            (0..100_000).flat_map(|number| [format!("d/f{number}"), format!("*x{number}.c")]).collect();
        let set = PatternSet::new(texts.iter().map(String::as_bytes), Manner::EXCLUDED);
        for number in 0..20_000 {
            assert!(set.matches(format!("top/d/f{number}/in").as_bytes()), "{number}");
            assert!(set.matches(format!("top/ax{number}.c").as_bytes()), "{number}");
            assert!(!set.matches(format!("top/e/f{number}.h").as_bytes()), "{number}");
        }
    }
}
