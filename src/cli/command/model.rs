//! `cerebro model`: installs and selects the model that turns text into vectors.
//!
//! These commands work on files of the home and open no store. A running daemon notices the change only after a
//! restart, so it is asked to end; the next call of an agent starts another.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;
use toml_edit::Value as Setting;

use super::compare::{self, CompareArgs};
use super::{CommandContext, Outcome, daemon};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, bytes, ms, shown};
use crate::config::{Config, edit};
use crate::daemon::spawn;
use crate::home::Home;
use cerebro_core::redact::redact_text;
use cerebro_models::embed::hub::{HubModel, Overrides, SCHEME};
use cerebro_models::embed::install::{self, Found};
use cerebro_models::embed::{
    self, Addresses, Embedder, HUB, INDEX, ModelFolder, Pooling, Provider, Purpose, Settings, catalogue,
};
use cerebro_models::provider::ProviderError;

/// The table of the configuration that these commands write.
const TABLE: &str = "embeddings";
/// Rounds of `test`; the median is reported.
const ROUNDS: usize = 9;

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Show the installed and the available models
    List,
    Install(InstallArgs),
    Use(UseArgs),
    Remove(RemoveArgs),
    Test(TestArgs),
    Compare(CompareArgs),
}

/// Install a model on this machine, with ONNX Runtime, which runs it
///
/// Fetches what is missing from the network and checks it, or takes the model from a folder, and tries the model before
/// it installs it. The first model that is installed is used from then on. A model of a hub is described by its own
/// configuration, and pinned by commit and hash.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A model that `cerebro model list` names, or hub:OWNER/NAME@REVISION; with --from, any name
    #[arg(value_name = "NAME")]
    name: String,
    /// With hub:…: the path of the ONNX graph in the repository [default: onnx/model.onnx]
    #[arg(long, value_name = "PATH", conflicts_with = "from")]
    file: Option<String>,
    /// With hub:…: the name of the model here [default: the repository's name]
    #[arg(long = "as", value_name = "NAME", conflicts_with = "from")]
    own_name: Option<String>,
    /// Take model.onnx and tokenizer.json from this folder; libonnxruntime only if it is the one Cerebro knows
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Run models with this libonnxruntime. It is native code: this command and the daemon load it unchecked, with all
    /// your rights
    #[arg(long, value_name = "FILE")]
    runtime_from: Option<PathBuf>,
    /// Fetch from this Python package index
    #[arg(long, value_name = "URL", env = "PIP_INDEX_URL", hide_env_values = true, default_value = INDEX)]
    index: String,
    /// Fetch from this Hugging Face hub
    #[arg(long, value_name = "URL", env = "HF_ENDPOINT", hide_env_values = true, default_value = HUB)]
    hub: String,
    #[command(flatten)]
    description: DescriptionArgs,
}

/// A person's description of a model that is not in the catalogue.
#[derive(Debug, Args)]
struct DescriptionArgs {
    /// With --from or hub:…: how token vectors become one vector [default: mean, or as the hub says]
    #[arg(long, value_name = "HOW")]
    pooling: Option<PoolingArg>,
    /// With --from or hub:…: the number of tokens that the model reads at most [default: 256, or as the hub says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(32..=65_536))]
    max_tokens: Option<u32>,
    /// With --from or hub:…: the text to put before a query
    #[arg(long, value_name = "TEXT")]
    query_prefix: Option<String>,
    /// With --from or hub:…: the text to put before a memory
    #[arg(long, value_name = "TEXT")]
    passage_prefix: Option<String>,
}

