//! History over a real store in a temporary folder.

use std::path::Path;

use super::*;
use crate::{
    index::WAIT,
    use_cases::{exported, run, until},
    *,
};
use cerebro_core::domain::{Event, EventKind, ExchangeId, Run, Scope, SourceState, Timestamp};
use cerebro_core::recall::Match;
use cerebro_transcript::{
    self as transcript,
    turn::{Prompt, Turn},
};

async fn open(folder: &Path) -> Service {
    let (store, index) = (folder.join("store"), folder.join("index"));
    let service = Service::open(&store, &index, Settings::default(), Embedding::none(), Timestamp::now);
    let service = service.await.unwrap();
    service.recall.index.catch_up().await.unwrap();
    service
}

/// Runs a test over a service of its own.
pub(crate) fn with_service(test: impl AsyncFnOnce(Service)) {
    run(with_another(test));
}

/// Runs a part of a test over a service of its own.
pub(crate) async fn with_another(test: impl AsyncFnOnce(Service)) {
    let folder = tempfile::tempdir().unwrap();
    let service = open(folder.path()).await;
    Box::pin(test(service.clone())).await;
    service.close().await.unwrap();
}

pub(crate) fn project() -> Project {
    Project::parse("demo").unwrap()
}

pub(crate) fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// An exchange whose native ids follow from its place.
pub(crate) fn exchange(seq: u32, prompt: &str, reply: &str) -> transcript::Exchange {
    transcript::Exchange {
        seq,
        prompt: Some(Prompt { text: prompt.to_owned(), ..Prompt::default() }),
        turns: vec![Turn::Reply { text: reply.to_owned(), at: None }],
        at: Timestamp::from_second(1_700_000_000 + i64::from(seq)).ok(),
        first_id: Some(format!("u{seq}")),
        last_id: Some(format!("a{seq}")),
        ..transcript::Exchange::default()
    }
}

/// A word that no other number has. It has no digits, which are found apart from their letters.
fn word(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(b'b' + digit - b'0')).chain("ish".chars()).collect()
}

fn talk(range: std::ops::Range<u32>) -> Vec<transcript::Exchange> {
    range.map(|seq| exchange(seq, &format!("prompt {}", word(seq)), &format!("reply to {seq}"))).collect()
}

pub(crate) fn batch(id: &str, exchanges: Vec<transcript::Exchange>) -> HistoryBatch {
    let mut state = transcript::State::new(Agent::ClaudeCode, id);
    state.offset = 10 * exchanges.last().map_or(0, |last| u64::from(last.seq));
    HistoryBatch {
        project: project(),
        session: transcript::Session { id: id.to_owned(), ..transcript::Session::default() },
        exchanges,
        withdrawn: Vec::new(),
        ends_at: None,
        read_from: ReadFrom::Cursor,
        typed: false,
        source: source(&format!("/home/me/.claude/projects/demo/{id}.jsonl"), &state),
    }
}

/// A source that was read up to a state.
fn source(key: &str, state: &State) -> Source {
    Source {
        id: Source::id_of("claude-code", key),
        agent: clean("claude-code"),
        key: clean(key),
        session: None,
        size: 1_000,
        mtime: 5,
        inode: 7,
        offset: state.offset,
        cursor: cursor(state),
        head: None,
        edge: None,
        reader: transcript::READER_VERSION,
        state: SourceState::Fresh,
        unknown: 0,
        malformed: 0,
        error: None,
    }
}

fn committed(added: usize, replaced: usize, unchanged: usize) -> HistoryCommitted {
    HistoryCommitted { added, replaced, unchanged, ..HistoryCommitted::default() }
}

fn asked(query: &str, project: Option<Project>) -> EvidenceRequest {
    EvidenceRequest { query: query.to_owned(), project, limit: 10, ..EvidenceRequest::default() }
}

async fn found(service: &Service, query: &str) -> (Match, Vec<ExchangeId>) {
    let request = asked(query, Some(project()));
    let found =
        service.recall.search_evidence(Evidence::History, &request).await.unwrap().expect("there is history");
    (found.matched, found.hits.iter().map(|hit| hit.id.into()).collect())
}

