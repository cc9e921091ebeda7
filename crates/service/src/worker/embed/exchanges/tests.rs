//! Exchanges get vectors, are found by meaning, and lose them, over a real store.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Embedding, Evidence, EvidenceRequest, Forget, Service, Settings,
    history::tests::{batch, exchange, session},
    use_cases::{save, until, with_vectors},
};
use cerebro_core::domain::{ExchangeId, Run, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_models::embed::{Answer, Embedded, Embedder, Model, Purpose};
use cerebro_store::{ModelState, StoredModel};

/// A model that knows that sparrows are birds and cargo is freight, and notes what it was given.
struct Thesaurus {
    model: Model,
    is_in_process: bool,
    read: Arc<Mutex<Vec<String>>>,
}

impl Embedder for Thesaurus {
    fn model(&self) -> &Model {
        &self.model
    }

    fn batch_max(&self) -> usize {
        1
    }

    fn is_metered(&self) -> bool {
        false
    }

    fn is_in_process(&self) -> bool {
        self.is_in_process
    }

    fn embed(&self, purpose: Purpose, texts: Vec<RedactedText>) -> Answer<'_> {
        let vector = |text: &RedactedText| {
            let is = |words: [&str; 2]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
            vec![is(["sparrow", "bird"]), is(["cargo", "freight"]), 0.1]
        };
        if purpose == Purpose::Passage {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.extend(texts.iter().map(ToString::to_string));
        }
        let vectors = texts.iter().map(vector).collect();
        Box::pin(std::future::ready(Ok(Embedded { vectors, tokens: 0 })))
    }
}

const MODEL: &str = "test/thesaurus";

fn stored() -> StoredModel {
    StoredModel::new(MODEL, 3, ModelState::Active)
}

/// Runs a test with such a model, and what it read.
fn with_thesaurus(is_in_process: bool, test: impl AsyncFnOnce(Service, Arc<Mutex<Vec<String>>>)) {
    let read: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&read);
    let open = move |_: Option<&str>| {
        let model = Model { name: MODEL.to_owned(), dimension: 3, passage_words: 40 };
        let embedder: Arc<dyn Embedder> =
            Arc::new(Thesaurus { model, is_in_process, read: Arc::clone(&seen) });
        Ok(Some(embedder))
    };
    let embedding = Embedding { open: Arc::new(open), ..Embedding::none() };
    with_vectors(Settings::default(), embedding, Timestamp::now, async |service| test(service, read).await);
}

async fn vectors(service: &Service) -> Vec<ExchangeId> {
    let page = service.base.store.exchange_vectors().page(&stored(), None, 100).await.unwrap();
    page.into_iter().map(|(id, _)| id).collect()
}

/// Waits until so many exchanges have vectors.
async fn counted(service: &Service, wanted: usize) -> Vec<ExchangeId> {
    until("their vectors", async || vectors(service).await.len() == wanted).await;
    vectors(service).await
}

/// The ids of what means the same as a question, best first.
async fn found(service: &Service, query: &str) -> Vec<ExchangeId> {
    let request = EvidenceRequest {
        query: query.to_owned(),
        project: None,
        hidden: false,
        reader: None,
        since: None,
        until: None,
        limit: 10,
        offset: 0,
    };
    let found = service.recall.search_evidence(Evidence::History, &request).await.unwrap().unwrap();
    found
        .hits
        .iter()
        .filter(|hit| hit.similarity.is_some_and(|near| near > 0.5))
        .map(|hit| hit.id.into())
        .collect()
}

fn id(name: &str, seq: u32) -> ExchangeId {
    ExchangeId::of("claude-code", &session(name), seq)
}

