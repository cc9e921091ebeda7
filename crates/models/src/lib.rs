//! Models: text to vectors (`embed`), and questions to JSON (`llm`). Both share the HTTP client, keys, retries and
//! bounds in `provider`.

pub mod embed;
pub mod llm;
pub mod provider;