async fn events_of_history(service: &Service) -> Vec<Event> {
    let events = service.recall.events(0, 1_000).await.unwrap();
    let of_history = [EventKind::HistoryImported, EventKind::HistoryForgotten];
    events.into_iter().filter(|event| of_history.contains(&event.kind)).collect()
}

/// A batch of a session that has a title.
fn titled(id: &str, title: &str, exchanges: Vec<transcript::Exchange>) -> HistoryBatch {
    let mut batch = batch(id, exchanges);
    batch.session.title = Some(title.to_owned());
    let mut state = History::cursor(&batch.source).unwrap();
    state.session.title = Some(title.to_owned());
    batch.source.cursor = cursor(&state);
    batch
}

#[test]
fn turns_and_names_that_were_forgotten_do_not_come_back_by_another_way() {
    with_service(async |service| {
        // The titles in the states of the readers.
        let titles = async || {
            let sources = service.history.sources(Agent::ClaudeCode).await.unwrap();
            sources.iter().filter_map(|source| History::cursor(source)?.session.title).collect::<Vec<_>>()
        };
        service.history.commit(titled("s1", "The secretquokka plan", talk(0..3))).await.unwrap();
        assert_eq!(titles().await, ["The secretquokka plan"]);
        // A whole session: a fork that is read later has the same turns.
        let by_session = Forget { session: Some(session("s1")), ..Forget::default() };
        service.history.forget(&by_session, Run::Real).await.unwrap();
        let fork = service.history.commit(batch("fork", talk(0..4))).await.unwrap();
        assert_eq!((fork.added, fork.forgotten), (1, 3));
        service.history.commit(titled("s1", "The secretquokka plan", talk(0..4))).await.unwrap();
        assert_eq!(titles().await, [""; 0]);

        // A title, by its text alone: it stays away when the session grows, from the reader's state too.
        service.history.commit(titled("s2", "The secretquokka plan", talk(20..22))).await.unwrap();
        let by_text = Forget { text: Some("SecretQuokka".to_owned()), ..Forget::default() };
        service.history.forget(&by_text, Run::Real).await.unwrap();
        let grown =
            service.history.commit(titled("s2", "The secretquokka plan", talk(20..24))).await.unwrap();
        assert_eq!(grown.added, 2);
        assert_eq!(service.history.session(&session("s2")).await.unwrap().unwrap().title, None);
        assert_eq!(titles().await, [""; 0]);

        // The list of all that was typed has no ids of turns: nothing of such a session is taken from it.
        let only = Forget { text: Some(format!("prompt {}", word(20))), ..Forget::default() };
        assert_eq!(service.history.forget(&only, Run::Real).await.unwrap().exchanges, 1);
        let lines = exported(&service).await;
        with_another(async |other| {
            other.import(&lines, Run::Real).await.unwrap();
            let before = exported(&other).await;
            let mut typed = batch("s2", vec![exchange(0, &format!("prompt {}", word(20)), "")]);
            (typed.typed, typed.exchanges[0].first_id, typed.exchanges[0].last_id) = (true, None, None);
            let state = State::new(Agent::ClaudeCode, "s2");
            typed.source = source("/home/me/.claude/history.jsonl#s2", &state);
            let mut known = typed.clone();
            let done = other.history.commit(typed).await.unwrap();
            assert_eq!((done.added, done.replaced, done.forgotten), (0, 0, 1));
            // Nor does it replace a session that an export brought.
            known.session.id = "fork".to_owned();
            known.source = source("/home/me/.claude/history.jsonl#fork", &state);
            let done = other.history.commit(known).await.unwrap();
            assert_eq!((done.added, done.replaced), (0, 0));
            assert_eq!(exported(&other).await, before);
        })
        .await;
    });
}

