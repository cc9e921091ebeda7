//! `cerebro model test`: tries a model with sentences, and measures how long it takes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::prelude::*;
use super::{folder, settings};
use crate::cli::table::ms;
use crate::home::Home;
use cerebro_core::redact::redact_text;
use cerebro_models::embed::{self, Embedder, Provider, Purpose};
use cerebro_models::provider::ProviderError;

/// How often a query and a passage are embedded; the median is reported.
const ROUNDS: usize = 9;
/// Test the model in use: how similar it finds sentences, and how long it takes
#[derive(Debug, Args)]
pub struct TestArgs {
    /// An installed model [default: the one in use]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Two sentences that mean the same in other words, and one that means something else.
const NEAR: [&str; 2] = [
    "The login fails because the token has expired.",
    "Users cannot sign in: their session is no longer valid.",
];
const FAR: &str = "We render the chart with twelve columns on wide screens.";

pub async fn run(context: &CommandContext, home: &Home, args: TestArgs) -> Result<()> {
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
    context.output.json(&answer)?;
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
    if !sound {
        context
            .output
            .note("sentences with the same meaning are no more similar than sentences with different meanings: is this the right model?");
    }
    done_if(sound)
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

/// How much memory this process uses, if the system says it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let fields: HashMap<&str, &str> = status.lines().filter_map(|line| line.split_once(':')).collect();
    let kilobytes: u64 = fields.get("VmRSS")?.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1_024)
}
