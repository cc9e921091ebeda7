//! Models: text to vectors, and text to claims. Providers stand behind one trait each.

pub mod embed;
pub mod llm;
