//! The bounds of a journal.

use std::time::Duration;

/// Largest body of an event in its row; a longer one is an artifact, and the row has its beginning.
pub const BODY_BYTES_MAX: usize = 4_096;
/// Largest artifact. Longer data is cut, and its full length recorded.
pub const ARTIFACT_BYTES_MAX: usize = 1024 * 1024;
/// Longest time between what happened and its record that is believed: a machine that slept takes hours.
pub const AGO_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Most events of one commit.
pub const BATCH_MAX: usize = 64;
/// Most events of one piece of work.
pub const EVENTS_MAX: u64 = 10_000;
/// Number of events from which a piece of work warns that it is near its limit.
pub const EVENTS_WARN: u64 = 8_000;
/// Most steps of a plan.
pub const STEPS_MAX: usize = 50;
/// Most gates.
pub const GATES_MAX: usize = 16;
/// Most intents that are open at once.
pub const INTENTS_OPEN_MAX: usize = 64;
/// Longest key of a piece of work or an intent, in characters.
pub const KEY_CHARS_MAX: usize = 200;
/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 200;
/// Longest name of a kind of work, in characters.
pub const KIND_CHARS_MAX: usize = 40;
/// Most names of failed tests that are kept of one run.
pub const TEST_NAMES_MAX: usize = 5;
/// Most edited files that a state names; the oldest go first.
pub const FILES_MAX: usize = 50;
/// Most calls under way that a state names.
pub const CALLS_MAX: usize = 16;
/// Most decisions, findings and notes that a state names; the oldest go first.
pub const REMARKS_MAX: usize = 16;
/// Longest text that a state keeps of one event, in bytes.
pub const TEXT_BYTES_MAX: usize = 600;
/// Most former holders that a state knows; the oldest go first.
pub const HOLDERS_MAX: usize = 16;
/// Most witnesses in one check.
pub const ANCHORS_MAX: usize = 1_000;
/// How long a lease lasts without any activity.
pub const LEASE: Duration = Duration::from_secs(30 * 60);
/// Longest hint where a hook shows it.
pub const HINT_BYTES: usize = 2_500;
/// The shortest and the longest hint that may be asked for.
pub const HINT_BYTES_RANGE: (usize, usize) = (256, 32_768);
