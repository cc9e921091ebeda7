//! A model on this machine, run in this process by `fastembed` on ONNX Runtime.
//!
//! Every text is an inference of its own. A batch would gain little on a few cores and would make a query wait for
//! all of it. In dynamically quantized models, a text's vector would also depend on its neighbours, because the
//! scale is computed over the whole batch.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use fastembed::{
    InitOptionsUserDefined, QuantizationMode, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel,
};
use ort::ep::CPU;
use tokio::sync::Mutex;

use super::folder::ModelFolder;
use super::manifest::{MODEL, Manifest, Pooling, TOKENIZER, read_verified};
use super::vector::unit;
use super::{Answer, Embedded, Embedder, Model, Purpose, graph, runtime};
use cerebro_core::redact::RedactedText;

use crate::provider::ProviderError;

/// Words of prose that give eight tokens, by a cautious estimate.
const WORDS_OF_EIGHT_TOKENS: usize = 5;
/// The tokens that mark both ends of a model's input.
const MARKS: usize = 2;
/// Tokens that are left free in each part of a long text, because a cut word may have more of them.
const SLACK: usize = 8;

/// A model on this machine.
pub struct Local {
    model: Model,
    batch_max: usize,
    plan: Arc<Plan>,
    /// The loaded model. The holder of the lock computes; the lock is fair.
    engine: Arc<Mutex<Option<Engine>>>,
    /// Held while passages are embedded, so that at most one of them can delay a query.
    passages: Mutex<()>,
}

/// What is needed to load a model.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The location of the library.
    pub folder: ModelFolder,
    /// The folder of the model's files.
    pub dir: PathBuf,
    /// Their manifest; a dimension of 0 means that it is not known yet.
    pub manifest: Manifest,
    /// Threads of one inference.
    pub threads: usize,
}

/// A loaded model.
pub struct Engine {
    inner: TextEmbedding,
    /// Tokens of the longer prefix.
    prefix_tokens: usize,
}

impl Local {
    /// Opens the model with this name on the folder. It is loaded when it is first needed.
    ///
    /// # Errors
    /// It is not installed, or its manifest is invalid.
    pub fn open(
        folder: &ModelFolder,
        name: &str,
        threads: usize,
        batch_max: usize,
    ) -> Result<Self, ProviderError> {
        let manifest = folder.manifest(name)?;
        let model = Model {
            name: format!("local/{name}"),
            dimension: manifest.dimension,
            passage_words: (manifest.max_tokens - MARKS) * WORDS_OF_EIGHT_TOKENS / 8,
        };
        let plan = Plan { folder: folder.clone(), dir: folder.model_dir(name)?, manifest, threads };
        Ok(Self { model, batch_max, plan: Arc::new(plan), engine: Arc::default(), passages: Mutex::new(()) })
    }

    async fn one(&self, purpose: Purpose, text: RedactedText) -> Result<Vec<f32>, ProviderError> {
        let mut engine = Arc::clone(&self.engine).lock_owned().await;
        let plan = Arc::clone(&self.plan);
        let dimension = self.model.dimension;
        let work = move || {
            let loaded = match engine.as_mut() {
                Some(loaded) => loaded,
                None => engine.insert(plan.load()?),
            };
            let vector = loaded.embed(plan.prefix(purpose), &text, plan.manifest.max_tokens)?;
            unit(vector, dimension, &plan.manifest.name)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
            Err(ProviderError::unusable(format!("the model `{}` broke off", self.plan.manifest.name)))
        })
    }
}

impl Embedder for Local {
    fn model(&self) -> &Model {
        &self.model
    }

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn is_metered(&self) -> bool {
        false
    }

    fn is_in_process(&self) -> bool {
        true
    }

    fn embed(&self, purpose: Purpose, texts: Vec<RedactedText>) -> Answer<'_> {
        Box::pin(async move {
            let _turn = match purpose {
                Purpose::Query => None,
                Purpose::Passage => Some(self.passages.lock().await),
            };
            let mut vectors = Vec::with_capacity(texts.len());
            for text in texts {
                vectors.push(self.one(purpose, text).await?);
            }
            Ok(Embedded { vectors, tokens: 0 })
        })
    }

    fn rest(&self) {
        // A model that is computing is not idle.
        if let Ok(mut engine) = self.engine.try_lock() {
            engine.take();
        }
    }
}

