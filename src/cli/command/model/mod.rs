//! `cerebro model`: installs and selects the model that turns text into vectors.
//!
//! These commands work on files of the home and open no store. A running daemon notices the change only after a
//! restart, so it is asked to end; the next call of an agent starts another.

mod compare;
mod install;
mod test;

use std::path::PathBuf;

use serde::Serialize;
use toml_edit::Value as Setting;

use self::compare::CompareArgs;
use self::install::InstallArgs;
use self::test::TestArgs;
use super::daemon;
use super::prelude::*;
use crate::config::{Config, edit};
use crate::daemon::spawn;
use crate::home::Home;
use cerebro_models::embed::{self, ModelFolder, Provider, Settings, catalogue};

/// The table of the configuration that these commands write.
const TABLE: &str = "embeddings";

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

pub async fn run(context: &CommandContext, command: ModelCommand) -> Result<()> {
    let home = context.home()?;
    if matches!(command, ModelCommand::Install(_) | ModelCommand::Test(_) | ModelCommand::Compare(_)) {
        // These run a model in this process.
        spawn::with_settings().map_err(Error::user)?;
    }
    match command {
        ModelCommand::List => list(context, &home),
        ModelCommand::Install(args) => install::run(context, &home, args).await,
        ModelCommand::Use(args) => choose(context, &home, args).await,
        ModelCommand::Remove(args) => remove(context, &home, &args).await,
        ModelCommand::Test(args) => test::run(context, &home, args).await,
        ModelCommand::Compare(args) => compare::run(context, &home, args).await,
    }
}

/// Where the models of a home are.
fn folder(home: &Home) -> ModelFolder {
    ModelFolder::new(home.models_dir(), home.runtime_dir())
}

/// A home's settings for embeddings.
fn settings(home: &Home) -> Result<Settings> {
    Ok(Config::read(&home.config_file())?.embeddings)
}

const MODELS: &[Column<ListedModel>] = &[
    ("model", Layout::Fixed, |listed| listed.model.clone()),
    ("state", Layout::Fixed, |listed| listed.state.to_owned()),
    ("dimension", Layout::Count, |listed| shown(&listed.dimension)),
    ("to fetch", Layout::Count, |listed| listed.download_bytes.map(bytes).unwrap_or_default()),
    ("about", Layout::Flexible, |listed| shown(&listed.about)),
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

fn list(context: &CommandContext, home: &Home) -> Result<()> {
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
    let answer = json!({ "models": models, "provider": settings.provider.as_str() });
    context.output.json(&answer)?;
    context.output.table(&Table::of(MODELS, &models), "no models")
}

async fn choose(context: &CommandContext, home: &Home, args: UseArgs) -> Result<()> {
    let folder = folder(home);
    let mut wanted = settings(home)?;
    match Provider::parse(&args.name) {
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
                Error::usage(format!("say which model of {}: --model NAME", provider.as_str()))
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
        "provider": wanted.provider.as_str(),
        "model": model.as_ref().map(|model| &model.name),
        "dimension": model.as_ref().map(|model| model.dimension),
    });
    context.output.json(&answer)?;
    context.output.note(&match model {
        Some(model) => format!("in use: {} ({} dimensions)", model.name, model.dimension),
        None => "no model is in use; searches go by words alone".to_owned(),
    });
    Ok(())
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
        ("provider", Some(settings.provider.as_str().into())),
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

async fn remove(context: &CommandContext, home: &Home, args: &RemoveArgs) -> Result<()> {
    let (folder, name, settings) = (folder(home), &args.name, settings(home)?);
    let used = embed::open(&settings, &folder).ok().flatten();
    let is_used = used.is_some_and(|used| used.model().name == format!("local/{name}"));
    let question = format!("{name} is the model in use; without it, searches use words alone. Remove it?");
    context.output.agree(args.yes || !is_used, &question, "nothing was removed")?;
    if !folder.remove(name)? {
        return Err(Error::user(format!("the model `{name}` is not installed")));
    }
    if settings.model == *name && matches!(settings.provider, Provider::Auto | Provider::Local) {
        write(home, &[("provider", None), ("model", None)])?;
        renew(context, home).await?;
    }
    context.output.json(&json!({ "model": name, "removed": true }))?;
    context
        .output
        .note(&format!("{name} is removed; its vectors stay until another model has embedded the memories"));
    Ok(())
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
        fits_at_three_widths(&Table::of(MODELS, &models));
    }
}