/// Whether a file below a folder holds these bytes.
fn is_on_disk(folder: &Path, needle: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_on_disk(&path, needle);
        }
        std::fs::read(path).is_ok_and(|bytes| bytes.windows(needle.len()).any(|piece| piece == needle))
    })
}

#[test]
fn nothing_is_opened_or_written_before_the_first_batch() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let service = open(folder.path()).await;
        let request = EvidenceRequest { hidden: true, ..asked("anything", None) };
        assert!(service.recall.search_evidence(Evidence::History, &request).await.unwrap().is_none());
        assert!(service.recall.evidence_hint(Evidence::History, &request).await.unwrap().is_none());
        service.compact().await.unwrap();
        assert_eq!(service.history.counts().await.unwrap(), cerebro_store::HistoryCounts::default());
        assert!(!folder.path().join("index-history").exists());
        service.close().await.unwrap();
    });
}

#[test]
fn a_batch_is_kept_once_however_often_and_in_whatever_parts_it_comes() {
    with_service(async |service| {
        let commit = async |range| service.history.commit(batch("s1", talk(range))).await.unwrap();
        assert_eq!(commit(0..3).await, committed(3, 0, 0));
        let once = exported(&service).await;
        let events = events_of_history(&service).await.len();
        assert_eq!(commit(0..3).await, committed(0, 0, 3), "twice");
        assert_eq!(exported(&service).await, once);
        assert_eq!(events_of_history(&service).await.len(), events, "nothing changed, so nothing is told");
        assert_eq!(commit(1..5).await, committed(2, 0, 2), "overlapping");
        let mut grown = talk(4..5);
        grown[0].turns.push(Turn::Reply { text: "one more word".to_owned(), at: None });
        let again = service.history.commit(batch("s1", grown)).await.unwrap();
        assert_eq!(again, committed(0, 1, 0), "the last one grew");
        let past = service.history.session(&session("s1")).await.unwrap().unwrap();
        assert_eq!(past.exchanges, 5);
        let source = service.history.sources(Agent::ClaudeCode).await.unwrap().remove(0);
        assert_eq!((source.offset, &source.session), (40, &Some(session("s1"))));
        assert_eq!(History::cursor(&source).unwrap().offset, 40);

        // Told in other parts to another store, it is the same.
        let mut whole = talk(0..5);
        whole[4].turns.push(Turn::Reply { text: "one more word".to_owned(), at: None });
        let lines = exported(&service).await;
        with_another(async |other| {
            other.history.commit(batch("s1", whole)).await.unwrap();
            assert_eq!(exported(&other).await, lines);
        })
        .await;
    });
}

#[test]
fn a_source_that_was_rewritten_shorter_takes_the_rest_away() {
    with_service(async |service| {
        service.history.commit(batch("s1", talk(0..6))).await.unwrap();
        assert_eq!(found(&service, &word(5)).await.1.len(), 1);
        let mut shorter = batch("s1", talk(0..2));
        shorter.exchanges[1] = exchange(1, "a heron", "another reply");
        shorter.ends_at = Some(2);
        let done = service.history.commit(shorter).await.unwrap();
        assert_eq!((done.replaced, done.unchanged, done.removed), (1, 1, 4));
        assert_eq!(service.history.session(&session("s1")).await.unwrap().unwrap().exchanges, 2);
        assert_eq!(found(&service, &word(5)).await.1, [], "the index follows");
        assert_eq!(found(&service, "heron").await.1.len(), 1);
        let mut empty = batch("s1", Vec::new());
        empty.ends_at = Some(0);
        assert_eq!(service.history.commit(empty).await.unwrap().removed, 2);
        assert_eq!(service.history.session(&session("s1")).await.unwrap(), None);
        assert_eq!(service.history.counts().await.unwrap().sessions, 0);
    });
}

