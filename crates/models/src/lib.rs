//! Models: text to vectors, and text to claims. Providers stand behind one trait each; how a server is asked,
//! with which key and how often, is in `provider`.

pub mod embed;
pub mod llm;
pub mod provider;
