//! Past sessions, taken in from what agents write down of them.
//!
//! One task does it, [`Service::keep_history`], for as long as the daemon runs: it looks through the agents' folders
//! when it begins, at each interval, and when somebody asks, and reads what a hook names. Data flows one way:
//!
//! | file | step |
//! | --- | --- |
//! | [`places`] | where the agents keep their sessions |
//! | [`walk`] | which files lie there, and in which order they are read |
//! | [`reading`], [`rows`] | pieces of a file, or the sessions of a database, through the readers of `transcript` |
//! | [`take`] | whose session it is, what of it is a copy; exchanges and cursor go to the store in one transaction |
//! | [`aside`] | the same for the journal of work alone, where past sessions are not kept |
//! | [`run`] | the task, its bounds and its pauses |
//! | [`desk`] | what is asked of it, and what it tells |

mod aside;
mod desk;
mod drift;
mod evidence;
mod places;
mod reading;
mod rows;
mod run;
mod settings;
mod take;
mod walk;

pub(crate) use desk::Desk;
pub use desk::{AgentProgress, HistoryOptions, ImportRequest, Preview, Progress, ProjectOf};
pub use drift::glance;
pub use places::{Place, agent_named, agents, places};
pub use settings::HistorySettings;