#[test]
fn names_that_a_rewritten_source_no_longer_has_go() {
    with_service(async |service| {
        let names = async || {
            let past = service.history.session(&session("s1")).await.unwrap().unwrap();
            [past.title, past.branch, past.model, past.directory].map(|name| name.map(String::from))
        };
        let mut named = batch("s1", talk(0..2));
        let of = &mut named.session;
        for name in [&mut of.title, &mut of.branch, &mut of.model, &mut of.cwd] {
            *name = Some("old".to_owned());
        }
        service.history.commit(named).await.unwrap();
        let whole = HistoryBatch { read_from: ReadFrom::Start, ends_at: Some(2), ..batch("s1", talk(0..2)) };
        for (part, what) in [
            (HistoryBatch { read_from: ReadFrom::Cursor, ..whole.clone() }, "it has grown"),
            (HistoryBatch { ends_at: None, ..whole.clone() }, "more of it comes"),
            (HistoryBatch { typed: true, ..whole.clone() }, "only its prompts"),
        ] {
            service.history.commit(part).await.unwrap();
            assert_eq!(names().await, ["old"; 4].map(|name| Some(name.to_owned())), "{what}");
        }
        service.history.commit(whole).await.unwrap();
        assert_eq!(names().await, [None, None, None, Some("old".to_owned())], "its folder stays known");
    });
}

#[test]
fn a_rewind_marks_what_it_took_back() {
    with_service(async |service| {
        service.history.commit(batch("s1", talk(0..3))).await.unwrap();
        let mut more = batch("s1", talk(3..4));
        more.withdrawn = vec![1];
        assert_eq!(service.history.commit(more).await.unwrap(), committed(1, 0, 0));
        let id = ExchangeId::of("claude-code", &session("s1"), 1);
        let request = ExchangeRequest { id, offset: 0, max_bytes: 1_000 };
        assert!(service.history.exchange(&request).await.unwrap().exchange.withdrawn);
        // Read again from the beginning, without the news of the rewind.
        service.history.commit(batch("s1", talk(0..4))).await.unwrap();
        assert!(service.history.exchange(&request).await.unwrap().exchange.withdrawn);
    });
}

#[test]
fn a_batch_has_its_bounds_and_a_session_its_agent() {
    with_service(async |service| {
        let largest = u32::try_from(limits::HISTORY_BATCH_EXCHANGES_MAX).unwrap();
        let done = service.history.commit(batch("s1", talk(0..largest))).await.unwrap();
        assert_eq!(done, committed(limits::HISTORY_BATCH_EXCHANGES_MAX, 0, 0));
        let error = service.history.commit(batch("s2", talk(0..largest + 1))).await.unwrap_err();
        assert!(error.to_string().contains("200 exchanges at most"), "{error}");
        let long = "word ".repeat(limits::EXCHANGE_BYTES_MAX / 5);
        let exchanges = (0..largest).map(|seq| exchange(seq, "a prompt", &long)).collect();
        let error = service.history.commit(batch("s2", exchanges)).await.unwrap_err();
        assert!(error.to_string().contains("4194304 bytes at most"), "{error}");
        let error = service.history.commit(batch("", talk(0..1))).await.unwrap_err();
        assert!(matches!(error, ServiceError::Invalid { field: "session", .. }), "{error}");
        let mut other = batch("s1", talk(0..1));
        other.session.agent = Agent::Codex;
        let error = service.history.commit(other).await.unwrap_err();
        assert!(error.to_string().contains("claude-code has this id"), "{error}");
    });
}

