//! What lies in the agents' folders, and reading it: files and rows in, through the readers of `transcript`, exchanges out. Nothing
//! here knows the store. What reads a file or a database blocks.
//!
//! | file | step |
//! | --- | --- |
//! | [`folders`] | where the agents keep their sessions |
//! | [`walk`] | which files lie there, and in which order they are read |
//! | [`reading`] | the pieces of a file |
//! | [`tree`] | a session whose messages lie in files of their own |
//! | [`rows`] | the sessions of a database |
//! | [`copied_rows`] | which of those rows are copies |

mod copied_rows;
pub(super) mod folders;
pub(super) mod reading;
pub(super) mod rows;
mod tree;
pub(super) mod walk;
