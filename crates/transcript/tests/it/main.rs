//! The readers on small handwritten transcripts, one test for each rule.

mod anywhere;
mod claude_code;
mod codex;
mod hosts;
mod opencode;
mod others;
mod rough;
mod sessions;
mod support;
mod versions;
