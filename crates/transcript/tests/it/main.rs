//! The readers on small transcripts that we wrote, a rule a test.

mod anywhere;
mod claude_code;
mod codex;
mod opencode;
mod others;
mod sessions;
mod support;
