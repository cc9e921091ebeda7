//! The types of Cerebro and its decisions. All of it is pure: no I/O, no clock, no task.
//!
//! A module may use those above it in this list.

pub mod code;
pub mod domain;
pub mod sync;
pub mod text;

pub mod feedback;
pub mod hygiene;
pub mod operation;
pub mod pace;
pub mod passage;
pub mod recall;
pub mod redact;
pub mod relate;
pub mod taint;
pub mod truth;

pub mod distil;
