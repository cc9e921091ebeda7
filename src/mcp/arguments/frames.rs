//! Takes Cerebro's own frames out of texts that are to be remembered.

use std::borrow::Cow;

use cerebro_core::text;
use serde_json::Value;

use super::{Arguments, echo};

impl Arguments {
    /// Takes the frames in which Cerebro shows its context out of the texts: what it has shown is stored already, and must
    /// not become a memory. The reply names the arguments that had one.
    pub fn unframe(&mut self) {
        for (name, value) in &mut self.map {
            let had_frame = match value {
                Value::Array(items) => {
                    let framed: Vec<bool> = items.iter_mut().map(unframe).collect();
                    let had_frame = framed.contains(&true);
                    items.retain(|item| !had_frame || item != "");
                    had_frame
                }
                one => unframe(one),
            };
            if had_frame {
                self.unframed.push(name.clone());
            }
        }
    }
}

/// Takes the frames out of a text. Returns whether there were any.
fn unframe(value: &mut Value) -> bool {
    let Value::String(text) = value else { return false };
    let Cow::Owned(rest) = text::unframed(text) else { return false };
    rest.trim().clone_into(text);
    true
}

/// What a reply says of an argument that had a frame.
pub(super) fn note(name: &str) -> String {
    format!("{}: what Cerebro had shown", echo(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Names, *};

    #[test]
    fn what_cerebro_had_shown_is_left_out_and_named() {
        let frame = text::framed("- a memory");
        let half = "<cerebro-context>\n- half of it\n\nWhat is that?";
        let given = json!({
            "title": "t", "content": format!("Mine.\n{frame}"), "files": ["a", frame], "why": half, "n": 1,
        });
        let mut given = Arguments::new(given.as_object().unwrap().clone(), Names::OfAgent);
        given.unframe();
        assert_eq!(given.text("title"), Ok(Some("t".to_owned())));
        assert_eq!(given.text("content"), Ok(Some("Mine.".to_owned())));
        assert_eq!(given.texts("files"), Ok(Some(vec!["a".to_owned()])));
        assert_eq!(given.text("why"), Ok(Some(half.to_owned())));
        assert_eq!(
            given.ignored(),
            ["n", "content: what Cerebro had shown", "files: what Cerebro had shown"]
        );
    }
}