#[test]
fn an_exchange_is_found_read_in_parts_and_stands_among_others() {
    with_service(async |service| {
        let mut talk = talk(0..5);
        talk[2] = exchange(2, "Why does the walrus parser fail?", &"It lost é tusks. ".repeat(100));
        service.history.commit(batch("s1", talk)).await.unwrap();
        let (matched, ids) = found(&service, "walrus parser").await;
        let id = ExchangeId::of("claude-code", &session("s1"), 2);
        assert_eq!((matched, ids), (Match::Strong, vec![id]));
        assert_eq!(found(&service, "xylophone tuning").await, (Match::None, vec![]));

        let (mut text, mut offset) = (String::new(), Some(0));
        while let Some(from) = offset {
            let request = ExchangeRequest { id, offset: from, max_bytes: 256 };
            let part = service.history.exchange(&request).await.unwrap();
            assert!(part.text.len() <= 256);
            text.push_str(&part.text);
            offset = part.next_offset;
        }
        assert!(text.starts_with("> Why does the walrus") && text.ends_with("tusks."), "{text}");

        let around = service.history.timeline(id, 1, 5).await.unwrap();
        let places = |exchanges: &[cerebro_core::domain::Exchange]| -> Vec<u32> {
            exchanges.iter().map(|exchange| exchange.seq).collect()
        };
        assert_eq!((places(&around.before), places(&around.after)), (vec![1], vec![3, 4]));
        let gone = ExchangeId::of("claude-code", &session("s1"), 9);
        assert!(matches!(service.history.timeline(gone, 1, 1).await, Err(ServiceError::NoExchange(_))));
    });
}

#[test]
fn sessions_without_a_person_are_found_only_when_asked_for() {
    with_service(async |service| {
        let mut automated = batch("s1", talk(0..1));
        automated.session.automated = true;
        service.history.commit(automated).await.unwrap();
        assert_eq!(found(&service, &word(0)).await.1, []);
        let mut request = EvidenceRequest { hidden: true, ..asked(&word(0), None) };
        assert_eq!(
            service.recall.search_evidence(Evidence::History, &request).await.unwrap().unwrap().hits.len(),
            1
        );
        request.project = Project::parse("elsewhere");
        let elsewhere = service.recall.search_evidence(Evidence::History, &request).await.unwrap().unwrap();
        assert_eq!((elsewhere.hits.len(), elsewhere.matched), (0, Match::None), "of the asked project only");
    });
}

#[test]
fn what_was_forgotten_stays_so_and_leaves_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let service = open(folder.path()).await;
        let mut exchanges = talk(0..4);
        exchanges[1] = exchange(1, "the embarrassingquokka question", "its reply");
        service.history.commit(batch("s1", exchanges.clone())).await.unwrap();
        service.history.commit(batch("s2", talk(10..12))).await.unwrap();
        assert_eq!(found(&service, "embarrassingquokka").await.1.len(), 1);
        assert!(is_on_disk(folder.path(), b"embarrassingquokka"), "what is kept can be seen in the files");
        assert!(service.history.forget(&Forget::default(), Run::Real).await.is_err());

        let by_text = Forget { text: Some("EmbarrassingQuokka".to_owned()), ..Forget::default() };
        let one = Forgotten { exchanges: 1, ..Forgotten::default() };
        assert_eq!(service.history.forget(&by_text, Run::Dry).await.unwrap(), one);
        assert_eq!(found(&service, "embarrassingquokka").await.1.len(), 1, "a dry run");
        assert_eq!(service.history.forget(&by_text, Run::Real).await.unwrap(), one);
        assert_eq!(found(&service, "embarrassingquokka").await.1, []);
        let again = service.history.commit(batch("s1", exchanges.clone())).await.unwrap();
        assert_eq!((again.added, again.unchanged, again.forgotten), (0, 3, 1));
        // A copy in another session has the same native ids.
        let copied = service.history.commit(batch("fork", exchanges[1..2].to_vec())).await.unwrap();
        assert_eq!((copied.added, copied.forgotten), (0, 1));

        let by_session = Forget { session: Some(session("s2")), ..Forget::default() };
        let whole = Forgotten { sessions: 1, exchanges: 2, ..Forgotten::default() };
        assert_eq!(service.history.forget(&by_session, Run::Real).await.unwrap(), whole);
        let grown = service.history.commit(batch("s2", talk(10..20))).await.unwrap();
        assert_eq!((grown.added, grown.forgotten), (0, 10), "also what it grew by");

        let lines = exported(&service).await;
        assert!(lines.iter().all(|line| !line.contains("quokka")));
        service.compact().await.unwrap();
        let checks = service.examine(false).await;
        let is_sound =
            |check: &doctor::Check| check.name == "history" && check.health == doctor::Health::Sound;
        assert!(checks.iter().any(is_sound), "{checks:?}");
        service.close().await.unwrap();
        assert!(!is_on_disk(folder.path(), b"embarrassingquokka"));

        // The tombstones go with an export.
        with_another(async |other| {
            other.import(&lines, Run::Real).await.unwrap();
            let again = other.history.commit(batch("s1", exchanges)).await.unwrap();
            assert_eq!((again.added, again.unchanged, again.forgotten), (0, 3, 1));
        })
        .await;
    });
}