#[test]
fn what_means_the_same_is_found_and_what_was_forgotten_has_no_vector() {
    with_thesaurus(true, async |service, _| {
        let exchanges = vec![
            exchange(0, "The sparrow fell off the wire", "I put it back"),
            exchange(1, "The cargo is late", "It waits at the border"),
        ];
        service.history.commit(batch("s1", exchanges)).await.unwrap();
        counted(&service, 2).await;
        // On a busy machine, the model may answer too late for the first search.
        for (query, seq) in [("freight", 1), ("bird", 0)] {
            until(query, async || found(&service, query).await == [id("s1", seq)]).await;
        }

        // Its text changes, and its vector with it.
        let exchanges = vec![exchange(0, "The bolt fell off the wire", "I put it back")];
        service.history.commit(batch("s1", exchanges)).await.unwrap();
        until("the vector of the earlier text to go", async || found(&service, "bird").await.is_empty())
            .await;

        let one = Forget { text: Some("border".to_owned()), ..Forget::default() };
        service.history.forget(&one, Run::Real).await.unwrap();
        assert!(!vectors(&service).await.contains(&id("s1", 1)), "it goes in the same commit");
        assert_eq!(found(&service, "freight").await, []);
    });
}

#[test]
fn only_sessions_with_a_person_are_read_and_only_by_a_model_in_this_process() {
    with_thesaurus(true, async |service, read| {
        let mut automated = batch("robot", vec![exchange(0, "The nightly sparrow", "done")]);
        automated.session.automated = true;
        service.history.commit(automated).await.unwrap();
        service
            .history
            .commit(batch("s1", vec![exchange(0, "The cargo is late", "so it is")]))
            .await
            .unwrap();
        assert_eq!(counted(&service, 1).await, [id("s1", 0)]);
        let read = read.lock().unwrap().clone();
        assert!(read.len() == 1 && read[0].contains("cargo"), "{read:?}");
    });
    with_thesaurus(false, async |service, read| {
        service
            .history
            .commit(batch("s1", vec![exchange(0, "The cargo is late", "so it is")]))
            .await
            .unwrap();
        // A memory's vectors show that the worker looked.
        save(&service, "A note on freight").await;
        until("the worker to rest", async || {
            let report = service.worker.report();
            report.done > 0 && report.state.name() == "idle"
        })
        .await;
        let read = read.lock().unwrap().clone();
        assert!(read.iter().all(|text| !text.contains("cargo")), "{read:?}");
        assert_eq!(found(&service, "freight").await, []);
    });
}

#[test]
fn a_text_that_was_given_to_the_model_thrice_is_left_alone_and_the_oldest_go_first() {
    with_thesaurus(false, async |service, _| {
        let exchanges = (0..3).map(|seq| exchange(seq, &format!("prompt {seq}"), "reply")).collect();
        service.history.commit(batch("s1", exchanges)).await.unwrap();
        let store = &service.base.store;
        let exchanges = store.exchanges().since(&session("s1"), 0, 10).await.unwrap();
        let ids: Vec<ExchangeId> = exchanges.iter().map(|exchange| exchange.id).collect();
        for attempt in 1..=3 {
            assert!(
                store.exchange_vectors().embedded(&stored(), &ids).await.unwrap().is_empty(),
                "{attempt}"
            );
            assert!(store.exchange_vectors().begin(&stored(), &exchanges[0]).await.unwrap());
        }
        assert_eq!(
            store.exchange_vectors().embedded(&stored(), &ids).await.unwrap(),
            HashSet::from([ids[0]])
        );
        let other = StoredModel::new("test/other", 3, ModelState::Active);
        assert!(
            store.exchange_vectors().embedded(&other, &ids).await.unwrap().is_empty(),
            "another model may read it"
        );

        for exchange in &exchanges[1..] {
            assert!(store.exchange_vectors().begin(&stored(), exchange).await.unwrap());
            assert!(store.exchange_vectors().put(&stored(), exchange, &[1.0, 0.0, 0.0]).await.unwrap());
        }
        assert_eq!(store.exchange_vectors().trim(3).await.unwrap(), 0);
        assert_eq!(store.exchange_vectors().trim(1).await.unwrap(), 2);
        assert_eq!(vectors(&service).await, [ids[2]]);
        let mut changed = exchanges[2].clone();
        changed.digest = "another".to_owned();
        assert!(!store.exchange_vectors().put(&stored(), &changed, &[1.0, 0.0, 0.0]).await.unwrap());
        assert!(!store.exchange_vectors().begin(&stored(), &changed).await.unwrap());
    });
}
