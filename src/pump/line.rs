//! Reads lines of JSON-RPC within a bound, and repairs text that strict parsers refuse.

use std::borrow::Cow;
use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};

use serde_json::Value;

use super::long::LongLine;
use cerebro_core::text::sanitize_surrogates;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank, without its end (`\n` or `\r\n`).
    Whole(Vec<u8>),
    /// A line longer than the bound, which was skipped.
    TooLong {
        /// Its length in bytes.
        length: u64,
        /// The id of the request in it; null if there is none.
        id: Value,
    },
}

/// Reads lines. It holds at most one line of up to `max` bytes; of a longer line it holds only the id.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    max: usize,
    line: Vec<u8>,
    /// The current line, if it is longer than `max`.
    long: Option<LongLine>,
    /// Bytes of the current line so far, including skipped ones.
    length: u64,
    /// Whether a last line without a newline counts.
    keeps_rest: bool,
}

impl<R: AsyncRead + Unpin> LineReader<BufReader<R>> {
    /// Reads lines of up to `max` bytes from a stream.
    pub fn new(stream: R, max: usize) -> Self {
        Self::from_buffered(BufReader::with_capacity(64 * 1024, stream), max)
    }
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Reads lines of up to `max` bytes from a buffered stream.
    pub fn from_buffered(reader: R, max: usize) -> Self {
        Self { reader, max, line: Vec::new(), long: None, length: 0, keeps_rest: true }
    }

    /// Treats bytes after the last newline as an incomplete line, which is dropped.
    #[must_use]
    pub fn whole_lines(self) -> Self {
        Self { keeps_rest: false, ..self }
    }

    /// The next line that is not blank; `None` at the end. A last line without a newline counts, except with
    /// [`Self::whole_lines`]. The future can be dropped without losing data.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.take().filter(|_| self.keeps_rest));
            }
            let newline = available.iter().position(|&byte| byte == b'\n');
            let piece = &available[..newline.unwrap_or(available.len())];
            self.length += piece.len() as u64;
            if self.length <= self.max as u64 {
                self.line.extend_from_slice(piece);
            } else {
                let long = self.long.get_or_insert_default();
                long.look_through(&std::mem::take(&mut self.line));
                long.look_through(piece);
            }
            let used = newline.map_or(piece.len(), |at| at + 1);
            self.reader.consume(used);
            if newline.is_some()
                && let Some(line) = self.take()
            {
                return Ok(Some(line));
            }
        }
    }

    /// Ends the current line; `None` if it is blank.
    fn take(&mut self) -> Option<Line> {
        let length = std::mem::take(&mut self.length);
        if let Some(long) = self.long.take() {
            return Some(Line::TooLong { length, id: long.id() });
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.trim_ascii().is_empty()).then_some(Line::Whole(line))
    }
}

/// Makes a line readable for strict parsers: see [`sanitize_surrogates`]. A byte order mark is removed.
pub fn repair(mut line: Vec<u8>) -> Vec<u8> {
    if line.starts_with(BYTE_ORDER_MARK) {
        line.drain(..BYTE_ORDER_MARK.len());
    }
    match sanitize_surrogates(&line) {
        Cow::Borrowed(_) => line,
        Cow::Owned(repaired) => repaired,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// A stream that yields these pieces one by one.
    struct Pieces(VecDeque<Vec<u8>>);

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if let Some(mut piece) = self.0.pop_front() {
                let rest = piece.split_off(piece.len().min(buf.remaining()));
                buf.put_slice(&piece);
                if !rest.is_empty() {
                    self.0.push_front(rest);
                }
            }
            Poll::Ready(Ok(()))
        }
    }

    fn read(pieces: Vec<Vec<u8>>, max: usize) -> Vec<Line> {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let mut reader = LineReader::new(Pieces(pieces), max);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = reader.next().await.unwrap() {
                assert!(reader.line.capacity() <= 2 * max.max(8));
                lines.push(line);
            }
            lines
        })
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    fn too_long(length: u64, id: Value) -> Line {
        Line::TooLong { length, id }
    }

    #[tokio::test]
    async fn half_a_line_is_none_where_lines_are_whole() {
        let mut reader = LineReader::new(Pieces([b"one\n{\"half".to_vec()].into()), 100).whole_lines();
        assert_eq!(reader.next().await.unwrap(), Some(whole("one")));
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        let text = b"one\r\n\n \t\r\ntwo\n12345\n123456\n\nlast".to_vec();
        let lines = [whole("one"), whole("two"), whole("12345"), too_long(6, Value::Null), whole("last")];
        assert_eq!(read(vec![text], 5), lines);
        assert_eq!(read(vec![b"123456".to_vec()], 5), [too_long(6, Value::Null)]);
        assert_eq!(read(vec![], 5), []);
    }

    #[test]
    fn a_long_line_is_not_held() {
        let pieces = std::iter::repeat_n(vec![b'x'; 8_192], 2_560).chain([b"\nnext\n".to_vec()]).collect();
        assert_eq!(read(pieces, 1_024), [too_long(20 * 1024 * 1024, Value::Null), whole("next")]);
    }

    #[test]
    fn a_long_request_is_known_by_its_id() {
        let request = format!("{{\"method\":\"a\",\"params\":\"{}\",\"id\":7}}", "x".repeat(5_000));
        let pieces = request.as_bytes().chunks(700).map(<[u8]>::to_vec).chain([b"\n{}\n".to_vec()]).collect();
        let length = request.len() as u64;
        assert_eq!(read(pieces, 1_024), [too_long(length, serde_json::json!(7)), whole("{}")]);
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        for (line, repaired) in [
            (&br#"{"a":"\ud800 \ud83d\ude00"}"#[..], r#"{"a":"\uFFFD \ud83d\ude00"}"#),
            (b"\xef\xbb\xbf{}", "{}"),
            (b"\xef\xbb\xbf\"\xff\"", "\"\u{fffd}\""),
        ] {
            assert_eq!(String::from_utf8(repair(line.to_vec())).unwrap(), repaired);
        }
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            bytes in prop::collection::vec(
                prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')],
                0..400,
            ),
            cuts in prop::collection::vec(0usize..400, 0..20),
            max in 0usize..60,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect();
            let lines = read(pieces, max);
            prop_assert_eq!(&lines, &read(vec![bytes.clone()], max));
            let expected: Vec<_> = bytes.split(|&byte| byte == b'\n').filter_map(|line| {
                if line.len() > max {
                    return Some(too_long(line.len() as u64, Value::Null));
                }
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.trim_ascii().is_empty()).then(|| Line::Whole(line.to_vec()))
            }).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
