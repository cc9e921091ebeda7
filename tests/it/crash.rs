//! `kill -9` at random moments of a writer under load: everything acknowledged is there and complete.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{Agent, Home, Value, json, scaled, word};

const ROUNDS: usize = 50;
const CALLS_PER_ROUND: usize = 60;
const TOPICS: usize = 5;

/// What the store must contain according to its acknowledgements.
#[derive(Default)]
struct Model {
    /// Memories of their own: id to title and content.
    plain: BTreeMap<String, (String, String)>,
    /// The memory of each topic key: id, revision, content.
    topics: BTreeMap<usize, (String, u64, String)>,
}

enum Call {
    Plain { title: String, content: String },
    Topic { topic: usize, content: String },
}

impl Call {
    fn draw(rng: &mut StdRng, n: usize) -> Self {
        let content = format!(
            "Call {n} says {} and {}.",
            word(n),
            "more text ".repeat(rng.random_range(1..200)).trim()
        );
        match rng.random_range(0..4) {
            0 => Self::Topic { topic: rng.random_range(0..TOPICS), content },
            _ => Self::Plain { title: format!("Plain {n} {}", word(n)), content },
        }
    }

    fn arguments(&self) -> Value {
        match self {
            Self::Plain { title, content } => json!({"title": title, "content": content}),
            Self::Topic { topic, content } => {
                json!({"title": format!("Topic {topic}"), "content": content, "topic_key": format!("config/t{topic}")})
            }
        }
    }
}

