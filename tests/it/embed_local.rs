//! The real model on this machine, in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cerebro_core::redact::redact_text;
use cerebro_models::embed::{self, Embedder, Provider, Purpose, Settings};

use crate::support::model_folder;

fn model() -> Arc<dyn Embedder> {
    let settings =
        Settings { provider: Provider::Local, model: "all-minilm-l6-v2".to_owned(), ..Settings::default() };
    embed::open(&settings, &model_folder()).unwrap().unwrap()
}

async fn passages(model: &Arc<dyn Embedder>, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts = texts.iter().map(|text| redact_text(text).value).collect();
    let made = model.embed(Purpose::Passage, texts).await.unwrap();
    assert_eq!(made.tokens, 0, "nobody counts here");
    made.vectors
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn meaning_decides_and_neighbours_do_not() {
    let model = model();
    assert_eq!((model.model().name.as_str(), model.model().dimension), ("local/all-minilm-l6-v2", 384));
    let texts = [
        "The login fails because the token has expired.",
        "Users cannot sign in: their session is no longer valid.",
        "We render the chart with twelve columns on wide screens.",
    ];
    let together = passages(&model, &texts).await;
    for (text, vector) in texts.iter().zip(&together) {
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5, "not of unit length: {text}");
        assert_eq!(passages(&model, &[text]).await, [vector.clone()], "its neighbours changed: {text}");
    }
    let (near, far) = (cosine(&together[0], &together[1]), cosine(&together[0], &together[2]));
    assert!(near > 0.4 && far < 0.25, "near {near}, far {far}");
    assert!(model.embed(Purpose::Passage, Vec::new()).await.unwrap().vectors.is_empty());
}

/// Compared with vectors that Python's `onnxruntime` 1.31.1 computed with the distributed model, in floats.
#[tokio::test]
async fn integer_weights_give_nearly_the_vectors_of_floats() {
    let wanted = include_str!("../golden/vectors.json");
    let wanted: BTreeMap<String, Vec<f32>> = serde_json::from_str(wanted).unwrap();
    let model = model();
    for (text, floats) in wanted {
        let likeness = cosine(&passages(&model, &[&text]).await[0], &floats);
        assert!(likeness > 0.985, "{likeness} for {text}");
        assert!(likeness < 0.9995, "{likeness} for {text}: the weights became floats");
    }
}

#[tokio::test]
async fn the_end_of_a_long_text_counts() {
    let model = model();
    let start = "The build of the parser takes long on the small machine. ".repeat(60);
    let ends = ["A gannet dives from thirty metres.", "Interest rates fell again in March."];
    let texts = ends.map(|end| format!("{start}{}", format!("{end} ").repeat(40)));
    let made = passages(&model, &[&texts[0], &texts[1], &start, ends[0], ends[1]]).await;
    assert!(cosine(&made[0], &made[1]) < 0.95, "the texts differ only far behind the model's bound");
    for (text, end) in [(0, 3), (1, 4)] {
        let gain = cosine(&made[text], &made[end]) - cosine(&made[2], &made[end]);
        assert!(gain > 0.2, "text {text} comes {gain} nearer to its own end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_is_served_before_passages() {
    let model = model();
    let long = "We moved the retry of the upload into the queue because two workers raced. ".repeat(12);
    passages(&model, &[&long]).await;
    let begun = Instant::now();
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let (model, texts) = (Arc::clone(&model), vec![redact_text(&long).value; 12]);
            tokio::spawn(async move {
                model.embed(Purpose::Passage, texts).await.unwrap();
                Instant::now()
            })
        })
        .collect();
    tokio::task::yield_now().await;
    let mut answered = Vec::new();
    for _ in 0..4 {
        model.embed(Purpose::Query, vec![redact_text("why do we retry").value]).await.unwrap();
        answered.push(Instant::now());
    }
    for task in busy {
        let done = task.await.unwrap();
        assert!(
            answered[3] < done,
            "queries {:?}, passages {:?} after the start",
            answered[3] - begun,
            done - begun
        );
    }
}

#[tokio::test]
async fn an_unloaded_model_is_loaded_again() {
    let model = model();
    let before = passages(&model, &["The gannet dives."]).await;
    model.rest();
    assert_eq!(passages(&model, &["The gannet dives."]).await, before);
    model.rest();
    model.rest();
}