impl Plan {
    /// The prefix that the model expects before a text.
    pub fn prefix(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.manifest.query_prefix,
            Purpose::Passage => &self.manifest.passage_prefix,
        }
    }

    /// Loads the model and, if necessary, ONNX Runtime.
    ///
    /// # Errors
    /// A file is missing or damaged, or ONNX Runtime or the tokenizer does not understand it.
    pub fn load(&self) -> Result<Engine, ProviderError> {
        let environment = runtime::environment(&self.folder)?;
        let Manifest { name, pooling, max_tokens, .. } = &self.manifest;
        let weights = graph::rewritten(self.read(MODEL)?);
        let model = UserDefinedEmbeddingModel::new(weights, self.tokenizer_files()?)
            .with_pooling(match pooling {
                Pooling::Mean => fastembed::Pooling::Mean,
                Pooling::Cls => fastembed::Pooling::Cls,
            })
            .with_quantization(QuantizationMode::None);
        let options = InitOptionsUserDefined::new()
            .with_environment(environment)
            .with_max_length(*max_tokens)
            .with_intra_threads(self.threads)
            // The arena would keep as much memory as the longest text ever needed, and most texts are short.
            .with_execution_providers(vec![CPU::default().with_arena_allocator(false).build()])
            // Idle threads sleep, to leave the processor to the user.
            .with_session_config("session.intra_op.allow_spinning", "0")
            // Avoids an operator that fuses a sum and its normalization but takes four times as long as both apart.
            .with_session_config("optimization.disable_specified_optimizers", "SkipLayerNormFusion")
            .with_session_config("session.x64quantprecision", if has_wide_sums() { "0" } else { "1" });
        let model_error =
            |error: String| ProviderError::unusable(format!("the model `{name}` cannot be used: {error}"));
        let mut inner = TextEmbedding::try_new_from_user_defined(model, options)
            .map_err(|error| model_error(error.to_string()))?;
        // The tokenizer would drop everything beyond the bound; `Engine::parts` cuts the text instead.
        inner.tokenizer.with_truncation(None).map_err(|error| model_error(error.to_string()))?;
        let tokens = |prefix: &str| inner.tokenizer.encode(prefix, false).map(|encoded| encoded.len());
        let query = tokens(&self.manifest.query_prefix).map_err(|error| model_error(error.to_string()))?;
        let passage =
            tokens(&self.manifest.passage_prefix).map_err(|error| model_error(error.to_string()))?;
        let prefix_tokens = query.max(passage);
        Ok(Engine { inner, prefix_tokens })
    }

    fn read(&self, file: &str) -> Result<Vec<u8>, ProviderError> {
        let wanted = self.manifest.files.get(file).ok_or_else(|| {
            ProviderError::unusable(format!("the model `{}` does not list a {file}", self.manifest.name))
        })?;
        read_verified(&self.dir.join(file), wanted)
    }

    /// The tokenizer, and substitutes for what `fastembed` reads from the files beside it: the bound on tokens, and
    /// a padding token, which is never needed because texts are read one by one.
    fn tokenizer_files(&self) -> Result<TokenizerFiles, ProviderError> {
        let bound = format!(r#"{{"model_max_length": {}, "pad_token": "[PAD]"}}"#, self.manifest.max_tokens);
        Ok(TokenizerFiles {
            tokenizer_file: self.read(TOKENIZER)?,
            config_file: br#"{"pad_token_id": 0}"#.to_vec(),
            special_tokens_map_file: b"{}".to_vec(),
            tokenizer_config_file: bound.into_bytes(),
        })
    }
}