impl Model {
    fn acknowledge(&mut self, call: &Call, reply: &Value) {
        let id = reply["id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
        match call {
            Call::Plain { title, content } => {
                self.plain.insert(id, (title.clone(), content.clone()));
            }
            Call::Topic { topic, content } => {
                let revision = reply["revision"].as_u64().unwrap_or_else(|| panic!("{reply}"));
                let before = self.topics.insert(*topic, (id.clone(), revision, content.clone()));
                if let Some((before_id, before_revision, _)) = before {
                    assert_eq!(id, before_id, "topic {topic} is held by two memories");
                    assert!(revision >= before_revision, "topic {topic} went back: {reply}");
                }
            }
        }
    }

    /// Looks at one plain memory and at every topic.
    fn assert_held(&self, agent: &mut Agent, id: &str) {
        let (title, content) = &self.plain[id];
        let whole = agent.get(id);
        assert_eq!(whole["title"], *title, "{whole:?}");
        assert_eq!(whole["content"], *content, "{whole:?}");
        assert_eq!(whole["revision"], 1, "{whole:?}");
        assert_eq!(whole.session(), "the writer", "{whole:?}");
        let found = agent.search(title);
        assert_eq!(found.first().map(String::as_str), Some(id), "{title} is not found");
    }

    fn assert_topics(&self, agent: &mut Agent) {
        for (topic, (id, revision, content)) in &self.topics {
            let whole = agent.get(id);
            assert_eq!(whole["revision"], *revision, "topic {topic}: {whole:?}");
            assert_eq!(whole["content"], *content, "topic {topic}: {whole:?}");
            assert_eq!(agent.search(&format!("config/t{topic}"))[0], *id, "topic {topic}");
        }
    }
}

/// The calls of one kill: pipelined, so that some are in flight when it comes. Calls to one topic
/// have no order while they are in flight, so each topic is called once a round.
fn round(home: &Home, agent: &mut Agent, model: &mut Model, rng: &mut StdRng, first: usize) -> Vec<String> {
    let mut topics = BTreeSet::new();
    let mut calls: Vec<Call> = (first..first + CALLS_PER_ROUND).map(|n| Call::draw(rng, n)).collect();
    calls.retain(|call| !matches!(call, Call::Topic { topic, .. } if !topics.insert(*topic)));
    let sent: Vec<u64> = calls.iter().map(|call| agent.send("mem_save", call.arguments())).collect();
    std::thread::sleep(Duration::from_millis(rng.random_range(0..120)));
    home.kill_daemon();
    let mut new = Vec::new();
    for (call, id) in calls.iter().zip(sent) {
        let mut answer = agent.answer(id);
        for _ in 0..3 {
            match &answer {
                Ok(result) if result["isError"] != true => break,
                _ => {
                    let again = agent.send("mem_save", call.arguments());
                    answer = agent.answer(again);
                }
            }
        }
        let result = answer.unwrap_or_else(|e| panic!("three retries failed: {e:?}"));
        assert_ne!(result["isError"], true, "three retries failed: {result}; log: {}", home.log_tail());
        model.acknowledge(call, &result["structuredContent"]);
        if matches!(call, Call::Plain { .. }) {
            new.push(result["structuredContent"]["id"].as_str().unwrap().to_owned());
        }
    }
    new
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let seed = std::env::var("CEREBRO_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(rand::random);
    println!("CEREBRO_TEST_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "the writer"}));
    let mut model = Model::default();
    for n in 0..scaled(ROUNDS) {
        let new = round(&home, &mut agent, &mut model, &mut rng, n * CALLS_PER_ROUND);
        for id in &new {
            model.assert_held(&mut agent, id);
        }
        model.assert_topics(&mut agent);
    }
    home.kill_daemon();
    let ids: Vec<String> = model.plain.keys().cloned().collect();
    for id in &ids {
        model.assert_held(&mut agent, id);
    }
    model.assert_topics(&mut agent);
    assert_export_is_whole(&home, &model);
}

fn assert_export_is_whole(home: &Home, model: &Model) {
    let lines = home.export();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let memories = of("memory");
    let wanted: BTreeSet<&str> = model
        .plain
        .keys()
        .map(String::as_str)
        .chain(model.topics.values().map(|(id, ..)| id.as_str()))
        .collect();
    let held: BTreeSet<&str> = memories.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(held, wanted, "memories lost or doubled by retries");
    assert_eq!(memories.len(), wanted.len(), "an id is exported twice");

    let edges = of("edge").into_iter().filter(|edge| edge["name"].as_str().is_some_and(is_created_in));
    let edges: String = edges.map(|edge| format!("{}\n{}\n", edge["from"], edge["to"])).collect();
    let events = home.events();
    assert_events_have_no_gaps(&events);
    let created = events.iter().filter(|event| event["kind"] == "memory.created");
    let created: BTreeSet<&str> = created.filter_map(|event| event["memory"].as_str()).collect();
    for id in wanted {
        assert!(edges.contains(id), "{id} has no edge to its session");
        assert!(created.contains(id), "{id} has no event");
    }
    for (id, revision, _) in model.topics.values() {
        let kept: BTreeSet<u64> = of("revision")
            .iter()
            .filter(|line| line["memory"] == **id)
            .filter_map(|line| line["revision"].as_u64())
            .collect();
        assert_eq!(kept, (1..*revision).collect(), "the revisions of {id} have gaps");
    }
}

fn is_created_in(name: &str) -> bool {
    name.eq_ignore_ascii_case("created_in")
}

/// Asserts that the `seq` of every writer's events has neither gaps nor doubles.
#[track_caller]
pub fn assert_events_have_no_gaps(events: &[Value]) {
    let mut writers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for event in events {
        let seq = event["seq"].as_u64().unwrap_or_else(|| panic!("an event without seq: {event}"));
        writers.entry(event["writer"].to_string()).or_default().push(seq);
    }
    assert!(!writers.is_empty(), "no events");
    for (writer, mut seqs) in writers {
        seqs.sort_unstable();
        let expected: Vec<u64> = (seqs[0]..).take(seqs.len()).collect();
        assert!(seqs == expected, "the events of {writer} have gaps or doubles: {seqs:?}");
        assert!(seqs[0] <= 1, "the events of {writer} begin at {}", seqs[0]);
    }
}
