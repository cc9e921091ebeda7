//! Reads the transcripts that coding agents keep of their sessions: bytes or rows in, exchanges and facts
//! out.
//!
//! This crate is pure. It opens no file, reads no clock, knows no database, and never fails: it counts what
//! it does not understand ([`Counts`]) and skips it. In reading order:
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`turn`] | the types: session, exchange, turn, call |
//! | [`State`], [`Batch`] | how far a source was read, and the result of one reading |
//! | [`read`] | lines of JSON, cut anywhere, for Claude Code, Codex, Copilot CLI, Cursor and Qwen Code |
//! | [`gemini_cli`], [`opencode`], [`cursor_ide`] | sources that are read whole, because their records change in place |
//! | [`typed`] | prompts of deleted sessions |
//! | [`lineage`] | which part of a session is a copy of another |
//! | [`facts`] | what can be concluded by rules |
//! | [`report`] | one call as a hook reports it, in the same vocabulary |
//! | [`limits`] | every bound |
//!
//! # Reading on
//!
//! Store [`Batch::state`] with the source, and pass it back with the bytes from its `offset` on. Store
//! exchanges under their `seq`, replacing what is there: the last two come again with the next reading. When
//! the bytes before `offset` changed (the file was rewritten), or [`State::can_continue`] says no, begin with
//! [`State::new`] and replace everything. The caller has the file, so it detects that. A last line without a
//! line break may be half-written. [`read`] leaves it for later; where the bytes reach the end of the source,
//! [`read_to_end`] takes it if it is whole.
//!
//! # Text
//!
//! Only what is around a cut is redacted here, because afterwards a secret there could not be recognised. All text that came
//! from a transcript is reached by [`turn::Exchange::each_text`]
//! and [`turn::Session::each_text`]; redact with them before anything is stored or logged, and before
//! [`facts`] are taken. [`State`] has the session's names, and no other text. Thinking is never stored.

mod assemble;
mod block;
mod claude_code;
mod clip;
mod codex;
mod copilot;
pub mod cursor;
pub mod cursor_ide;
mod envelope;
pub mod facts;
pub mod gemini_cli;
mod json;
mod kind;
pub mod limits;
mod line;
pub mod lineage;
pub mod opencode;
mod qwen;
mod read;
pub mod report;
mod state;
mod tool;
pub mod turn;
pub mod typed;

pub use envelope::{HOST_ELEMENTS, HOST_ELEMENTS_AT_EDGES, is_of_host};
pub use read::{read, read_to_end};
pub use state::{Batch, Counts, READER_VERSION, State};
pub use turn::{Agent, Exchange, Session};
