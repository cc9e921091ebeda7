//! The journal of a piece of work without I/O: events, their keyed chain, what they fold into, seals and proofs.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`mod@step`] | what happened, in terms common to all agents |
//! | [`mod@verdict`] | what the output of a test run says |
//! | [`mod@work`] | what a piece of work and its events are |
//! | [`mod@limits`] | how much of each there may be |
//! | [`mod@body`] | which part of an event is stored in its row |
//! | [`mod@fold`] | what state the events lead to |
//! | [`mod@hint`] | the text for the next agent, in view of the world |
//! | [`mod@lease`] | who holds it |
//! | [`mod@chain`], [`mod@verify`] | whether it is as it was written |
//! | [`mod@seal`] | whether all of it is there, provable to outsiders |
//! | [`mod@anchor`] | which heads were written down outside |
//!
//! Everything is a pure function: the same events and facts give the same bytes.

pub mod anchor;
pub mod body;
pub mod chain;
pub mod fold;
pub mod hint;
pub mod lease;
pub mod limits;
mod mac;
pub mod seal;
mod state;
pub mod step;
#[cfg(test)]
mod tests;
pub mod verdict;
pub mod verify;
pub mod work;
mod world;

pub use anchor::Anchor;
pub use chain::{ChainedEvent, Key};
pub use fold::fold;
pub use hint::{action, hint};
pub use mac::Mac;
pub use state::{
    CallState, FileState, Gaps, GateState, HolderState, IntentStanding, IntentState, PlanStep, State,
    TestState, TimedText,
};
pub use step::{Ending, Outcome, Planned, Repeat, Standing, Step, Tests};
pub use verify::{Finding, Verified, continues, is_of_key, is_row_genuine, move_to, verify};
pub use work::{Entry, Lease, Status, Work};
pub use world::{Action, LiveSession, SeenFile, Unfinished, World};
