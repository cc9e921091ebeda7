//! Scans a line that is longer than the bound, without holding it. Only the id of the request in it is kept, so that the
//! client learns which of its requests is refused. Clients write the id at the beginning or at the end.

use serde_json::Value;

use super::message::Key;

/// Longest id that is kept, in bytes as the line has it.
const ID_BYTES_MAX: usize = 256;

/// The state of the scan. It needs the same memory for a line of any length.
#[derive(Debug, Default)]
pub struct LongLine {
    /// How many objects and arrays are open.
    depth: u64,
    is_text: bool,
    is_escaped: bool,
    /// The key or the value that is being read in the outermost object, and the key of that value.
    held: Vec<u8>,
    key: Vec<u8>,
    /// The value of `id`.
    id: Vec<u8>,
    has_method: bool,
}

impl LongLine {
    /// Looks through the next bytes of the line.
    pub fn look_through(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.next(byte);
        }
    }

    /// The id of the request at the end of its line. Null, as JSON-RPC asks for, if there is no usable id: the line is not a
    /// request, is incomplete, or its id is too long.
    pub fn id(&self) -> Value {
        let id = serde_json::from_slice(&self.id).ok().filter(|id| Key::of(id).is_some());
        id.filter(|_| self.has_method && self.depth == 0).unwrap_or_default()
    }

    fn next(&mut self, byte: u8) {
        if self.is_text {
            self.is_text = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return self.hold(byte);
        }
        match byte {
            b'"' => self.is_text = true,
            b'{' | b'[' => {
                self.depth += 1;
                return;
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => return self.end_value(),
            b':' if self.depth == 1 => {
                self.key = std::mem::take(&mut self.held);
                return;
            }
            _ => {}
        }
        self.hold(byte);
    }

    /// Keeps a byte of the outermost object. One byte over the bound marks a key or value that is too long.
    fn hold(&mut self, byte: u8) {
        if self.depth == 1 && self.held.len() <= ID_BYTES_MAX {
            self.held.push(byte);
        }
    }

    /// Ends a member of the outermost object.
    fn end_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.held);
        match self.key.trim_ascii() {
            b"\"id\"" if value.len() <= ID_BYTES_MAX => self.id = value,
            b"\"method\"" => self.has_method = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn id(line: &str) -> Value {
        let mut long = LongLine::default();
        line.as_bytes().chunks(3).for_each(|piece| long.look_through(piece));
        assert!(long.held.capacity().max(long.id.capacity()) <= 2 * ID_BYTES_MAX + 2);
        long.id()
    }

    #[test]
    fn the_id_is_that_of_the_outermost_object() {
        let text = "x".repeat(10_000);
        for (line, expected) in [
            (format!(r#"{{"id":7,"method":"a","params":{{"id":8,"x":"{text}"}}}}"#), json!(7)),
            (
                format!(r#"{{"method":"a","params":{{"x":"{text}","id":8}},"jsonrpc":"2.0","id":9}}"#),
                json!(9),
            ),
            (
                format!(r#" {{ "method" : "a" , "id" : "b\"}},{{" , "params" : ["{text}"] }} "#),
                json!("b\"},{"),
            ),
            (format!(r#"{{"method":"a","params":"\",\"id\":1,\\","x":"{text}","id":-2}}"#), json!(-2)),
            (format!(r#"{{"id":3,"method":["{text}"]}}"#), json!(3)),
            // These have none, or one that no request may have.
            (format!(r#"{{"method":"a","params":{{"id":8,"x":"{text}"}}}}"#), json!(null)),
            (format!(r#"{{"id":7,"result":{{"x":"{text}"}}}}"#), json!(null)),
            (format!(r#"{{"id":7,"method":"{text}"#), json!(null)),
            (format!(r#"{{"id":{{"id":7}},"method":"{text}"}}"#), json!(null)),
            (format!(r#"{{"id":[7],"method":"{text}"}}"#), json!(null)),
            (format!(r#"{{"id":"{text}","method":"a"}}"#), json!(null)),
            (format!(r#"{{"id":1{text},"method":"a"}}"#), json!(null)),
            (format!(r#"[{{"id":7,"method":"{text}"}}]"#), json!(null)),
            (format!("]}}}},\"id\":7,{text}"), json!(null)),
        ] {
            assert_eq!(id(&line), expected, "{}", &line[..60]);
        }
    }

    proptest! {
        /// Whatever is beside it, and in whatever place it is.
        #[test]
        fn the_id_of_any_request_is_found(
            number in any::<i64>(),
            text in any::<String>(),
            is_text in any::<bool>(),
            at in 0usize..4,
        ) {
            let own = if is_text { json!(text) } else { json!(number) };
            let mut members = vec![
                format!("\"jsonrpc\":{}", json!("2.0")),
                format!("\"method\":{}", json!(text)),
                format!("\"params\":{}", json!({ "id": 1, text.clone(): [text, { "id": text }] })),
            ];
            members.insert(at.min(members.len()), format!("\"id\":{own}"));
            let known = if own.to_string().len() > ID_BYTES_MAX { Value::Null } else { own };
            prop_assert_eq!(id(&format!("{{{}}}", members.join(","))), known);
        }
    }
}
