//! What keeps memories true: supersession, merging, insights, and which text was held when. Pure: the store looks
//! things up, this module decides.

mod believed;
mod cycle;
pub mod insight;
mod nature;
mod newer;
mod succession;
mod vitals;

pub use believed::{Stretch, believed, gaps};
pub use cycle::{Action, CHANGES_MAX, Merge, Step, Survey, WEAK_BELOW, merge, united};
pub use insight::{Insight, Topic, Topics};
pub use nature::{is_due, is_due_somewhere, is_exempt, is_open, nature, nature_of_type, strength};
pub use newer::{Listed, newer};
pub use succession::{Unfit, check_supersession, newest_first};
pub use vitals::{Vital, Vitals};