impl DescriptionArgs {
    fn overrides(&self) -> Overrides {
        Overrides {
            pooling: self.pooling.map(|how| match how {
                PoolingArg::Mean => Pooling::Mean,
                PoolingArg::Cls => Pooling::Cls,
            }),
            max_tokens: self.max_tokens.map(|bound| bound as usize),
            query_prefix: self.query_prefix.clone(),
            passage_prefix: self.passage_prefix.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PoolingArg {
    Mean,
    Cls,
}

/// Choose the model that turns text into vectors
///
/// Writes the choice into config.toml and leaves the rest of the file as it is. For `openai` and `ollama` the command
/// asks the server once, so that you notice a wrong key or name now.
#[derive(Debug, Args)]
pub struct UseArgs {
    /// An installed model, or one of: auto, openai (and compatible servers), ollama, none
    #[arg(value_name = "NAME")]
    name: String,
    /// The name of the model at openai or ollama
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The address of openai or ollama
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The environment variable with the key [default: OPENAI_API_KEY, for OpenAI's own address only]
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// A file with the key, which only you can read
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// The text to put before a query
    #[arg(long, value_name = "TEXT")]
    query_prefix: Option<String>,
    /// The text to put before a memory
    #[arg(long, value_name = "TEXT")]
    passage_prefix: Option<String>,
}

/// Remove an installed model
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The model's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Do not ask first if it is the model in use
    #[arg(long)]
    yes: bool,
}

/// Test the model in use: how similar it finds sentences, and how long it takes
#[derive(Debug, Args)]
pub struct TestArgs {
    /// An installed model [default: the one in use]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub async fn run(context: &CommandContext, command: ModelCommand) -> Result<Outcome> {
    let home = context.home()?;
    if matches!(command, ModelCommand::Install(_) | ModelCommand::Test(_) | ModelCommand::Compare(_)) {
        // These run a model in this process.
        spawn::with_settings().map_err(Error::user)?;
    }
    match command {
        ModelCommand::List => list(context, &home),
        ModelCommand::Install(args) => install(context, &home, args).await,
        ModelCommand::Use(args) => choose(context, &home, args).await,
        ModelCommand::Remove(args) => remove(context, &home, &args).await,
        ModelCommand::Test(args) => test(context, &home, args).await,
        ModelCommand::Compare(args) => compare::run(context, &home, args).await,
    }
}

/// Where the models of a home are.
pub fn folder(home: &Home) -> ModelFolder {
    ModelFolder::new(home.models_dir(), home.runtime_dir())
}

/// A home's settings for embeddings.
pub fn settings(home: &Home) -> Result<Settings> {
    Ok(Config::read(&home.config_file())?.embeddings)
}

const MODELS: &[(&str, Layout)] = &[
    ("model", Layout::Fixed),
    ("state", Layout::Fixed),
    ("dimension", Layout::Count),
    ("to fetch", Layout::Count),
    ("about", Layout::Flexible),
];

/// A model in the list.
#[derive(Debug, Serialize)]
struct ListedModel {
    model: String,
    /// `in use`, `installed` or `available`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    download_bytes: Option<u64>,
    about: Option<String>,
}

fn model_table(models: &[ListedModel]) -> Table {
    Table::listing(MODELS, models, |listed| {
        vec![
            listed.model.clone(),
            listed.state.to_owned(),
            shown(&listed.dimension),
            listed.download_bytes.map(bytes).unwrap_or_default(),
            shown(&listed.about),
        ]
    })
}

fn list(context: &CommandContext, home: &Home) -> Result<Outcome> {
    let folder = folder(home);
    let settings = settings(home)?;
    // A wrong setting is reported by the commands that use it; the list is correct without it.
    let used = embed::open(&settings, &folder).ok().flatten().map(|it| it.model().name.clone());
    let mut models: Vec<ListedModel> = Vec::new();
    for name in folder.names()? {
        let (dimension, fault) = match folder.manifest(&name) {
            Ok(manifest) => (manifest.dimension, None),
            Err(error) => (0, Some(error.to_string())),
        };
        let state = if used.as_ref() == Some(&format!("local/{name}")) { "in use" } else { "installed" };
        let about = fault.or_else(|| {
            catalogue::model(&name)
                .map(|known| known.about)
                .or_else(|| catalogue::of_hub(&name).map(|known| known.about))
                .map(str::to_owned)
        });
        models.push(ListedModel {
            model: name,
            state,
            dimension: Some(dimension),
            download_bytes: None,
            about,
        });
    }
    if let Some(model) = used.filter(|name| !name.starts_with("local/")) {
        let about = Some(settings.base_url.clone());
        models.push(ListedModel { model, state: "in use", dimension: None, download_bytes: None, about });
    }
    let pinned = catalogue::MODELS.iter();
    let pinned = pinned.map(|known| (known.name, known.dimension, known.download_bytes(), known.about));
    let of_hubs = catalogue::OF_HUBS.iter();
    let of_hubs = of_hubs.map(|known| (known.name, known.dimension, known.bytes, known.about));
    for (name, dimension, download_bytes, about) in pinned.chain(of_hubs) {
        if !models.iter().any(|listed| listed.model == name) {
            models.push(ListedModel {
                model: name.to_owned(),
                state: "available",
                dimension: Some(dimension),
                download_bytes: Some(download_bytes),
                about: Some(about.to_owned()),
            });
        }
    }
    let answer = json!({ "models": models, "provider": settings.provider.name() });
    if !context.output.json(&answer)? {
        context.output.table(&model_table(&models), "no models")?;
    }
    Ok(Outcome::Done)
}

async fn install(context: &CommandContext, home: &Home, args: InstallArgs) -> Result<Outcome> {
    let folder = folder(home);
    let library = args.runtime_from.as_deref();
    warn_of_native_code(context, &args);
    let manifest = match (&args.from, wanted_of_hub(&args)?) {
        (Some(dir), _) => {
            install::from_folder(&folder, &args.name, dir, args.description.overrides().or_usual(), library)?
        }
        (None, Some((name, wanted, overrides))) => {
            let progress = context.output.progress(None, "{msg} {bytes}, {bytes_per_sec}");
            let mut watch = |name: &str, count: u64| advance(&progress, name, count);
            let done = install::from_hub(
                &folder,
                &name,
                &wanted,
                overrides,
                (args.addresses(), library),
                &mut watch,
            )
            .await;
            progress.finish_and_clear();
            done?
        }
        (None, None) => {
            let listing = catalogue::model(&args.name).ok_or_else(|| unknown(&args.name))?;
            if args.description.overrides() != Overrides::default()
                || args.file.is_some()
                || args.own_name.is_some()
            {
                return Err(Error::usage(format!(
                    "{} is in the catalogue, which describes it: leave the other options out",
                    listing.name
                )));
            }
            let progress = context.output.progress(
                Some(listing.download_bytes()),
                "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}",
            );
            let mut watch = |name: &str, count: u64| advance(&progress, name, count);
            let done = install::from_network(&folder, listing, args.addresses(), library, &mut watch).await;
            progress.finish_and_clear();
            done?
        }
    };
    let mut chosen = settings(home)?;
    let first = chosen.model.is_empty() && chosen.provider == Provider::Auto;
    if first {
        chosen.model.clone_from(&manifest.name);
        write(home, &[("model", Some(manifest.name.clone().into()))])?;
        renew(context, home).await?;
    }
    let answer = json!({ "model": manifest.name, "dimension": manifest.dimension, "in_use": first });
    if !context.output.json(&answer)? {
        let next = if first {
            "in use".to_owned()
        } else {
            format!("`cerebro model use {}` uses it", manifest.name)
        };
        context.output.note(&format!("{} is installed and works; {next}", manifest.name));
    }
    Ok(Outcome::Done)
}

impl InstallArgs {
    fn addresses(&self) -> Addresses {
        Addresses { index: self.index.clone(), hub: self.hub.clone() }
    }
}

/// The requested model of a hub, its local name and the given overrides; `None` for another kind of model.
fn wanted_of_hub(args: &InstallArgs) -> Result<Option<(String, HubModel, Overrides)>> {
    let overrides = args.description.overrides();
    if args.name.starts_with(SCHEME) {
        let wanted = HubModel::parse(&args.name, args.file.as_deref())?;
        return Ok(Some((args.own_name.clone().unwrap_or_else(|| wanted.name()), wanted, overrides)));
    }
    let Some(known) = catalogue::of_hub(&args.name) else { return Ok(None) };
    let wanted = HubModel::parse(known.repository, Some(args.file.as_deref().unwrap_or(known.file)))?;
    let overrides = Overrides {
        query_prefix: overrides.query_prefix.or_else(|| Some(known.query_prefix.to_owned())),
        passage_prefix: overrides.passage_prefix.or_else(|| Some(known.passage_prefix.to_owned())),
        ..overrides
    };
    Ok(Some((args.own_name.clone().unwrap_or_else(|| known.name.to_owned()), wanted, overrides)))
}

/// Warns about a runtime library that is loaded without a check, and about one that is present but not loaded.
fn warn_of_native_code(context: &CommandContext, args: &InstallArgs) {
    if let Some(library) = &args.runtime_from {
        context.output.warn(&format!(
            "{} is native code that Cerebro cannot check: it is loaded now, and from now on by the daemon, with all \
             your rights",
            library.display()
        ));
    } else if let Some(Found::Foreign(library)) = args.from.as_deref().map(install::find_library) {
        context.output.warn(&format!(
            "{} is not the ONNX Runtime that Cerebro knows and was left alone; if you trust it, name it with \
             --runtime-from",
            library.display()
        ));
    }
}

fn unknown(name: &str) -> Error {
    let pinned = catalogue::MODELS.iter().map(|listing| listing.name);
    let known: Vec<&str> = pinned.chain(catalogue::OF_HUBS.iter().map(|listing| listing.name)).collect();
    let name: String = name.chars().take(80).collect();
    Error::user(format!("`{name}` is not a known model; known are {}", known.join(", ")))
        .hint("any other can be installed as hub:OWNER/NAME@REVISION, or from its files with --from DIR")
}

fn advance(progress: &ProgressBar, name: &str, count: u64) {
    if progress.message() != name {
        progress.set_message(name.to_owned());
    }
    progress.inc(count);
    if progress.length().is_some_and(|length| length < progress.position()) {
        // ONNX Runtime is fetched too where it is missing.
        progress.set_length(progress.position());
    }
}

async fn choose(context: &CommandContext, home: &Home, args: UseArgs) -> Result<Outcome> {
    let folder = folder(home);
    let mut wanted = settings(home)?;
    match Provider::named(&args.name) {
        Some(Provider::Local) | None => {
            wanted.provider = Provider::Local;
            wanted.model = if args.name == "local" { String::new() } else { args.name.clone() };
        }
        Some(provider @ (Provider::Auto | Provider::None)) => {
            wanted.provider = provider;
            wanted.model = String::new();
        }
        Some(provider @ (Provider::OpenAi | Provider::Ollama)) => {
            let model =
                args.model.clone().or_else(|| (wanted.provider == provider).then(|| wanted.model.clone()));
            wanted.provider = provider;
            wanted.model = model.filter(|model| !model.is_empty()).ok_or_else(|| {
                Error::usage(format!("say which model of {}: --model NAME", provider.name()))
            })?;
            // The dimension of another model does not apply.
            wanted.dimension = 0;
        }
    }
    args.apply(&mut wanted);
    if matches!(wanted.provider, Provider::OpenAi | Provider::Ollama) {
        wanted.dimension = embed::probe(&wanted).await?;
    }
    let opened = embed::open(&wanted, &folder)?;
    write(home, &keys(&wanted, &args))?;
    renew(context, home).await?;
    let model = opened.map(|it| it.model().clone());
    let answer = json!({
        "provider": wanted.provider.name(),
        "model": model.as_ref().map(|model| &model.name),
        "dimension": model.as_ref().map(|model| model.dimension),
    });
    if !context.output.json(&answer)? {
        context.output.note(&match model {
            Some(model) => format!("in use: {} ({} dimensions)", model.name, model.dimension),
            None => "no model is in use; searches go by words alone".to_owned(),
        });
    }
    Ok(Outcome::Done)
}

impl UseArgs {
    fn apply(&self, settings: &mut Settings) {
        let put = |to: &mut String, from: &Option<String>| {
            if let Some(from) = from {
                to.clone_from(from);
            }
        };
        put(&mut settings.base_url, &self.base_url);
        put(&mut settings.api_key_env, &self.api_key_env);
        put(&mut settings.query_prefix, &self.query_prefix);
        put(&mut settings.passage_prefix, &self.passage_prefix);
        if self.api_key_file.is_some() {
            settings.api_key_file.clone_from(&self.api_key_file);
        }
    }
}

/// The settings that a choice sets or removes.
fn keys(settings: &Settings, args: &UseArgs) -> Vec<(&'static str, Option<Setting>)> {
    let text = |text: &str| (!text.is_empty()).then(|| Setting::from(text));
    let dimension = i64::try_from(settings.dimension).ok().filter(|it| *it > 0).map(Setting::from);
    let mut keys = vec![
        ("provider", Some(settings.provider.name().into())),
        ("model", text(&settings.model)),
        ("dimension", dimension),
    ];
    let mut given = |key, value: &Option<String>| {
        if let Some(value) = value {
            keys.push((key, text(value)));
        }
    };
    given("base_url", &args.base_url);
    given("api_key_env", &args.api_key_env);
    given("query_prefix", &args.query_prefix);
    given("passage_prefix", &args.passage_prefix);
    given("api_key_file", &args.api_key_file.as_ref().map(|path| path.display().to_string()));
    keys
}

async fn remove(context: &CommandContext, home: &Home, args: &RemoveArgs) -> Result<Outcome> {
    let (folder, name, settings) = (folder(home), &args.name, settings(home)?);
    let used = embed::open(&settings, &folder).ok().flatten();
    let is_used = used.is_some_and(|used| used.model().name == format!("local/{name}"));
    let question = format!("{name} is the model in use; without it, searches go by words alone. Remove it?");
    if is_used && !args.yes && !context.output.confirm(&question)? {
        context.output.note("nothing was removed");
        return Ok(Outcome::Short);
    }
    if !folder.remove(name)? {
        return Err(Error::user(format!("the model `{name}` is not installed")));
    }
    if settings.model == *name && matches!(settings.provider, Provider::Auto | Provider::Local) {
        write(home, &[("provider", None), ("model", None)])?;
        renew(context, home).await?;
    }
    if !context.output.json(&json!({ "model": name, "removed": true }))? {
        context.output.note(&format!(
            "{name} is removed; its vectors stay until another model has embedded the memories"
        ));
    }
    Ok(Outcome::Done)
}

fn write(home: &Home, keys: &[(&str, Option<Setting>)]) -> Result<()> {
    Ok(edit::set(&home.config_file(), TABLE, keys)?)
}

/// Ends a running daemon, so that the next one reads the new settings.
async fn renew(context: &CommandContext, home: &Home) -> Result<()> {
    if daemon::dismiss(home).await?.is_some() {
        context.output.note("the daemon has stopped; the next call starts one with the new settings");
    }
    Ok(())
}

/// Two sentences that mean the same in other words, and one that means something else.
const NEAR: [&str; 2] = [
    "The login fails because the token has expired.",
    "Users cannot sign in: their session is no longer valid.",
];
const FAR: &str = "We render the chart with twelve columns on wide screens.";

async fn test(context: &CommandContext, home: &Home, args: TestArgs) -> Result<Outcome> {
    let mut settings = settings(home)?;
    if let Some(name) = args.name {
        (settings.provider, settings.model) = (Provider::Local, name);
    }
    let embedder = embed::open(&settings, &folder(home))?
        .ok_or_else(|| Error::user("no model is in use").hint("`cerebro model list` shows the models"))?;
    let before = resident_bytes();
    let begun = Instant::now();
    let texts = [NEAR[0], NEAR[1], FAR].map(|text| redact_text(text).value).to_vec();
    let made = embedder.embed(Purpose::Passage, texts).await?;
    let load = begun.elapsed();
    let grown = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    let [a, b, c] = made.vectors.as_slice() else {
        return Err(Error::internal("the provider returned another number of vectors than there were texts"));
    };
    let (near, far) = (cosine(a, b), cosine(a, c));
    // A metered provider is not asked more often than needed.
    let rounds = if embedder.is_metered() { 1 } else { ROUNDS };
    let query = typical(&embedder, Purpose::Query, "why does the login fail after a day", rounds).await?;
    let passage = typical(&embedder, Purpose::Passage, &long_passage(), rounds).await?;
    let model = embedder.model();
    let answer = json!({
        "model": model.name, "dimension": model.dimension, "near": near, "far": far,
        "first_ms": ms(load), "query_ms": ms(query), "passage_ms": ms(passage), "memory_bytes": grown,
    });
    let sound = near > far;
    if !context.output.json(&answer)? {
        context.output.facts(&[
            ("model", model.name.clone()),
            ("dimension", model.dimension.to_string()),
            ("near sentences", format!("{near:.3}")),
            ("far sentences", format!("{far:.3}")),
            ("first answer", format!("{} ms, loading included", ms(load))),
            ("a query", format!("{} ms", ms(query))),
            ("160 words", format!("{} ms", ms(passage))),
            ("memory taken", grown.map(bytes).unwrap_or_default()),
        ])?;
    }
    if !sound {
        context
            .output
            .note("sentences with the same meaning are no more similar than sentences with different meanings: is this the right model?");
    }
    Ok(if sound { Outcome::Done } else { Outcome::Short })
}

/// The middle one of some times.
async fn typical(
    embedder: &Arc<dyn Embedder>,
    purpose: Purpose,
    text: &str,
    rounds: usize,
) -> std::result::Result<Duration, ProviderError> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        embedder.embed(purpose, vec![redact_text(text).value]).await?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times.get(rounds / 2).copied().unwrap_or_default())
}

/// A text of 160 words.
fn long_passage() -> String {
    let sentence = "We moved the retry of the upload into the queue because two workers raced for the same file and \
                    one of them lost";
    sentence.split(' ').cycle().take(160).collect::<Vec<_>>().join(" ")
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    (sum * 1_000.0).round() / 1_000.0
}

/// What this process holds in memory, where the system says it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let fields: HashMap<&str, &str> = status.lines().filter_map(|line| line.split_once(':')).collect();
    let kilobytes: u64 = fields.get("VmRSS")?.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::super::list::tests::fits_at_three_widths;
    use super::*;

    #[test]
    fn models_are_readable_at_three_widths() {
        let model = |name: &str, state, download_bytes, about: &str| ListedModel {
            model: name.to_owned(),
            state,
            dimension: Some(384),
            download_bytes,
            about: Some(about.to_owned()),
        };
        let models = [
            model("multilingual-e5-small", "in use", None, "A hundred languages, small: a good first choice"),
            model("bge-small-en-v1.5", "available", Some(134_000_000), "English alone, quick on a processor"),
            model("jina-embeddings-v2-base-code", "available", Some(642_000_000), "Code and English"),
        ];
        fits_at_three_widths(&model_table(&models));
    }
}
