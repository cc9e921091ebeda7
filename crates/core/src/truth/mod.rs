//! What keeps memories true: supersession, which text was held when, and which texts say the same. Pure: the store
//! looks things up, this module decides.

mod believed;
mod containment;
mod cycle;
pub mod insight;
mod nature;
mod newer;
mod sameness;
mod succession;
mod vitals;

pub use believed::{Stretch, believed, gaps};
pub use containment::{denies, says_all};
pub use cycle::{Action, CHANGES_MAX, Merge, Step, Survey, WEAK_BELOW, merge, united};
pub use insight::{Insight, Topic, Topics};
pub use nature::{is_due, is_due_somewhere, is_exempt, is_open, nature, nature_of_type, strength};
pub use newer::{Listed, newer};
pub use sameness::{forms, normal, stands_alone};
pub use succession::{Unfit, check_place, newest_first};
pub use vitals::{Vital, Vitals};