#[test]
fn a_text_that_was_forgotten_stays_out_of_every_session() {
    with_service(async |service| {
        const TEXT: &str = "embarrassingquokka";
        let others = |from: u32| {
            let with_it = exchange(from, "An EmbarrassingQuokka again", "a reply");
            vec![with_it, exchange(from + 1, "another prompt", "another reply")]
        };
        service.history.commit(batch("s1", others(0))).await.unwrap();
        // Of one session only: it may be in others.
        let session_only =
            Forget { session: Some(session("s1")), text: Some(TEXT.to_owned()), ..Forget::default() };
        service.history.forget(&session_only, Run::Real).await.unwrap();
        let by_text = Forget { text: Some(TEXT.to_uppercase()), ..Forget::default() };
        let done = service.history.commit(batch("s2", others(10))).await.unwrap();
        assert_eq!((done.added, done.forgotten), (2, 0));
        assert_eq!(service.history.forget(&by_text, Run::Dry).await.unwrap().exchanges, 1, "a dry run");
        let done = service.history.commit(batch("s3", others(20))).await.unwrap();
        assert_eq!((done.added, done.forgotten), (2, 0));

        assert_eq!(service.history.forget(&by_text, Run::Real).await.unwrap().exchanges, 2);
        let done =
            service.history.commit(titled("s4", "The EmbarrassingQuokka plan", others(30))).await.unwrap();
        assert_eq!((done.added, done.forgotten), (1, 1));
        with_another(async |other| {
            other.history.commit(titled("s5", "The EmbarrassingQuokka plan", others(40))).await.unwrap();
            let imported = service.import(&exported(&other).await, Run::Real).await.unwrap();
            assert_eq!((imported.created, imported.skipped.len()), (2, 1), "{imported:?}");
        })
        .await;
        let kept = exported(&service).await;
        assert!(!kept.iter().any(|line| line.to_lowercase().contains(TEXT)), "{kept:?}");
        assert_eq!(kept.iter().filter(|line| line.contains("another prompt")).count(), 5);
    });
}

#[test]
fn what_is_forgotten_while_a_hook_reports_it_is_not_kept() {
    with_service(async |service| {
        const TEXT: &str = "embarrassingquokka";
        let reported = "About the EmbarrassingQuokka.";
        // Read before the text is forgotten, as by a report that came just before.
        assert!(service.base.store.history().forgotten_texts().await.unwrap().is_empty());
        let (go, by_text) =
            (tokio::sync::Notify::new(), Forget { text: Some(TEXT.to_owned()), ..Forget::default() });
        let me = caller();
        // They get the writer in this order. Each report comes before anything is forgotten, and is kept after that.
        let (held, forgotten, prompt, message, summary, ()) = tokio::join!(
            // It holds the writer until it is told to let go.
            service.base.store.transact(|_| {
                Box::pin(async {
                    go.notified().await;
                    Ok::<_, ServiceError>(())
                })
            }),
            service.forget(&me, &by_text, Run::Real),
            service.memories.note_prompt(&me, reported),
            service.memories.note_last_message(&me, reported),
            service.memories.note_compaction(&me, reported),
            async { go.notify_one() },
        );
        held.unwrap();
        forgotten.unwrap();
        assert!(prompt.unwrap().is_none());
        assert_eq!((message.unwrap(), summary.unwrap()), (false, false));
        let kept = exported(&service).await;
        assert!(!kept.iter().any(|line| line.to_lowercase().contains(TEXT)), "{kept:?}");
        assert!(service.memories.note_prompt(&me, "About the gannet.").await.unwrap().is_some());
    });
}

