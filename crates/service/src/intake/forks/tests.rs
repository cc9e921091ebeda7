//! Forks that are read, grow and are read again, over a real store.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::{
    Forget, HistoryBatch, HistoryOptions, HistorySettings, ImportRequest, ProjectOf, Service,
    TranscriptFolder,
    history::clean,
    history::tests::{batch, session, with_another, with_service},
    intake::folders::Form,
    use_cases::run,
};
use cerebro_core::domain::{Project, Run};
use cerebro_transcript::{READER_VERSION, State, read};

/// A rollout whose turns have only numbers, as in sessions that Codex imported.
fn rollout(id: &str, fork_of: &str, turns: &[&str]) -> String {
    let line = |kind: &str, payload: &str| format!("{{\"type\":\"{kind}\",\"payload\":{payload}}}\n");
    let parent =
        if fork_of.is_empty() { String::new() } else { format!(",\"forked_from_id\":\"{fork_of}\"") };
    let mut text = line("session_meta", &format!("{{\"id\":\"{id}\"{parent}}}"));
    for (n, words) in turns.iter().enumerate() {
        let number = format!("{{\"type\":\"task_started\",\"turn_id\":\"external-import-turn-{n}\"}}");
        text += &line("event_msg", &number);
        text += &line("event_msg", &format!("{{\"type\":\"user_message\",\"message\":\"{words}\"}}"));
    }
    text
}

/// The batch of an earlier reader: ids that are not bound, and of a fork only its own exchanges.
fn formerly(agent: Agent, id: &str, text: &str, own_from: usize) -> HistoryBatch {
    let mut found = read(text.as_bytes(), &State::new(agent, id));
    for exchange in &mut found.exchanges {
        for id in [&mut exchange.first_id, &mut exchange.last_id].into_iter().flatten() {
            *id = lineage::bare(id).unwrap_or(id).to_owned();
        }
    }
    let own = found.exchanges.split_off(own_from);
    HistoryBatch { session: found.session, ..batch(id, own) }
}

fn found(path: &Path) -> Found {
    let form = Form::Lines;
    Found {
        agent: Agent::Codex,
        form,
        path: path.to_path_buf(),
        session: String::new(),
        stat: Stat::default(),
    }
}

#[test]
fn copies_of_an_earlier_version_go_when_the_fork_is_read_again_without_its_original() {
    let folder = tempfile::tempdir().unwrap();
    let fork = folder.path().join("c-2.jsonl");
    let of_original = rollout("c-1", "", &["one", "two"]);
    let of_fork = rollout("c-2", "c-1", &["one", "two", "three"]);
    fs::write(&fork, &of_fork).unwrap();
    with_service(async |service| {
        // What is bound to the original, and the same in the fork; the original's file is gone.
        for (id, text) in [("c-1", &of_original), ("c-2", &of_fork)] {
            let found = read(text.as_bytes(), &State::new(Agent::Codex, id));
            let stored = HistoryBatch { session: found.session, ..batch(id, found.exchanges) };
            service.history.commit(stored).await.unwrap();
        }
        let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
        service.intake.take_file(&found(&fork), &mut pass).await.unwrap();
        let of = async |id: &str| {
            let mut stored = service.history.exchanges_of_session(&session(id)).await.unwrap();
            stored.sort_by_key(|exchange| exchange.seq);
            stored.into_iter().map(|exchange| String::from(exchange.title)).collect::<Vec<_>>()
        };
        assert_eq!(
            (of("c-1").await, of("c-2").await),
            (vec!["one".into(), "two".into()], vec!["three".into()])
        );
    });
}

#[test]
fn a_fork_that_is_read_again_before_its_original_is_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let (original, fork) = (folder.path().join("c-1.jsonl"), folder.path().join("c-2.jsonl"));
    let of_original = rollout("c-1", "", &["one", "two"]);
    let of_fork = rollout("c-2", "c-1", &["one", "two", "three"]);
    fs::write(&original, &of_original).unwrap();
    fs::write(&fork, &of_fork).unwrap();
    with_service(async |service| {
        service.history.commit(formerly(Agent::Codex, "c-1", &of_original, 0)).await.unwrap();
        service.history.commit(formerly(Agent::Codex, "c-2", &of_fork, 2)).await.unwrap();
        let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
        for path in [&fork, &original, &fork, &original] {
            service.intake.take_file(&found(path), &mut pass).await.unwrap();
        }
        for (id, exchanges, parent) in [("c-1", 2, None), ("c-2", 1, Some("c-1"))] {
            let past = service.history.session(&session(id)).await.unwrap().unwrap();
            let named = past.parent.and_then(|parent| parent.session);
            assert_eq!((past.exchanges, named.as_ref().map(SessionId::as_str)), (exchanges, parent), "{id}");
        }
    });
}

