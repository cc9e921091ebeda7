//! The driver of the readers of JSON lines: splits, bounds, repairs and counts lines.

use crate::assemble::Assembler;
use crate::json::{has_surrogates, is_object, repaired, without_bom};
use crate::limits::LINE_BYTES_MAX;
use crate::line::Line;
use crate::state::{Batch, State};
use crate::turn::Agent;
use crate::{claude_code, codex, copilot, cursor, qwen};

/// Reads the bytes of a source from `state.offset` on. They may end anywhere, also in the middle of a line or
/// of a character: an unfinished last line is left for the next reading, even if it would parse.
///
/// For Gemini CLI and OpenCode use [`crate::gemini_cli::read`] and [`crate::opencode`]: theirs are read
/// whole.
pub fn read(bytes: &[u8], state: &State) -> Batch {
    stretch(bytes, state, false)
}

/// Like [`read`], for bytes that reach the end of the source: a last line without a line break counts if it is a whole
/// object, since no bytes that follow can make another one of it. Files that were exported, copied or restored often
/// lack their last line break.
pub fn read_to_end(bytes: &[u8], state: &State) -> Batch {
    stretch(bytes, state, true)
}

fn stretch(bytes: &[u8], state: &State, to_end: bool) -> Batch {
    let line = match state.session.agent {
        Agent::ClaudeCode => claude_code::line,
        Agent::Codex => codex::line,
        Agent::Copilot => copilot::line,
        Agent::Cursor => cursor::line,
        Agent::Qwen => qwen::line,
        Agent::GeminiCli => return crate::gemini_cli::read(bytes, &state.session.id),
        // OpenCode has rows, not lines.
        Agent::OpenCode => |_: &mut Assembler, _: &[u8]| -> Line<'static> { Line::Malformed },
    };
    let mut assembler = Assembler::new(state);
    let mut at = 0;
    if assembler.live.skipping {
        at = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
        assembler.live.skipping = at == bytes.len() && bytes.last() != Some(&b'\n');
    }
    if state.offset == 0 {
        at += bytes.len() - without_bom(bytes).len();
    }
    while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
        let next = at + length + 1;
        if length > LINE_BYTES_MAX {
            assembler.live.counts.oversized += 1;
            assembler.skip_to(state.offset + next as u64);
        } else {
            assembler.begin(state.offset + at as u64);
            one_line(&mut assembler, bytes[at..at + length].trim_ascii(), line);
            assembler.end_far_ones(state.offset + next as u64);
        }
        at = next;
    }
    let left = &bytes[at..];
    if left.len() > LINE_BYTES_MAX {
        assembler.live.counts.oversized += 1;
        assembler.live.skipping = true;
        assembler.skip_to(state.offset + bytes.len() as u64);
        at = bytes.len();
    } else if to_end && is_object(left) {
        assembler.begin(state.offset + at as u64);
        one_line(&mut assembler, left.trim_ascii(), line);
        at = bytes.len();
    }
    assembler.finish(state.offset + at as u64)
}

type ReadLine = for<'a> fn(&mut Assembler, &'a [u8]) -> Line<'a>;

fn one_line(assembler: &mut Assembler, line: &[u8], read: ReadLine) {
    if line.is_empty() {
        return;
    }
    let repaired_first = if has_surrogates(line) { repaired(line) } else { None };
    let line = repaired_first.as_deref().map_or(line, str::as_bytes);
    let outcome = match note(read(assembler, line)) {
        Err(()) if repaired_first.is_none() => {
            repaired(line).map_or(Err(()), |line| note(read(assembler, line.as_bytes())))
        }
        outcome => outcome,
    };
    let counts = &mut assembler.live.counts;
    counts.records += 1;
    match outcome {
        Ok(None) => {}
        Ok(Some(name)) => counts.unknown(&name, line.len()),
        Err(()) => counts.malformed += 1,
    }
}

/// The name of an unknown record; an error if it is none.
fn note(line: Line<'_>) -> Result<Option<String>, ()> {
    match line {
        Line::Known => Ok(None),
        Line::Unknown(name) => Ok(Some(name.into_owned())),
        Line::Malformed => Err(()),
    }
}
