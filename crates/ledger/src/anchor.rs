//! Witnesses: finds heads of the journal that were written down outside, in whatever text contains them.

use cerebro_core::text;

use crate::seal::unbase64;

/// Fewest digits of a root that are compared; a hint has this many.
pub const ROOT_DIGITS_MIN: usize = 16;
/// The digits of a whole root.
const ROOT_DIGITS: usize = 64;

/// A head that was written down outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    /// The number of leaves in the tree of seals.
    pub size: u64,
    /// The beginning of its root in lower-case hex: [`ROOT_DIGITS_MIN`] to 64 digits.
    pub root: String,
}

impl Anchor {
    /// Whether it is the head of a tree with this root.
    pub fn is_of(&self, root: &[u8; 32]) -> bool {
        text::hex(root).starts_with(&self.root)
    }

    /// Reads a size and the beginning of a root.
    fn read(size: &str, root: &str) -> Option<Self> {
        let size = size.replace(',', "").parse().ok()?;
        let digits = root.bytes().take_while(u8::is_ascii_hexdigit).count();
        let is_root = (ROOT_DIGITS_MIN..=ROOT_DIGITS).contains(&digits);
        is_root.then(|| Self { size, root: root[..digits].to_ascii_lowercase() })
    }
}

/// The heads in a text, without repetitions, ordered by size: lines of `work head`, signed notes of `work anchor`,
/// and lines of hints, also inside lines of a transcript. Everything else in the text is ignored.
pub fn anchors(text: &str) -> Vec<Anchor> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found: Vec<Anchor> = lines.iter().flat_map(|line| of_line(line)).collect();
    found.extend(lines.windows(2).filter_map(|pair| of_note(pair[0], pair[1])));
    found.sort();
    found.dedup();
    found
}

/// The heads in one line.
fn of_line(line: &str) -> Vec<Anchor> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let [size, root] = words[..] {
        return Anchor::read(size, root).into_iter().collect();
    }
    let of_hint = |words: &[&str]| (words[0] == "log").then(|| Anchor::read(words[1], words[2]))?;
    words.windows(3).filter_map(of_hint).collect()
}

/// The head of a signed note: a line with the size, and one with the root in base64.
fn of_note(size: &str, root: &str) -> Option<Anchor> {
    Some(Anchor { size: size.parse().ok()?, root: text::hex(&unbase64(root)?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{EpochKey, Log};

    #[test]
    fn heads_are_found_in_lines_notes_and_hints() {
        let key = EpochKey::new(&[3; 32]);
        let mut log = Log::default();
        let seal = log.seal("cerebro-journal/test", vec!["a leaf".to_owned()], 0, &key, None);
        let root = text::hex(&log.root());
        let whole = Anchor { size: 1, root: root.clone() };
        let short = Anchor { size: 1, root: root[..ROOT_DIGITS_MIN].to_owned() };
        assert!(whole.is_of(&log.root()) && short.is_of(&log.root()) && !short.is_of(&[0; 32]));
        let note = seal.note(&key.public());
        let hint = format!("Unfinished: \"x\"\nwork abc event 5  log 1 {short}", short = short.root);
        let transcript = format!("{{\"text\":{}}}", serde_json::to_string(&format!("{hint}\n</x>")).unwrap());
        for (text, want) in [
            (format!("1 {root}\n"), vec![&whole]),
            (format!("  1   {}  ", root.to_uppercase()), vec![&whole]),
            (note.clone(), vec![&whole]),
            (hint.clone(), vec![&short]),
            (transcript, vec![&short]),
            (format!("kept on Monday\n{note}\n{hint}\n1 {root}"), vec![&short, &whole]),
            (String::new(), vec![]),
            (format!("1 {}", &root[..ROOT_DIGITS_MIN - 1]), vec![]),
            (format!("1 {root}0"), vec![]),
            ("log 1 zz\nlog\nx 1".to_owned(), vec![]),
        ] {
            assert_eq!(anchors(&text).iter().collect::<Vec<_>>(), want, "{text}");
        }
    }
}
