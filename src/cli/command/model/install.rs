//! `cerebro model install`: fetches a model, or takes it from a folder, and tries it.

use std::path::PathBuf;

use indicatif::ProgressBar;

use super::super::prelude::*;
use super::{folder, renew, settings, write};
use crate::home::Home;
use cerebro_models::embed::hub::{HubModel, Overrides, SCHEME};
use cerebro_models::embed::install::{self, Found, Installer};
use cerebro_models::embed::{Addresses, HUB, INDEX, Pooling, Provider, catalogue};

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

/// What to do if a model cannot be fetched.
const OFFLINE: &str = "with `--from DIR`, the model's files are taken from a folder, without a network";

pub async fn run(context: &CommandContext, home: &Home, args: InstallArgs) -> Result<()> {
    let folder = folder(home);
    let installer = Installer { folder: &folder, library: args.runtime_from.as_deref() };
    warn_of_native_code(context, &args);
    let manifest = match (&args.from, wanted_of_hub(&args)?) {
        (Some(dir), _) => installer.from_folder(&args.name, dir, args.description.overrides().or_usual())?,
        (None, Some((name, wanted, overrides))) => {
            let progress = context.output.progress(None, "{msg} {bytes}, {bytes_per_sec}");
            let mut watch = |name: &str, count: u64| advance(&progress, name, count);
            let done = installer.from_hub(&name, &wanted, overrides, args.addresses(), &mut watch).await;
            progress.finish_and_clear();
            done.map_err(|fault| Error::from(fault).hint(OFFLINE))?
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
            let done = installer.from_network(listing, args.addresses(), &mut watch).await;
            progress.finish_and_clear();
            done.map_err(|fault| Error::from(fault).hint(OFFLINE))?
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
    context.output.json(&answer)?;
    let next =
        if first { "in use".to_owned() } else { format!("`cerebro model use {}` uses it", manifest.name) };
    context.output.note(&format!("{} is installed and works; {next}", manifest.name));
    Ok(())
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
        // ONNX Runtime is fetched too if it is missing.
        progress.set_length(progress.position());
    }
}
