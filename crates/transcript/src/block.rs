//! Blocks of a message as Anthropic's API has them; Claude Code and Cursor write them down as they are.

use serde::Deserialize;

use crate::json::{Flag, Raw, Text, elements, parse};

/// Any block of a content. Thinking has no field here: it is never stored.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    pub(crate) text: Text<'a>,
    pub(crate) id: Text<'a>,
    pub(crate) name: Text<'a>,
    pub(crate) input: Raw<'a>,
    pub(crate) tool_use_id: Text<'a>,
    pub(crate) content: Raw<'a>,
    pub(crate) is_error: Flag,
}

/// The blocks of a content; none where it is a text. One that cannot be read does not cost the others.
pub(crate) fn blocks(content: Raw<'_>) -> Vec<Block<'_>> {
    let Some(content) = content else { return Vec::new() };
    match parse(content.get()) {
        Some(blocks) => blocks,
        None => elements(content).into_iter().filter_map(|block| parse(block.get())).collect(),
    }
}
