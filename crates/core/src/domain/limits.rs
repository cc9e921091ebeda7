//! The bounds of the public contract, and those that several modules share. Any other bound is beside its use.
//!
//! Sizes are in bytes unless the name says otherwise; a "char" is a Unicode scalar value.

use std::time::Duration;

use super::Timestamp;

/// The first moment that can be stored, in 1779. The database's indexes count nanoseconds in 64 bits, and this leaves a
/// century to their end.
pub const MOMENT_MIN: Timestamp = Timestamp::constant(-6_000_000_000, 0);
/// The last moment that can be stored, in 2160.
pub const MOMENT_MAX: Timestamp = Timestamp::constant(6_000_000_000, 0);
/// Longest title of a memory.
pub const TITLE_CHARS_MAX: usize = 300;
/// Longest title shown in a search hit.
pub const HIT_TITLE_CHARS_MAX: usize = 80;
/// Longest content of a memory or prompt.
pub const CONTENT_BYTES_MAX: usize = 256 * 1024;
/// Longest search query.
pub const QUERY_CHARS_MAX: usize = 2_000;
/// Most results of one page of any listing.
pub const LIMIT_MAX: usize = 50;
/// Deepest place in a ranked list that a cursor can reach.
pub const SEARCH_DEPTH_MAX: usize = 1_000;
/// Most tags of a memory.
pub const TAGS_MAX: usize = 16;
/// Longest tag.
pub const TAG_CHARS_MAX: usize = 64;
/// Longest name of a folder or branch in a trigger.
pub const TRIGGER_CHARS_MAX: usize = 200;
/// Longest memory type.
pub const KIND_CHARS_MAX: usize = 40;
/// Longest topic key.
pub const TOPIC_KEY_CHARS_MAX: usize = 120;
/// Longest session id.
pub const SESSION_ID_CHARS_MAX: usize = 128;
/// Longest name of an agent; longer ones are cut.
pub const AGENT_NAME_CHARS_MAX: usize = 64;
/// Longest directory of a session.
pub const DIRECTORY_BYTES_MAX: usize = 4_096;
/// Longest project name.
pub const PROJECT_CHARS_MAX: usize = 200;
/// Longest passage shown in a search hit.
pub const PREVIEW_CHARS_MAX: usize = 200;
/// Largest serialised search hit, in either half of a result.
pub const HIT_BYTES_MAX: usize = 400;
/// Longest piece of an offending value that an error repeats.
pub const ECHO_CHARS_MAX: usize = 80;
/// Most memories that one save or update supersedes.
pub const SUPERSEDES_MAX: usize = 8;
/// Most exchanges that an agent or a person names as evidence of a memory, and that a claim cites.
pub const EVIDENCE_MAX: usize = 8;
/// Longest chain of supersessions.
pub const SUPERSEDED_DEPTH_MAX: usize = 64;
/// Most memories that a save names as similar.
pub const SIMILAR_MAX: usize = 3;
/// Word-shingle Jaccard similarity from which two memories count as near-identical.
pub const SIMILAR_JACCARD_MIN: f64 = 0.8;
/// Default and largest size of the text of `mem_context`.
pub const CONTEXT_BYTES_DEFAULT: usize = 8_192;
/// See [`CONTEXT_BYTES_DEFAULT`].
pub const CONTEXT_BYTES_MAX: usize = 65_536;
/// Most rows of a listing for people.
pub const LISTING_MAX: usize = 500;
/// Most rows of a statement's answer, for people.
pub const SQL_ROWS_MAX: usize = 10_000;
/// Most seconds that a query in the database's language may take.
pub const SQL_SECONDS_MAX: usize = 60;
/// Default, smallest and largest piece of content that `mem_get_observation` returns at once.
pub const GET_BYTES_DEFAULT: usize = 32_768;
/// See [`GET_BYTES_DEFAULT`].
pub const GET_BYTES_MIN: usize = 256;
/// See [`GET_BYTES_DEFAULT`].
pub const GET_BYTES_MAX: usize = CONTENT_BYTES_MAX;
/// Most neighbours on either side in `mem_timeline`.
pub const TIMELINE_MAX: usize = 50;
/// Longest last message of an agent that replaces a missing session summary.
pub const HOOK_MESSAGE_CHARS_MAX: usize = 4_000;
/// Most that a hook reads of its agent's input.
pub const HOOK_INPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most that a hook says to its agent. Some agents move longer output into a file.
pub const HOOK_OUTPUT_BYTES_MAX: usize = 9_000;
/// How long a hook may take in all.
pub const HOOK_TIME_MAX: Duration = Duration::from_millis(900);
/// Window in which an equal save or prompt counts as a repetition, by default.
pub const DEDUP_WINDOW: Duration = Duration::from_secs(15 * 60);
/// Longest text of an exchange of a past session; of a longer one, head and tail are kept.
pub const EXCHANGE_BYTES_MAX: usize = 32 * 1024;
/// Longest text of a proven fact, in bytes: an error, a commit, the beginning of a plan.
pub const PROVEN_TEXT_BYTES_MAX: usize = 600;
/// Largest size of one exchange's proven facts, as JSON; longer lists are cut.
pub const PROVEN_BYTES_MAX: usize = 64 * 1024;
/// Most exchanges in one batch of an import.
pub const HISTORY_BATCH_EXCHANGES_MAX: usize = 200;
/// Most text of exchanges in one batch of an import.
pub const HISTORY_BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest state of a reader that is stored with its source.
pub const CURSOR_BYTES_MAX: usize = 1024 * 1024;
/// How long a session's connection may be gone before it is ended as `disconnected`.
pub const DISCONNECT_GRACE: Duration = Duration::from_secs(30 * 60);

/// Longest line of JSON-RPC that is read. 256 KiB of content may be six times as long when every
/// character is escaped.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest line that the daemon reads from its socket or a client from the daemon. A line of [`LINE_BYTES_MAX`]
/// grows threefold when each byte is invalid UTF-8 and gets replaced, and an answer may carry the longest content
/// in both its halves.
pub const SOCKET_LINE_BYTES_MAX: usize = 4 * LINE_BYTES_MAX;
/// Most concurrent calls of one connection; further input stays unread until one ends.
pub const CALLS_IN_FLIGHT_MAX: usize = 256;
/// Most searches that compute at once; further ones wait.
pub const SEARCHES_AT_ONCE_MAX: usize = 16;
/// Most attempts of a write that meets a transaction conflict.
pub const WRITE_ATTEMPTS_MAX: u32 = 32;
/// The longest pause between two such attempts.
pub const WRITE_PAUSE_MAX: Duration = Duration::from_millis(64);
/// Most other homes of one database that each look reads; the remaining ones are read once an hour.
pub const WRITERS_MAX: usize = 256;
/// Most homes of one database that are read at all.
pub const WRITERS_KNOWN_MAX: usize = 10_000;
/// Most memories that wait for the lexical index before a save waits for it to catch up.
pub const INDEX_PENDING_MAX: usize = 1_024;
