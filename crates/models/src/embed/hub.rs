//! A model of a hub that the catalogue does not know: its files, and its traits according to its own configuration.
//!
//! The contents of the hub are not known beforehand. They are pinned at the first installation: by the commit,
//! which the manifest names, and by the hash of each file. Nothing of the repository is run except the graph, by
//! ONNX Runtime.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::folder::{NAME_BYTES_MAX, TOKENS_MIN};
use super::manifest::{Manifest, Pooling};
use crate::provider::ProviderError;

/// The prefix of such names.
pub const SCHEME: &str = "hub:";
/// The default graph.
pub const GRAPH: &str = "onnx/model.onnx";
/// The default branch.
const REVISION: &str = "main";
/// Longest part of the name of a repository, a revision or a path, in bytes.
const PART_BYTES_MAX: usize = 200;
/// Most tokens that a model reads at once here, whatever its configuration says.
const TOKENS_MAX: usize = 8_192;
/// Most tokens if the repository does not say.
const TOKENS_USUAL: usize = 256;

/// Files of a repository that describe its model; only the first one is required.
pub(super) const DESCRIPTIONS: [&str; 6] = [POOLING, MODULES, SENTENCES, PROMPTS, TOKENS, CONFIG];
const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
const SENTENCES: &str = "sentence_bert_config.json";
const PROMPTS: &str = "config_sentence_transformers.json";
const TOKENS: &str = "tokenizer_config.json";
const CONFIG: &str = "config.json";

/// A model in a repository of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubModel {
    /// Owner and name.
    pub repository: String,
    /// A commit, branch or tag.
    pub revision: String,
    /// The graph's path in it.
    pub file: String,
}

/// The user's settings for a model, which override its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// How the vectors of tokens are combined.
    pub pooling: Option<Pooling>,
    /// Most tokens that it reads at once.
    pub max_tokens: Option<usize>,
    /// The prefix before a query.
    pub query_prefix: Option<String>,
    /// The prefix before a passage.
    pub passage_prefix: Option<String>,
}

impl Overrides {
    /// Whether an installed model agrees with these settings.
    pub(super) fn agrees(&self, present: &Manifest) -> bool {
        self.pooling.is_none_or(|pooling| pooling == present.pooling)
            && self.max_tokens.is_none_or(|bound| bound == present.max_tokens)
            && self.query_prefix.as_ref().is_none_or(|prefix| *prefix == present.query_prefix)
            && self.passage_prefix.as_ref().is_none_or(|prefix| *prefix == present.passage_prefix)
    }

    /// Fills unset values with the usual ones.
    pub fn or_usual(self) -> Traits {
        Traits {
            pooling: self.pooling.unwrap_or(Pooling::Mean),
            max_tokens: self.max_tokens.unwrap_or(TOKENS_USUAL),
            query_prefix: self.query_prefix.unwrap_or_default(),
            passage_prefix: self.passage_prefix.unwrap_or_default(),
        }
    }
}

/// What is known about a model before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traits {
    /// How the vectors of tokens are combined.
    pub pooling: Pooling,
    /// Most tokens that it reads at once.
    pub max_tokens: usize,
    /// The prefix before a query.
    pub query_prefix: String,
    /// The prefix before a passage.
    pub passage_prefix: String,
}

impl HubModel {
    /// Parses `OWNER/NAME` or `OWNER/NAME@REVISION`, with or without `hub:` before it.
    ///
    /// # Errors
    /// A part is missing, or has characters that addresses of files do not have.
    pub fn parse(given: &str, file: Option<&str>) -> Result<Self, ProviderError> {
        let named = given.strip_prefix(SCHEME).unwrap_or(given);
        let (repository, revision) = named.split_once('@').unwrap_or((named, REVISION));
        let model = Self {
            repository: repository.to_owned(),
            revision: revision.to_owned(),
            file: file.unwrap_or(GRAPH).to_owned(),
        };
        let is_sound = repository.matches('/').count() == 1
            && is_path(repository)
            && is_path(revision)
            && is_path(&model.file)
            && Path::new(&model.file).extension().is_some_and(|ending| ending == "onnx");
        if is_sound {
            return Ok(model);
        }
        let shown: String = given.chars().take(PART_BYTES_MAX).collect();
        Err(ProviderError::unusable(format!(
            "`{shown}` names no model of a hub: write {SCHEME}OWNER/NAME@REVISION, and with --file a path that ends with \
             .onnx"
        )))
    }

    /// Its default name here: the repository's name in lower case.
    pub fn name(&self) -> String {
        let name = self.repository.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned()
    }

    /// Whether the revision is a commit, which always has the same files.
    pub fn is_commit(&self) -> bool {
        is_commit(&self.revision)
    }
}

impl fmt::Display for HubModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}@{} {}", self.repository, self.revision, self.file)
    }
}

/// Whether a text is a commit's hash.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether every part of a path is a plain name, so that it cannot lead elsewhere in an address.
fn is_path(path: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= PART_BYTES_MAX
            && part.bytes().all(is_sign)
            && !part.starts_with('.')
    };
    path.split('/').all(is_part)
}

