//! The types of Cerebro and its decisions. All of it is pure: no I/O, no clock, no task.
//!
//! No two modules use each other; those of a paragraph may use those of the paragraphs above it.

#[macro_use]
mod named;

pub mod sync;
pub mod text;

pub mod taint;

pub mod redact;

pub mod domain;

pub mod code;
pub mod feedback;
pub mod hygiene;
pub mod operation;
pub mod pace;
pub mod passage;
pub mod recall;
pub mod relate;
pub mod sameness;

pub mod distil;

pub mod truth;
