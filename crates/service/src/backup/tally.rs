//! Counts the rows in a script of the database's export, without a parser of the language.
//!
//! It needs to know three things of the text: where a quoted text or name begins and ends, what the
//! comments that head each table's rows say, and how deep the braces and brackets are. A row is an object
//! directly inside the list of an `INSERT`.

use cerebro_store::RowCounts;

/// The comment above the rows of a table.
const HEADING: &[u8] = b"-- TABLE DATA: ";
/// The comment above the definition of a table.
const DEFINITIONS: &[u8] = b"-- TABLE: ";
/// Longest comment that is kept.
const COMMENT_BYTES_MAX: usize = 300;

/// A count under way. The text may come in pieces of any size.
#[derive(Debug, Default)]
pub struct Tally {
    place: ScanState,
    /// How many brackets and braces are open.
    depth: u32,
    /// The last byte outside of quotes and comments, to see the two dashes of a comment.
    last: u8,
    comment: Vec<u8>,
    table: String,
    rows: RowCounts,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    #[default]
    Script,
    Comment,
    /// Within quotes that end with this byte.
    Quoted(u8),
    /// Behind a backslash within quotes.
    Escaped(u8),
}

impl Tally {
    /// Takes in the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        for byte in piece {
            self.step(*byte);
        }
    }

    /// The rows so far, by table.
    pub fn rows(&self) -> &RowCounts {
        &self.rows
    }

    /// All rows so far.
    pub fn total(&self) -> u64 {
        self.rows.values().sum()
    }

    fn step(&mut self, byte: u8) {
        match self.place {
            ScanState::Escaped(end) => self.place = ScanState::Quoted(end),
            ScanState::Quoted(end) => match byte {
                b'\\' => self.place = ScanState::Escaped(end),
                _ if byte == end => self.place = ScanState::Script,
                _ => {}
            },
            ScanState::Comment if byte == b'\n' => self.end_comment(),
            ScanState::Comment => {
                if self.comment.len() < COMMENT_BYTES_MAX {
                    self.comment.push(byte);
                }
            }
            ScanState::Script => self.outside(byte),
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'\'' | b'"' | b'`' => self.place = ScanState::Quoted(byte),
            b'-' if self.last == b'-' => {
                self.place = ScanState::Comment;
                self.comment.clear();
                self.comment.extend_from_slice(b"--");
            }
            b'[' | b'{' => {
                if byte == b'{' && self.depth == 1 {
                    self.count_row();
                }
                self.depth += 1;
            }
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.last = byte;
    }

    fn count_row(&mut self) {
        if !self.table.is_empty() {
            *self.rows.entry(self.table.clone()).or_default() += 1;
        }
    }

    fn end_comment(&mut self) {
        self.place = ScanState::Script;
        self.last = b'\n';
        if self.comment.starts_with(DEFINITIONS) {
            // Braces of definitions are no rows.
            self.table.clear();
        }
        if let Some(name) = self.comment.strip_prefix(HEADING) {
            self.table = String::from_utf8_lossy(name).trim().to_owned();
            self.rows.entry(self.table.clone()).or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(script: &str) -> Vec<(String, u64)> {
        let mut whole = Tally::default();
        whole.add(script.as_bytes());
        let mut bytewise = Tally::default();
        script.as_bytes().iter().for_each(|byte| bytewise.add(&[*byte]));
        assert_eq!(whole.rows(), bytewise.rows());
        whole.rows.into_iter().collect()
    }

    #[test]
    fn rows_are_counted_by_table() {
        let script = "OPTION IMPORT;\nDEFINE TABLE a;\n-- TABLE DATA: a\n\n\
            INSERT [ { id: a:1, o: { x: [{}, {}] } }, { id: a:2 } ];\nINSERT [ { id: a:3 } ];\n\
            -- TABLE DATA: empty\n\n-- TABLE DATA: E\nINSERT RELATION [ { id: E:1, in: a:1, out: a:2 } ];\n";
        let want = [("E".to_owned(), 1), ("a".to_owned(), 3), ("empty".to_owned(), 0)];
        assert_eq!(rows(script), want);
        let defined = format!("{script}-- TABLE: b\nDEFINE EVENT e ON b THEN {{ IF x {{ y }} }};\n");
        assert_eq!(rows(&defined), want);
    }

    #[test]
    fn what_stands_in_quotes_is_no_script() {
        let script = "-- TABLE DATA: a\nINSERT [ { t: 'it\\'s ] { \"', u: \"\n-- TABLE DATA: b\n[ {\" }, \
            { id: a:`x ' { }`, n: -1 } ];\n";
        assert_eq!(rows(script), [("a".to_owned(), 2)]);
    }
}