/// The traits of a model by its repository's own files. `read` gives the JSON of a file, or null.
///
/// # Errors
/// Neither the files nor the user say how vectors are pooled, or the method is unknown here.
pub(super) fn describe(read: impl Fn(&str) -> Value, overrides: Overrides) -> Result<Traits, ProviderError> {
    let layers = read(MODULES);
    let is_dense = |module: &Value| module["type"].as_str().is_some_and(|kind| kind.ends_with(".Dense"));
    if layers.as_array().into_iter().flatten().any(is_dense) {
        return Err(ProviderError::unusable(
            "this model has layers behind the pooling, which cannot be computed here",
        ));
    }
    let pooling = match overrides.pooling {
        Some(pooling) => pooling,
        None => pooling(&read(POOLING))?,
    };
    let bounds = [
        &read(SENTENCES)["max_seq_length"],
        &read(TOKENS)["model_max_length"],
        &read(CONFIG)["max_position_embeddings"],
    ]
    .map(Value::as_u64);
    let bound = bounds.into_iter().flatten().find_map(|bound| usize::try_from(bound).ok());
    let max_tokens = overrides.max_tokens.or(bound).unwrap_or(TOKENS_USUAL).clamp(TOKENS_MIN, TOKENS_MAX);
    let prompts = read(PROMPTS)["prompts"].take();
    let prompt = |names: &[&str]| names.iter().find_map(|name| prompts[*name].as_str()).map(str::to_owned);
    let query = || prompt(&["query", "search_query", "Retrieval-query"]);
    let passage = || prompt(&["document", "passage", "search_document", "Retrieval-document"]);
    Ok(Traits {
        pooling,
        max_tokens,
        query_prefix: overrides.query_prefix.or_else(query).unwrap_or_default(),
        passage_prefix: overrides.passage_prefix.or_else(passage).unwrap_or_default(),
    })
}

fn pooling(config: &Value) -> Result<Pooling, ProviderError> {
    let is_on = |old: &str, new: &str| config[old] == true || config["pooling_mode"] == new;
    match (is_on("pooling_mode_mean_tokens", "mean"), is_on("pooling_mode_cls_token", "cls")) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::Cls),
        _ if config.is_null() => Err(ProviderError::unusable(format!(
            "the repository has no {POOLING} that says how token vectors become one; say it with --pooling"
        ))),
        _ => Err(ProviderError::unusable(
            "this model pools by another way than the mean or the first token, which is not known here",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_leads_only_into_its_repository() {
        let model = HubModel::parse("hub:Acme/Words-v1.5@main", None).unwrap();
        assert_eq!((model.repository.as_str(), model.file.as_str()), ("Acme/Words-v1.5", GRAPH));
        assert_eq!((model.name().as_str(), model.is_commit()), ("words-v1.5", false));
        assert_eq!(HubModel::parse("acme/words", Some("model.onnx")).unwrap().revision, "main");
        for bad in [
            "", "hub:", "words", "a/b/c", "a/b@", "a/..@main", "../b", "a/b@x/../y", "a/b?x=1", "a/ b", "é/b",
        ] {
            assert!(HubModel::parse(bad, None).is_err(), "{bad}");
        }
        for bad in ["", "../model.onnx", "/model.onnx", "model.bin", "a//b.onnx", ".x/model.onnx"] {
            assert!(HubModel::parse("a/b", Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_traits_of_a_model_come_from_its_configuration() {
        let files = json!({
            POOLING: { "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false },
            SENTENCES: { "max_seq_length": 512 }, TOKENS: { "model_max_length": 1e30 },
            PROMPTS: { "prompts": { "query": "q: ", "document": "d: " } },
        });
        let read = |name: &str| files[name].clone();
        let traits = describe(read, Overrides::default()).unwrap();
        let query_prefix = "q: ".to_owned();
        let own =
            Traits { pooling: Pooling::Cls, max_tokens: 512, query_prefix, passage_prefix: "d: ".to_owned() };
        assert_eq!(traits, own);
        let overrides = Overrides {
            query_prefix: Some("ask: ".to_owned()),
            max_tokens: Some(64),
            ..Overrides::default()
        };
        let traits = describe(read, overrides).unwrap();
        assert_eq!((traits.query_prefix.as_str(), traits.max_tokens), ("ask: ", 64));
    }

    #[test]
    fn missing_and_unknown_traits_are_refused() {
        let with = |name: &str, file: Value| {
            describe(|asked| if asked == name { file.clone() } else { Value::Null }, Overrides::default())
        };
        assert!(with(TOKENS, json!({})).unwrap_err().to_string().contains("--pooling"));
        assert!(with(POOLING, json!({ "pooling_mode_max_tokens": true })).is_err());
        let layers = json!([{ "type": "sentence_transformers.models.Dense" }]);
        assert!(with(MODULES, layers).unwrap_err().to_string().contains("layers"));
        assert_eq!(with(POOLING, json!({ "pooling_mode": "mean" })).unwrap().max_tokens, TOKENS_USUAL);
    }
}