#[test]
fn a_session_of_which_all_was_forgotten_leaves_no_row_when_it_is_imported_again() {
    with_service(async |service| {
        let said = vec![exchange(0, "An EmbarrassingQuokka", "a reply")];
        service.history.commit(titled("s1", "A title", said)).await.unwrap();
        service.history.commit(batch("s2", talk(0..2))).await.unwrap();
        let earlier = exported(&service).await;
        let by_text = Forget { text: Some("embarrassingquokka".to_owned()), ..Forget::default() };
        service.history.forget(&by_text, Run::Real).await.unwrap();
        let kept = exported(&service).await;
        service.import(&earlier, Run::Real).await.unwrap();
        service.import_ended().await.unwrap();
        assert_eq!(exported(&service).await, kept);
        assert_eq!(service.history.session(&session("s1")).await.unwrap(), None);
        assert_eq!(service.history.session(&session("s2")).await.unwrap().unwrap().exchanges, 2);
    });
}

#[test]
fn an_import_that_ends_leaves_the_sessions_of_another_alone() {
    with_service(async |service| {
        service.history.commit(batch("s1", talk(0..2))).await.unwrap();
        let lines = exported(&service).await;
        let is_session = |line: &&String| line.contains("\"kind\":\"past_session\"");
        let (sessions, rest): (Vec<_>, Vec<_>) = lines.iter().cloned().partition(|line| is_session(&line));
        assert_eq!(sessions.len(), 1);
        with_another(async |other| {
            let [first, second] = [other.importing().await, other.importing().await];
            other.import(&sessions, Run::Real).await.unwrap();
            drop(first);
            other.import_ended().await.unwrap();
            assert_eq!(other.import(&rest, Run::Real).await.unwrap().skipped, []);
            assert_eq!(exported(&other).await, lines);
            drop(second);
            other.import_ended().await.unwrap();
            assert_eq!(exported(&other).await, lines);
        })
        .await;
    });
}

#[test]
fn an_export_that_is_imported_comes_out_as_it_went_in() {
    with_service(async |service| {
        let mut exchanges = talk(0..3);
        exchanges[2] = exchange(2, "line one\nline two", "a \"quoted\" reply");
        service.history.commit(batch("s1", exchanges)).await.unwrap();
        let lines = exported(&service).await;
        with_another(async |other| {
            let imported = other.import(&lines, Run::Real).await.unwrap();
            assert_eq!((imported.created, &imported.skipped), (4, &Vec::new()));
            assert_eq!(exported(&other).await, lines);
            assert_eq!(other.import(&lines, Run::Real).await.unwrap().created, 0);
            assert_eq!(found(&other, &word(1)).await.1.len(), 1, "it is indexed");
            // Its own transcript changes nothing.
            let again = other.history.commit(batch("s1", talk(0..2))).await.unwrap();
            assert_eq!(again, committed(0, 0, 2));
        })
        .await;
    });
}

#[test]
fn the_index_is_derived_and_follows_a_merge_of_projects() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |service: &Service| {
        let checks = service.examine(true).await;
        checks.into_iter().find(|check| check.name == "history").unwrap()
    };
    run(async {
        let service = open(folder.path()).await;
        service.history.commit(batch("s1", talk(0..5))).await.unwrap();
        assert_eq!(found(&service, &word(3)).await.1.len(), 1);
        assert_eq!(check(&service).await.health, doctor::Health::Sound);
        service.close().await.unwrap();
        std::fs::remove_dir_all(folder.path().join("index-history")).unwrap();

        let service = open(folder.path()).await;
        assert_eq!(found(&service, &word(3)).await.1.len(), 1, "built anew");
        let index = service.recall.evidence.index(Evidence::History, WAIT).await.unwrap();
        let gone = ExchangeId::of("claude-code", &session("s1"), 3);
        index.push(cerebro_search::lexical::Change::Erase(gone.into())).unwrap();
        assert_eq!(check(&service).await.health, doctor::Health::Repaired);
        assert_eq!(found(&service, &word(3)).await.1.len(), 1, "mended");
        let other = Project::parse("renamed").unwrap();
        assert_eq!(service.journal.merge_projects(&project(), &other).await.unwrap().past_sessions, 1);
        assert_eq!(found(&service, &word(3)).await.1, []);
        let request = asked(&format!("prompt {}", word(3)), Some(other));
        // On a busy machine, a hint may not wait long enough for the index.
        let hint = async || service.recall.evidence_hint(Evidence::History, &request).await.unwrap();
        until("the hint", async || hint().await.is_some_and(|hint| hint.id == gone.to_string())).await;
        service.close().await.unwrap();
    });
}