/// A line of Claude Code: a turn whose name begins with `u` is a person's.
fn said(session: &str, turn: &str, minute: usize) -> String {
    let kind = if turn.starts_with('u') { "user" } else { "assistant" };
    format!(
        "{{\"type\":\"{kind}\",\"uuid\":\"{turn}\",\"sessionId\":\"{session}\",\"cwd\":\"/w\",\
         \"timestamp\":\"2026-01-02T03:{minute:02}:05Z\",\
         \"message\":{{\"role\":\"{kind}\",\"content\":\"words of {turn}\"}}}}\n"
    )
}

/// A session of Claude Code with some turns, a minute each.
fn talk(session: &str, turns: &[&str]) -> String {
    turns.iter().enumerate().map(|(minute, turn)| said(session, turn, minute)).collect()
}

#[test]
fn a_short_id_that_an_earlier_version_forgot_stays_forgotten_in_forks() {
    with_service(async |service| {
        let turns = ["u1", "a1", "u2", "a2"];
        service
            .history
            .commit(formerly(Agent::ClaudeCode, "s-1", &talk("s-1", &turns[..2]), 0))
            .await
            .unwrap();
        let by_session = Forget { session: Some(session("s-1")), ..Forget::default() };
        service.history.forget(&by_session, Run::Real).await.unwrap();
        let found = read(talk("s-2", &turns).as_bytes(), &State::new(Agent::ClaudeCode, "s-2"));
        let fork = HistoryBatch { session: found.session, ..batch("s-2", found.exchanges) };
        let done = service.history.commit(fork).await.unwrap();
        assert_eq!((done.added, done.forgotten), (1, 1));
    });
}

#[test]
fn sessions_with_the_same_short_ids_that_an_earlier_version_took_for_one_are_both_kept() {
    let folder = tempfile::tempdir().unwrap();
    let texts =
        [talk("s-0", &["u1", "a1"]), talk("s-1", &["u1", "a1"]).replace("words of", "other words of")];
    for (at, text) in texts.iter().enumerate() {
        fs::write(folder.path().join(format!("s-{at}.jsonl")), text).unwrap();
    }
    // Only one of them was stored; the other one was a copy with nothing of its own.
    let stored = |at: usize| {
        let path = folder.path().join(format!("s-{at}.jsonl"));
        let (key, stat) = (path.to_string_lossy(), Stat::from(&fs::metadata(&path).unwrap()));
        let batch = formerly(Agent::ClaudeCode, &format!("s-{at}"), &texts[at], 0);
        let source = Source {
            id: Source::id_of("claude-code", &key),
            key: clean(&key),
            session: Some(session(&format!("s-{at}"))),
            size: stat.size,
            mtime: stat.mtime,
            inode: stat.inode,
            cursor: None,
            reader: READER_VERSION - 1,
            ..batch.source.clone()
        };
        HistoryBatch { source, project: Project::general(), ..batch }
    };
    with_service(async |service| {
        service.history.commit(stored(0)).await.unwrap();
        service.history.put_source(&stored(1).source).await.unwrap();
        imports_from(&service, Agent::ClaudeCode, folder.path());
        assert_like_a_clean_import(&service, Agent::ClaudeCode, folder.path(), "read by this version").await;
        assert_eq!(imported(&service).await.keys().collect::<Vec<_>>(), ["s-0", "s-1"]);
    });
}

