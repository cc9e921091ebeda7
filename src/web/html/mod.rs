//! Computes what the pages show, without I/O: dates in the reader's language, links, charts, pagers, the layout of a graph,
//! a text as HTML, the diff of two texts.

pub mod byte_budget;
pub mod chart;
pub mod diff;
pub mod filter;
pub mod layout;
pub mod link;
pub mod locale;
pub mod markdown;
pub mod pager;
pub mod parameter;
