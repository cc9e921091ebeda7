//! What keeps memories true: supersession, merging, insights, and which text was held when. Pure: the store looks
//! things up, this module decides.

mod cycle;
mod held;
pub mod insight;
mod nature;
mod newer;
mod succession;
mod vitals;

pub use cycle::{Action, CHANGES_MAX, Merge, Step, Survey, WEAK_BELOW, merge, united};
pub use held::{Period, gaps, held_periods};
pub use insight::{Insight, Topic, Topics};
pub use nature::{is_due, is_due_somewhere, is_exempt, is_open, nature, nature_of_type, strength};
pub use newer::{Listed, newer};
pub use succession::{SupersessionError, check_supersession, newest_first};
pub use vitals::{Superseding, Vital, Vitals};
