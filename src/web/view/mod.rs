//! What the pages show, worked out without I/O: dates by the reader's language, links, charts, the layout of a graph, a
//! text as HTML, the difference of two texts.

pub mod chart;
pub mod diff;
pub mod filter;
pub mod layout;
pub mod link;
pub mod locale;
pub mod markdown;
pub mod room;
