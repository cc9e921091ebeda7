//! Lines of JSON-RPC: reading them within a bound, and mending what other parsers refuse.

use std::borrow::Cow;
use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};

/// What stood between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank, without its end (`\n` or `\r\n`).
    Whole(Vec<u8>),
    /// A line longer than the bound, which was skipped; its length in bytes.
    TooLong(u64),
}

/// Reads lines, of which it holds at most one, and of that at most `max` bytes.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    max: usize,
    line: Vec<u8>,
    /// Bytes of the present line so far, kept or skipped.
    length: u64,
}

impl<R: AsyncRead + Unpin> LineReader<BufReader<R>> {
    /// Reads lines of up to `max` bytes from a stream.
    pub fn new(stream: R, max: usize) -> Self {
        Self::from_buffered(BufReader::with_capacity(64 * 1024, stream), max)
    }
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Reads lines of up to `max` bytes from what is buffered already.
    pub fn from_buffered(reader: R, max: usize) -> Self {
        Self { reader, max, line: Vec::new(), length: 0 }
    }

    /// The next line that is not blank; `None` at the end. A last line without a newline counts.
    /// A caller that drops the future loses nothing.
    ///
    /// # Errors
    /// What the stream says.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.take());
            }
            let newline = available.iter().position(|&byte| byte == b'\n');
            let piece = &available[..newline.unwrap_or(available.len())];
            self.length += piece.len() as u64;
            if self.length <= self.max as u64 {
                self.line.extend_from_slice(piece);
            } else {
                self.line = Vec::new();
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

    /// Ends the present line; `None` when it is blank.
    fn take(&mut self) -> Option<Line> {
        let length = std::mem::take(&mut self.length);
        if length > self.max as u64 {
            return Some(Line::TooLong(length));
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.trim_ascii().is_empty()).then_some(Line::Whole(line))
    }
}

/// Replaces by U+FFFD what is no Unicode text: bytes that are not UTF-8, and escapes of lone
/// surrogates (`\ud800`), which strict JSON parsers refuse. A byte order mark is dropped.
pub fn repair(line: Vec<u8>) -> Vec<u8> {
    let line = match line.strip_prefix("\u{feff}".as_bytes()) {
        Some(rest) => rest.to_vec(),
        None => line,
    };
    let line = match String::from_utf8_lossy(&line) {
        Cow::Borrowed(_) => line,
        Cow::Owned(mended) => mended.into_bytes(),
    };
    match without_lone_surrogates(&line) {
        Cow::Borrowed(_) => line,
        Cow::Owned(mended) => mended,
    }
}

fn without_lone_surrogates(line: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Cow::Borrowed(line);
    let mut at = 0;
    while let Some(offset) = line[at..].iter().position(|&byte| byte == b'\\') {
        at += offset;
        at += match escaped_unit(&line[at..]) {
            Some(0xd800..=0xdbff) if matches!(escaped_unit(&line[at + 6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                mended.to_mut()[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            Some(_) => 6,
            // Another escape: the character after the backslash belongs to it.
            None => (line.len() - at).min(2),
        };
    }
    mended
}

/// The UTF-16 unit of the escape `\uXXXX` at the start of `text`.
fn escaped_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Gives its input in the pieces it was cut into.
    struct Pieces(VecDeque<Vec<u8>>);

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
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

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        let text = b"one\r\n\n \t\r\ntwo\n12345\n123456\n\nlast".to_vec();
        let lines = [whole("one"), whole("two"), whole("12345"), Line::TooLong(6), whole("last")];
        assert_eq!(read(vec![text], 5), lines);
        assert_eq!(read(vec![b"123456".to_vec()], 5), [Line::TooLong(6)]);
        assert_eq!(read(vec![], 5), []);
    }

    #[test]
    fn a_long_line_is_not_held() {
        let pieces = std::iter::repeat_n(vec![b'x'; 8_192], 2_560).chain([b"\nnext\n".to_vec()]).collect();
        assert_eq!(read(pieces, 1_024), [Line::TooLong(20 * 1024 * 1024), whole("next")]);
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        for (line, mended) in [
            (&br#"{"a":"\ud83d\ude00 \u00e9"}"#[..], r#"{"a":"\ud83d\ude00 \u00e9"}"#),
            (br#""\ud800""#, r#""\ufffd""#),
            (br#""\uD800\uD800\uDC00\udc00""#, r#""\ufffd\uD800\uDC00\ufffd""#),
            (br#""\\ud800 \\\ud800""#, r#""\\ud800 \\\ufffd""#),
            (br#""\ud8"#, r#""\ud8"#),
            (br#""\ud800\"#, r#""\ufffd\"#),
            (br"\u+123\ud800", r"\u+123\ufffd"),
            (b"\xef\xbb\xbf{}", "{}"),
            (b"\"\xff\xc3\"", "\"\u{fffd}\u{fffd}\""),
            (b"\xff\\udfff", "\u{fffd}\\ufffd"),
        ] {
            assert_eq!(String::from_utf8(repair(line.to_vec())).unwrap(), mended);
        }
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..400),
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
                    return Some(Line::TooLong(line.len() as u64));
                }
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                (!line.trim_ascii().is_empty()).then(|| Line::Whole(line.to_vec()))
            }).collect();
            prop_assert_eq!(lines, expected);
        }

        #[test]
        fn mended_lines_are_text_and_stay_so(
            line in prop::collection::vec(prop_oneof![
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b"\\".to_vec()), Just(b"\\ud800".to_vec()), Just(b"\\udfff".to_vec()), Just(b"\\ud83d\\ude00".to_vec()),
            ], 0..40).prop_map(|parts| parts.concat()),
        ) {
            let mended = repair(line);
            prop_assert!(std::str::from_utf8(&mended).is_ok());
            let quoted = [b"\"", mended.as_slice(), b"\""].concat();
            if let Err(error) = serde_json::from_slice::<serde_json::Value>(&quoted) {
                prop_assert!(!error.to_string().contains("surrogate"), "{}", error);
            }
            if !mended.starts_with("\u{feff}".as_bytes()) {
                prop_assert_eq!(repair(mended.clone()), mended);
            }
        }
    }
}
