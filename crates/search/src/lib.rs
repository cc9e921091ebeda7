//! Search: the lexical index on disk, and vectors in memory. Both are derived from the store.

pub mod lexical;
pub mod vector;
