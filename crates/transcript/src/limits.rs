//! Every bound of this crate. Sizes are bytes of UTF-8.

/// A longer line is skipped and counted. The longest seen in real transcripts is half a megabyte; pasted
/// images make longer ones.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// Of a longer prompt or reply, the head and the tail are kept.
pub const TEXT_BYTES_MAX: usize = 16 << 10;
/// Of a longer output of a successful call, the head and the tail are kept.
pub const OUTPUT_BYTES_MAX: usize = 2 << 10;
/// Of a longer output of a failed call, the head and the tail are kept.
pub const ERROR_BYTES_MAX: usize = 4 << 10;
/// A command line, a search pattern or the input of an unknown tool.
pub const INPUT_BYTES_MAX: usize = 2 << 10;
/// Text that an edit wrote, kept for searching.
pub const EXCERPT_BYTES_MAX: usize = 1 << 10;
/// A path, id, branch, model or title. Longer ones are cut.
pub const NAME_BYTES_MAX: usize = 1 << 10;
/// An exchange that would keep more than this is continued in another piece, as soon as no call waits for its
/// answer.
pub const EXCHANGE_BYTES_MAX: usize = 32 << 10;
/// An exchange that spans more of its source than this is continued in another piece at once, to bound what
/// is read twice.
pub const EXCHANGE_SOURCE_BYTES_MAX: u64 = 2 << 20;
/// Most bytes of the source between the beginning of an exchange and a record that still belongs to it, including records
/// that are not kept, such as progress. Then the exchange ends, because what is read at once is bounded. It is as long as
/// the longest line, so a reading of twice that makes progress. A result that comes later belongs to the piece of that time.
pub const EXCHANGE_SPAN_MAX: u64 = LINE_BYTES_MAX as u64;
/// Turns of one piece of an exchange.
pub const TURNS_MAX: usize = 512;
/// Prompts of a session that a reader remembers, to detect rewinds and copies.
pub const MARKS_MAX: usize = 4096;
/// Going back over at most this many prompts is a rewind; going back farther starts a branch, and both sides
/// are kept.
pub const REWIND_PROMPTS_MAX: usize = 3;
/// Files that a reader remembers as edited already.
pub const TRACKED_MAX: usize = 4096;
/// Names of unknown records that are counted separately; further names share one count.
pub const UNKNOWN_NAMES_MAX: usize = 64;
/// Items of a list in a tool's input: paths, questions, to-dos.
pub const ITEMS_MAX: usize = 64;
/// Calls without a result whose exchange has ended, as a reader remembers them.
pub const LATE_MAX: usize = 64;
/// Commands after an error that are searched for its fix.
pub const FIX_COMMANDS_MAX: usize = 10;