/// Three sessions that may come one after the other in any of these orders.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Imports three sessions in every order. `turns` are those of each, `minutes` those of all in the order of their times, and
/// `parents` those that the sessions have in the end.
fn in_every_order(turns: [&str; 3], minutes: &str, parents: [Option<usize>; 3]) {
    // The original's id comes last.
    let id = |order: usize, at: usize| format!("t{order}-{}", 2 - at);
    let text = |order: usize, at: usize| -> String {
        let line = |turn: &str| {
            let minute = minutes.split(' ').position(|other| other == turn).unwrap();
            said(&id(order, at), &format!("{turn}-{order}"), minute)
        };
        turns[at].split(' ').map(line).collect()
    };
    run(async {
        let folder = tempfile::tempdir().unwrap();
        with_another(async |service| {
            imports_from(&service, Agent::ClaudeCode, folder.path());
            for step in 0..3 {
                for (n, order) in ORDERS.iter().enumerate() {
                    let path = folder.path().join(format!("{}.jsonl", id(n, order[step])));
                    fs::write(path, text(n, order[step])).unwrap();
                }
                assert_like_a_clean_import(&service, Agent::ClaudeCode, folder.path(), "one more").await;
            }
            for (n, order) in ORDERS.iter().enumerate() {
                for (at, parent) in parents.iter().enumerate() {
                    let past = service.history.session(&session(&id(n, at))).await.unwrap().unwrap();
                    let named = past.parent.and_then(|parent| parent.session);
                    assert_eq!(named, parent.map(|parent| session(&id(n, parent))), "{at} of {order:?}");
                }
            }
        })
        .await;
    });
}

#[test]
fn forks_within_one_exchange_have_the_same_parents_in_every_order() {
    let turns = ["u1 a1 u2 a2 u3 a3 b3 c3 u4 a4", "u1 a1 u2 a2 u3 a3 u5 a5", "u1 a1 u2 a2 u3 a3 b3 u6 a6"];
    for last in ["u5 a5 u6 a6", "u6 a6 u5 a5"] {
        let minutes = format!("u1 a1 u2 a2 u3 a3 b3 c3 u4 a4 {last}");
        in_every_order(turns, &minutes, [None, Some(0), Some(0)]);
    }
}

#[test]
fn a_fork_within_an_exchange_of_a_fork_is_that_ones_in_every_order() {
    let turns = ["u1 a1 u2 a2", "u1 a1 u3 a3 b3 u4 a4", "u1 a1 u3 a3 u5 a5"];
    in_every_order(turns, "u1 a1 u2 a2 u3 a3 b3 u4 a4 u5 a5", [None, Some(0), Some(1)]);
}

/// Two sessions whose first two exchanges are the same, line by line. Each has two more of its own.
struct Pair {
    agent: Agent,
    /// The lines before the first exchange, and those of one exchange.
    head: usize,
    step: usize,
    /// The ids of both sessions, and their lines.
    sessions: [(String, Vec<String>); 2],
}

/// Exchanges that both have.
const SHARED: usize = 2;

/// When an exchange of one of two sessions is said, in minutes: that of the `first` one to go on comes before the other's.
fn minute(n: usize, is_first: bool) -> usize {
    if n < SHARED || is_first { 2 * n } else { 2 * n + 1 }
}

impl Pair {
    /// Sessions of Claude Code, neither of which names the other.
    fn of_claude_code(name: &str, first: usize) -> Self {
        let lines = |at: usize| {
            let id = format!("{name}-{at}");
            let line = |n: usize, kind: &str| {
                let whose = if n < SHARED { "both".to_owned() } else { at.to_string() };
                let minute = minute(n, at == first);
                let turn = format!("{name}-{whose}-{n}-{kind}");
                format!(
                    "{{\"type\":\"{kind}\",\"uuid\":\"{turn}\",\"sessionId\":\"{id}\",\"cwd\":\"/w\",\
                     \"timestamp\":\"2026-01-02T03:{minute:02}:05Z\",\
                     \"message\":{{\"role\":\"{kind}\",\"content\":\"words of {turn}\"}}}}\n"
                )
            };
            let kinds = ["user", "assistant"];
            let lines: Vec<String> = (0..2 * SHARED).flat_map(|n| kinds.map(|kind| line(n, kind))).collect();
            (id, lines)
        };
        Self { agent: Agent::ClaudeCode, head: 0, step: 2, sessions: [0, 1].map(lines) }
    }

