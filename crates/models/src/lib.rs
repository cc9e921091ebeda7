//! Models: text to vectors (`embed`), and questions to JSON (`llm`). The HTTP client, keys, retries and bounds that
//! providers share are in `provider`.

pub mod embed;
pub mod llm;
pub mod provider;