#[test]
fn a_hint_during_an_import_names_nothing_that_was_forgotten() {
    with_service(async |service| {
        service.history.commit(batch("s1", talk(0..5))).await.unwrap();
        assert_eq!(found(&service, &word(3)).await.1.len(), 1);
        service.recall.evidence.set_growing(Evidence::History, true);
        let request = asked(&format!("prompt {}", word(3)), Some(project()));
        let hint = async || service.recall.evidence_hint(Evidence::History, &request).await.unwrap();
        assert!(hint().await.is_some());
        let whole = Forget { session: Some(session("s1")), ..Forget::default() };
        service.history.forget(&whole, Run::Real).await.unwrap();
        assert_eq!(hint().await, None);
    });
}

fn caller() -> Caller {
    Caller { project: project(), agent: agent_name("test"), person: false, session: session("live") }
}

/// What a search of memories gives, to the bit.
async fn order(service: &Service) -> Vec<Vec<(String, u32)>> {
    let mut all = Vec::new();
    for query in ["walrus number7", "what does reply say of prompt 12", "tusk", "number3 number4"] {
        let request = SearchRequest { query: query.to_owned(), limit: 50, ..SearchRequest::default() };
        let found = service.recall.search(&caller(), request).await.unwrap();
        all.push(found.hits.iter().map(|hit| (hit.id.to_string(), hit.score.to_bits())).collect());
    }
    all
}

#[test]
fn no_order_of_memories_changes_with_2000_exchanges_beside_them() {
    with_service(async |service| {
        for n in 0..40 {
            let content = format!("The walrus number{n} has a tusk; reply {} of prompt {n}.", n * 3);
            let scope = Scope::Project(project());
            let request = SaveRequest::new(format!("Walrus {n}"), content, scope, Door::EXPLICIT);
            service.memories.save(&caller(), request).await.unwrap();
        }
        let before = order(&service).await;
        assert!(before.iter().all(|hits| !hits.is_empty()));
        for n in 0..10 {
            service.history.commit(batch(&format!("past{n}"), talk(0..200))).await.unwrap();
        }
        assert_eq!(service.history.counts().await.unwrap().exchanges, 2_000);
        assert_eq!(found(&service, &word(7)).await.0, Match::Strong);
        assert_eq!(order(&service).await, before);
    });
}

#[test]
fn who_watches_an_import_has_it_count_for_a_tenth_of_the_time() {
    let took = Duration::from_millis(30);
    assert!(are_recent(Duration::ZERO, took) && are_recent(took * (COUNTS_LAST - 1), took));
    assert!(!are_recent(took * COUNTS_LAST, took));
    with_service(async |service| {
        let (history, added) = (&service.history, batch("s", talk(0..3)));
        assert_eq!(history.counts().await.unwrap().exchanges, 0);
        history.commit(added).await.unwrap();
        lock(&history.counted).as_mut().unwrap().took = Duration::from_secs(60);
        assert_eq!(history.recent_counts().await.unwrap().exchanges, 0);
        lock(&history.counted).as_mut().unwrap().took = Duration::ZERO;
        let counts = history.recent_counts().await.unwrap();
        assert_eq!((counts.sessions, counts.exchanges, counts.by_agent.len()), (1, 3, 1));
    });
}