    /// Sessions of Codex; one of them names the other as its parent.
    fn of_codex(name: &str, parent: usize) -> Self {
        let line = |minute: usize, kind: &str, payload: &str| {
            let at = format!("2026-01-02T03:{minute:02}:05Z");
            format!("{{\"timestamp\":\"{at}\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
        };
        let lines = |at: usize| {
            let id = format!("{name}-{at}");
            let forked =
                if at == parent { String::new() } else { format!(",\"forked_from_id\":\"{name}-{parent}\"") };
            let mut lines =
                vec![line(0, "session_meta", &format!("{{\"id\":\"{id}\",\"cwd\":\"/w\"{forked}}}"))];
            for n in 0..2 * SHARED {
                let whose = if n < SHARED { parent } else { at };
                let minute = minute(n, at == parent);
                let turn = format!("{name}-{whose}-{n}");
                lines.push(line(
                    minute,
                    "turn_context",
                    &format!("{{\"turn_id\":\"{turn}\",\"cwd\":\"/w\"}}"),
                ));
                for (role, form) in [("user", "input_text"), ("assistant", "output_text")] {
                    let content = format!("[{{\"type\":\"{form}\",\"text\":\"{role} of {turn}\"}}]");
                    let message =
                        format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":{content}}}");
                    lines.push(line(minute, "response_item", &message));
                }
            }
            (id, lines)
        };
        Self { agent: Agent::Codex, head: 1, step: 3, sessions: [0, 1].map(lines) }
    }

    /// How many bytes of a session are there at each stage: none, all, and those of one to three exchanges, whole or in part.
    fn cuts(&self, at: usize) -> Vec<usize> {
        let (_, lines) = &self.sessions[at];
        let bytes = |lines_there: usize| lines[..lines_there].iter().map(String::len).sum::<usize>();
        let exchanges = |count: usize| self.head + count * self.step;
        vec![
            0,
            bytes(exchanges(1)),
            bytes(exchanges(2) - 1) + 9,
            bytes(exchanges(2)),
            bytes(exchanges(3) - 1),
            bytes(exchanges(3)),
            bytes(lines.len()),
        ]
    }

    /// Writes the first bytes of a session.
    fn write(&self, folder: &Path, at: usize, bytes: usize) {
        let (id, lines) = &self.sessions[at];
        if bytes > 0 {
            fs::write(folder.join(format!("{id}.jsonl")), &lines.concat()[..bytes]).unwrap();
        }
    }
}

/// Everything that is in a folder is imported.
fn everything(agent: Agent, folder: &Path) -> HistoryOptions {
    HistoryOptions {
        settings: Arc::new(|| HistorySettings {
            enabled: true,
            since: Duration::ZERO,
            ..HistorySettings::default()
        }),
        places: vec![TranscriptFolder {
            agent,
            root: folder.to_path_buf(),
            depth: 1,
            own: folder.to_path_buf(),
        }],
        project_of: Arc::new(|_| Box::pin(std::future::ready(Project::general()))),
    }
}

/// A service that imports what is in a folder.
fn imports_from(service: &Service, agent: Agent, folder: &Path) {
    service.intake.set_options(everything(agent, folder));
}

/// Every past session after an import, with its exchanges, by its id.
async fn imported(service: &Service) -> BTreeMap<String, String> {
    service.intake.import(ImportRequest::default()).unwrap();
    service.intake.serve().await.unwrap();
    assert!(service.intake.progress().faults.is_empty());
    let mut sessions = BTreeMap::new();
    for past in service.history.sessions(None, 0, 1_000).await.unwrap() {
        let mut exchanges = service.history.exchanges_of_session(&past.id).await.unwrap();
        exchanges.sort_by_key(|exchange| exchange.seq);
        sessions.insert(past.id.as_str().to_owned(), format!("{past:?} {exchanges:?}"));
    }
    sessions
}

async fn assert_like_a_clean_import(service: &Service, agent: Agent, folder: &Path, stage: &str) {
    let got = imported(service).await;
    let mut want = BTreeMap::new();
    with_another(async |clean| {
        imports_from(&clean, agent, folder);
        want = imported(&clean).await;
    })
    .await;
    let ids: BTreeSet<&String> = got.keys().chain(want.keys()).collect();
    let wrong: Vec<_> = ids
        .into_iter()
        .filter(|id| got.get(*id) != want.get(*id))
        .map(|id| (id, got.get(id), want.get(id)))
        .collect();
    assert!(wrong.is_empty(), "{stage}: {} sessions, such as {:#?}", wrong.len(), &wrong[..1]);
}

