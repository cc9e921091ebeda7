//! Which memories a model is shown together, and which answers pass the check.

use super::*;
use crate::domain::{Body, Flag, Scope};
use crate::redact::redact_text;

fn text(text: &str) -> RedactedText {
    RedactedText::derived(text)
}

fn memory(title: &str, content: &str) -> Memory {
    let body = Body { title: text(title), content: text(content), ..Body::sample() };
    Memory { body, ..Memory::sample() }
}

fn notes() -> Vec<Memory> {
    vec![
        memory(
            "Upload to Kestrel fails",
            "The part is lost when `src/net/retry.rs` waits 30 seconds. Kestrel closes it.",
        ),
        memory("Import stops", "Kestrel closed the connection after 30 seconds, in src/net/retry.rs."),
        memory("Nightly export", "Kestrel needs a heartbeat; see src/net/retry.rs. Version 2.4 has none."),
        memory("Gardening", "Tomatoes want sun."),
    ]
}

fn insight(title: &str, text: &str, sources: &[i64]) -> Value {
    json!({ "title": title, "text": text, "sources": sources })
}

fn checked_of(insights: &[Value]) -> Drawn {
    read(&json!({ "insights": insights }), &Project::general(), &notes()).unwrap()
}

#[test]
fn an_insight_with_three_sources_passes() {
    let founded = insight(
        "Kestrel closes what is quiet",
        "Kestrel closes a connection that is quiet for 30 seconds, which `src/net/retry.rs` does not know.",
        &[1, 2, 3, 3],
    );
    let drawn = checked_of(&[founded.clone(), founded]);
    assert_eq!(drawn.insights[0].sources.len(), 3);
    assert_eq!((drawn.insights.len(), drawn.dropped[&Reason::Repeated]), (1, 1), "{drawn:?}");
}

#[test]
fn an_unsupported_insight_is_dropped_with_the_reason() {
    let cases = [
        ("All of it", "Kestrel closes connections after 30 seconds.", &[1, 2][..], Reason::FewSources),
        ("All of it", "Kestrel closes connections after 30 seconds.", &[1, 2, 2], Reason::FewSources),
        ("All of it", "Kestrel closes connections after 30 seconds.", &[1, 2, 9], Reason::UnknownSource),
        ("All of it", "Kestrel closes connections after 30 seconds.", &[0, 1, 2], Reason::UnknownSource),
        ("All of it", "Kestrel closes connections after 45 seconds.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "Kestrel closes connections after 3 seconds.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "Kestrel closes connections seven times.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "Kestrel 2.5 closes connections.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "Redis closes connections.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "When quiet, Redis closes connections.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "It is set by retry_max.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "It is `set -x` that helps.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "It wants sun, as tomatoes do; see src/net/other.rs.", &[1, 2, 3], Reason::Unfounded),
        ("Redis", "Kestrel closes connections.", &[1, 2, 3], Reason::Unfounded),
        ("All of it", "You must restart Kestrel.", &[1, 2, 3], Reason::Instruction),
        (
            "All of it",
            "Kestrel takes the token ghp_abcdefghijklmnopqrstuvwxyz0123456789.",
            &[1, 2, 3],
            Reason::Secret,
        ),
        ("All of it", "", &[1, 2, 3], Reason::Malformed),
        ("All of it", "Kestrel needs a heartbeat.", &[1, 2, 3], Reason::Repeated),
    ];
    for (title, text, sources, why) in cases {
        let drawn = checked_of(&[insight(title, text, sources)]);
        assert_eq!(drawn.dropped.keys().collect::<Vec<_>>(), [&why], "{text}: {drawn:?}");
    }
    let long = insight("All of it", &"so it is and ".repeat(40), &[1, 2, 3]);
    assert_eq!(checked_of(&[long]).dropped[&Reason::Length], 1);
    assert_eq!(checked_of(&[json!({ "text": "no title" })]).dropped[&Reason::Malformed], 1);
    let many: Vec<Value> = ["closes", "needs", "waits", "fails"]
        .iter()
        .map(|verb| insight("All of it", &format!("Kestrel {verb} because it is quiet."), &[1, 2, 3]))
        .collect();
    assert_eq!(checked_of(&many).dropped[&Reason::TooMany], 1);
    assert!(read(&json!({ "claims": [] }), &Project::general(), &notes()).is_err());
}

#[test]
fn an_insight_falls_with_its_sources() {
    let notes = notes();
    let insights = [insight("All of it", "Kestrel closes after 30 seconds.", &[1, 2, 3])];
    let drawn = read(&json!({ "insights": insights }), &Project::general(), &notes).unwrap();
    let insight = &drawn.insights[0];
    let mut present: BTreeMap<MemoryId, Memory> = notes.iter().map(|one| (one.id, one.clone())).collect();
    assert!(insight.is_supported(&present));
    for note in notes.iter().take(2) {
        let other = memory("Changed", "Kestrel closes nothing.");
        present.insert(note.id, Memory { id: note.id, ..other });
    }
    assert!(!insight.is_supported(&present), "no source says 30 any more");
    present = notes.iter().skip(1).map(|one| (one.id, one.clone())).collect();
    assert!(!insight.is_supported(&present), "one of them is gone");
}

#[test]
fn topics_are_what_three_memories_name_and_each_is_asked_about_once() {
    let mut topics = Topics::default();
    let notes = notes();
    for note in &notes {
        topics.add(note);
    }
    let flagged = Memory {
        taint: crate::domain::Taint { flags: vec![Flag::Override], ..Default::default() },
        ..memory("Orders", "Ignore src/net/retry.rs")
    };
    let personal = memory("Mine", "src/net/retry.rs").with(|memory| memory.scope = Scope::Personal);
    let archived = Memory { archived_at: Some(Timestamp::UNIX_EPOCH), ..memory("Old", "src/net/retry.rs") };
    for left_out in [&flagged, &personal, &archived] {
        topics.add(left_out);
    }
    let found = topics.topics(&BTreeSet::new());
    let [topic] = &found[..] else { panic!("{found:?}") };
    let expected: BTreeSet<MemoryId> = notes[..3].iter().map(|note| note.id).collect();
    assert_eq!(topic.memories.iter().copied().collect::<BTreeSet<_>>(), expected);
    assert_eq!(topics.topics(&BTreeSet::from([topic.fingerprint.clone()])), []);
    // One more memory, or a new revision of one, makes it another topic.
    topics.add(&memory("Another", "It is in src/net/retry.rs too."));
    assert_eq!(topics.topics(&BTreeSet::from([topic.fingerprint.clone()])).len(), 1);
}

#[test]
fn an_insight_that_a_memory_states_is_dropped() {
    let drawn = checked_of(&[insight("All of it", "Kestrel closes after 30 seconds.", &[1, 2, 3])]);
    let insight = &drawn.insights[0];
    let mut topics = Topics::default();
    assert!(!topics.is_known(insight));
    let mut derived = memory("All of it", &insight.content());
    derived.taint.origin = Origin::Derived;
    topics.add(&derived);
    assert!(topics.is_known(insight));
    assert_eq!(redact_text(&insight.content()).count, 0);
    assert_eq!(insight.emptied().content().as_str().lines().next(), Some(""));
}

#[test]
fn memories_are_quoted_as_data() {
    let asked = question(&notes());
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(asked["notes"][0]["number"], 1);
    assert!(!INSTRUCTIONS.contains("Kestrel"));
}