impl Engine {
    /// The vector of a text. If the text is longer than the model reads at once, the mean of its parts' vectors,
    /// weighted by their tokens, so that every part counts.
    pub fn embed(&mut self, prefix: &str, text: &str, max_tokens: usize) -> Result<Vec<f32>, ProviderError> {
        let parts = self.parts(text, max_tokens)?;
        if parts.len() < 2 {
            return self.infer(format!("{prefix}{text}"));
        }
        let mut sum: Vec<f32> = Vec::new();
        for (range, tokens) in parts {
            let vector = self.infer(format!("{prefix}{}", text.get(range).unwrap_or_default()))?;
            sum.resize(vector.len(), 0.0);
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x * tokens as f32);
        }
        Ok(sum)
    }

    fn infer(&mut self, text: String) -> Result<Vec<f32>, ProviderError> {
        let failed = |reason: String| ProviderError::unusable(format!("the model failed: {reason}"));
        let mut vectors = self.inner.embed([text], None).map_err(|error| failed(error.to_string()))?;
        vectors.pop().ok_or_else(|| failed("it gave no vector".to_owned()))
    }

    /// The parts of a text that the model reads at once, with their numbers of tokens.
    fn parts(&self, text: &str, max_tokens: usize) -> Result<Vec<(Range<usize>, usize)>, ProviderError> {
        let room = max_tokens.saturating_sub(MARKS + self.prefix_tokens).max(SLACK + 1);
        // Apart from one that some tokenizers put first, a token is at least one letter, so counting is
        // unnecessary.
        if text.is_ascii() && text.len() < room {
            return Ok(vec![(0..text.len(), text.len())]);
        }
        let encoded = self
            .inner
            .tokenizer
            .encode(text, false)
            .map_err(|error| ProviderError::unusable(format!("the tokenizer failed: {error}")))?;
        Ok(parts(text, encoded.get_offsets(), room))
    }
}

/// Whether the processor adds products of bytes in 32 bits. x86 without VNNI uses 16 bits, which may overflow; for
/// that, ONNX Runtime has a slower way that gives the same numbers everywhere.
fn has_wide_sums() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    return true;
}

/// Cuts a text, given the positions of its tokens, into parts of at most `room` tokens. If it fits, there is one
/// part. A cut is never inside a character.
fn parts(text: &str, tokens: &[(usize, usize)], room: usize) -> Vec<(Range<usize>, usize)> {
    if tokens.len() <= room {
        return vec![(0..text.len(), tokens.len())];
    }
    let groups: Vec<&[(usize, usize)]> = tokens.chunks(room.saturating_sub(SLACK).max(1)).collect();
    let mut from = 0;
    let mut parts = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        let end = groups.get(at + 1).and_then(|next| next.first()).map_or(text.len(), |token| token.0);
        let end = text.ceil_char_boundary(end.min(text.len())).max(from);
        if end > from {
            parts.push((from..end, group.len()));
        }
        from = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token for each character.
    fn tokens(text: &str) -> Vec<(usize, usize)> {
        text.char_indices().map(|(at, c)| (at, at + c.len_utf8())).collect()
    }

    #[test]
    fn parts_cover_a_text_without_gap_or_overlap() {
        for text in ["", "short", &"é語a ".repeat(40), &"x".repeat(500)] {
            for room in [1, 9, 10, 64, 1_000] {
                let tokens = tokens(text);
                let parts = parts(text, &tokens, room);
                let joined: String = parts.iter().map(|(range, _)| &text[range.clone()]).collect();
                assert_eq!(joined, text, "room {room}");
                assert_eq!(parts.iter().map(|(_, count)| count).sum::<usize>(), tokens.len(), "room {room}");
                assert!(parts.iter().all(|(_, count)| *count <= room), "room {room}: {parts:?}");
            }
        }
    }

    #[test]
    fn a_token_that_begins_inside_a_character_cuts_behind_it() {
        // Byte-wise tokenizers do that.
        let parts = parts("語語", &[(0, 1), (1, 3), (3, 4), (4, 6)], 1);
        assert_eq!(parts.iter().map(|(range, _)| range.clone()).collect::<Vec<_>>(), [0..3, 3..6]);
    }
}