/// Imports pairs of which both sessions are cut wherever they may be, and again when one has grown, and when the other has.
fn grow(pair: impl Fn(&str) -> Pair, order: [usize; 2]) {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let stages = pair("").cuts(0).len();
        let cuts = (0..stages).flat_map(|one| (0..stages).map(move |other| [one, other]));
        let pairs: Vec<(Pair, [usize; 2])> =
            cuts.map(|cut| (pair(&format!("s{}{}", cut[0], cut[1])), cut)).collect();
        let agent = pairs[0].0.agent;
        with_another(async |service| {
            imports_from(&service, agent, folder.path());
            for (pair, cut) in &pairs {
                for at in [0, 1] {
                    pair.write(folder.path(), at, pair.cuts(at)[cut[at]]);
                }
            }
            assert_like_a_clean_import(&service, agent, folder.path(), "both are cut").await;
            for (at, stage) in order.into_iter().zip(["one has grown", "both have grown"]) {
                for (pair, _) in &pairs {
                    pair.write(folder.path(), at, pair.cuts(at)[stages - 1]);
                }
                assert_like_a_clean_import(&service, agent, folder.path(), stage).await;
            }
        })
        .await;
    });
}

#[test]
fn forks_that_name_no_parent_are_as_in_a_clean_import_wherever_they_were_cut() {
    for first in [0, 1] {
        for order in [[0, 1], [1, 0]] {
            grow(|name| Pair::of_claude_code(name, first), order);
        }
    }
}

#[test]
fn forks_that_name_their_parent_are_as_in_a_clean_import_wherever_they_were_cut() {
    for parent in [0, 1] {
        for order in [[0, 1], [1, 0]] {
            grow(|name| Pair::of_codex(name, parent), order);
        }
    }
}

#[test]
fn a_fork_of_which_nothing_is_stored_is_the_original_once_the_other_has_gone_on() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::of_claude_code("s", 0);
    let cuts = pair.cuts(0);
    with_service(async |service| {
        imports_from(&service, pair.agent, folder.path());
        for at in [0, 1] {
            pair.write(folder.path(), at, cuts[3]);
        }
        assert_eq!(imported(&service).await.keys().collect::<Vec<_>>(), ["s-0"]);
        pair.write(folder.path(), 0, cuts[5]);
        assert_eq!(imported(&service).await.keys().collect::<Vec<_>>(), ["s-0", "s-1"]);
        let count = async |id: &str| {
            let past = service.history.session(&session(id)).await.unwrap().unwrap();
            past.exchanges
        };
        assert_eq!((count("s-0").await, count("s-1").await), (1, 2));
    });
}

#[test]
fn forks_of_what_a_hook_named_are_read_by_the_next_scan() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::of_claude_code("s", 0);
    let cuts = pair.cuts(0);
    with_service(async |service| {
        imports_from(&service, pair.agent, folder.path());
        for at in [0, 1] {
            pair.write(folder.path(), at, cuts[3]);
        }
        imported(&service).await;
        pair.write(folder.path(), 0, cuts[5]);
        service.intake.note_transcript(Some(folder.path().join("s-0.jsonl")));
        service.intake.serve().await.unwrap();
        assert_eq!(service.history.sessions(None, 0, 10).await.unwrap().len(), 1);
        // The next daemon knows that.
        *lock(&service.intake.state.known) = None;
        assert_eq!(imported(&service).await.keys().collect::<Vec<_>>(), ["s-0", "s-1"]);
    });
}

#[test]
fn an_import_ends_although_a_session_with_a_fork_goes_on_all_the_time() {
    /// After this many passes, it no longer goes on.
    const PASSES: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::of_codex("s", 0);
    pair.write(folder.path(), 0, pair.cuts(0)[5]);
    pair.write(folder.path(), 1, pair.cuts(1)[6]);
    let (original, reply) = (folder.path().join("s-0.jsonl"), pair.sessions[0].1[9].clone());
    let passes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&passes);
    with_service(async |service| {
        // Each pass asks once for the project of their folder.
        let project_of: ProjectOf = Arc::new(move |_| {
            if counted.fetch_add(1, Ordering::SeqCst) < PASSES {
                let mut file = File::options().append(true).open(&original).unwrap();
                file.write_all(reply.as_bytes()).unwrap();
            }
            Box::pin(std::future::ready(Project::general()))
        });
        let options = HistoryOptions { project_of, ..everything(pair.agent, folder.path()) };
        service.intake.set_options(options);
        for _ in 0..2 {
            assert_eq!(imported(&service).await.len(), 2);
        }
        assert!(passes.load(Ordering::SeqCst) < PASSES);
    });
}
