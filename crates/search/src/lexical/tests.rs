//! The index by its public methods: freshness, filters, order, reopening, damage.

use std::{fs, path::Path, sync::Arc};

use cerebro_core::domain::{Kind, Project, Scope, ScopeName};

use super::*;
use cerebro_core::domain::{Body, MemoryId, limits};
use cerebro_core::recall::Match;

pub(super) fn text(text: &str) -> RedactedText {
    RedactedText::from_store(text.to_owned())
}

pub(super) fn doc(id: &str, title: &str, content: &str) -> Doc {
    Doc {
        id: MemoryId::parse(id).unwrap().into(),
        body: Body {
            scope: Scope::Project(Project::parse("alpha").unwrap()),
            kind: Kind::manual(),
            title: text(title),
            content: text(content),
            topic_key: None,
            tags: Vec::new(),
        },
        agent: text("tester"),
        date: Timestamp::from_second(1_700_000_000).unwrap(),
        session: None,
        near_keys: vec![1, 2],
        title_key: 9,
        valid: Validity::default(),
        archived: false,
        taint: Taint::default(),
        held: (Timestamp::MIN, Timestamp::MAX),
    }
}

fn query(words: &str) -> Query {
    Query { limit: 10, ..Query::of(text(words), Projects::All) }
}

const A: &str = "aaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbb";
const C: &str = "cccccccccccc";

fn push(index: &Index, change: Change, seq: u64) {
    index.push(change).unwrap();
    index.reach("w", seq);
}

fn reached(seq: u64) -> Checkpoint {
    Checkpoint { store: String::new(), places: [("w".to_owned(), seq)].into() }
}

fn put(index: &Index, doc: Doc, seq: u64) {
    push(index, Change::Put(Box::new(doc)), seq);
}

fn ids(index: &Index, query: &Query) -> Vec<String> {
    index.search(query, Arc::default).unwrap().hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn new_index() -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(index.checkpoint(), Checkpoint::default());
    (dir, index)
}

#[test]
fn a_search_sees_every_push_before_it() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "first", "zebra crossing"), 1);
    assert_eq!(ids(&index, &query("zebras")), [A]);
    put(&index, doc(A, "first", "giraffe"), 2);
    assert_eq!(ids(&index, &query("zebra")), [""; 0]);
    assert_eq!(ids(&index, &query("giraffe")), [A]);
    push(&index, Change::Remove(MemoryId::parse(A).unwrap().into()), 3);
    assert_eq!(ids(&index, &query("giraffe")), [""; 0]);
    assert_eq!(index.len(), 0);
}

#[test]
fn queued_changes_are_found_like_committed_ones() {
    let (_dir, index) = new_index();
    let long = "A walrus sleeps on the ice. ".repeat(120);
    for (seq, id, title, content) in
        [(1, A, "walrus", "one walrus"), (2, B, "sea", long.as_str()), (3, C, "src/ice.rs", "ice")]
    {
        put(&index, doc(id, title, content), seq);
    }
    let asked = ["walrus", "ice", "src/ice.rs", "the sleeping walrus on the ice", "nothing of it"].map(query);
    let queued: Vec<Answer> = asked.iter().map(|query| index.search(query, Arc::default).unwrap()).collect();
    assert_eq!(index.checkpoint(), Checkpoint::default(), "nothing is committed yet");
    index.flush().unwrap();
    for (query, queued) in asked.iter().zip(&queued) {
        assert_eq!(index.search(query, Arc::default).unwrap(), *queued, "{}", query.text);
    }
}

#[test]
fn a_queued_change_hides_the_committed_one() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "a", "walrus"), 1);
    put(&index, doc(B, "b", "walrus"), 2);
    index.flush().unwrap();
    put(&index, doc(A, "a", "giraffe"), 3);
    push(&index, Change::Remove(MemoryId::parse(B).unwrap().into()), 4);
    assert_eq!(ids(&index, &query("walrus")), [""; 0]);
    assert_eq!(ids(&index, &query("giraffe")), [A]);
    assert_eq!(index.len(), 1);
}

#[test]
fn a_flush_is_due_for_many_changes_or_an_erasure() {
    let (_dir, index) = new_index();
    let mut seq = 0;
    while !index.is_due() {
        seq += 1;
        put(&index, doc(MemoryId::random().as_str(), "n", "number"), seq);
    }
    index.flush_if_due().unwrap();
    assert_eq!(index.checkpoint().places.get("w"), Some(&seq));
    put(&index, doc(A, "a", "walrus"), seq + 1);
    index.flush_if_due().unwrap();
    assert_eq!(index.checkpoint().places.get("w"), Some(&seq), "one more is not due");
    push(&index, Change::Erase(MemoryId::parse(A).unwrap().into()), seq + 2);
    assert!(index.is_due());
}

#[test]
fn the_checkpoint_passes_events_without_changes() {
    let (dir, index) = new_index();
    put(&index, doc(A, "a", "walrus"), 1);
    index.flush().unwrap();
    index.reach("w", 900);
    assert!(!index.is_due());
    index.reach("w", 1_100);
    assert!(index.is_due());
    index.flush_if_due().unwrap();
    assert!(!index.is_due());
    assert_eq!(index.checkpoint(), reached(1_100));
    index.reach("w", 1_101);
    index.close().unwrap();
    drop(index);
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(index.checkpoint(), reached(1_101));
    assert_eq!(ids(&index, &query("walrus")), [A]);
}

#[test]
fn a_checkpoint_names_its_store_and_an_older_format_is_ignored() {
    let (dir, index) = new_index();
    index.belong("the store");
    put(&index, doc(A, "a", "walrus"), 1);
    index.close().unwrap();
    drop(index);
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(index.checkpoint(), Checkpoint { store: "the store".to_owned(), ..reached(1) });
    assert_eq!(Checkpoint::from_json(r#"{"w":1}"#), None);
}

#[test]
fn a_query_of_what_is_committed_leaves_the_queue_out() {
    let (_dir, index) = new_index();
    let committed = Query { queued: false, ..query("walrus") };
    put(&index, doc(A, "a", "walrus"), 1);
    index.flush().unwrap();
    put(&index, doc(B, "b", "walrus"), 2);
    for _ in 0..2 {
        assert_eq!(ids(&index, &committed), [A]);
        assert_eq!(ids(&index, &query("walrus")).len(), 2);
    }
    let projects = Projects::within(Project::parse("beta").as_ref());
    let outside = |query: Query| {
        index.outside(&Query { projects: projects.clone(), ..query }, 0.1, |_| true).unwrap().into_values()
    };
    assert_eq!(outside(committed.clone()).collect::<Vec<_>>(), [1]);
    assert_eq!(outside(query("walrus")).collect::<Vec<_>>(), [2]);
    index.flush().unwrap();
    assert_eq!(ids(&index, &committed).len(), 2);
}

#[test]
fn a_flush_during_a_commit_does_not_claim_the_rest() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "a", "walrus"), 1);
    for _ in 0..limits::INDEX_PENDING_MAX {
        index.push(Change::Put(Box::new(doc(MemoryId::random().as_str(), "n", "number")))).unwrap();
    }
    assert!(index.len() > limits::INDEX_PENDING_MAX as u64);
    assert_eq!(index.checkpoint(), reached(1), "the commit is not all here");
}

#[test]
fn a_memory_may_change_leave_and_come_back_in_any_order() {
    let (_dir, index) = new_index();
    for round in 0..12 {
        put(&index, doc(A, "a", &format!("walrus {round}")), round);
        put(&index, doc(B, "b", "walrus"), round);
        put(&index, doc(MemoryId::random().as_str(), "other", "penguin"), round);
        let mut found = ids(&index, &query("walrus"));
        found.sort();
        assert_eq!(found, [A, B], "round {round}");
        push(&index, Change::Remove(MemoryId::parse(B).unwrap().into()), round);
        if round % 2 == 0 {
            assert_eq!(ids(&index, &query("walrus")), [A], "round {round}");
        }
    }
    index.flush().unwrap();
    assert_eq!(index.len(), 13);
}

#[test]
fn every_spelling_of_the_contract_is_found() {
    let (_dir, index) = new_index();
    let text = "HNSW_CACHE_SIZE src/main.rs E0502 parseHTTPHeader Müller café Москва 東京都 4f2a9c1d77 git commit --no-verify";
    put(&index, doc(A, "spellings", text), 1);
    put(&index, doc(B, "other", "cache size of the main source"), 2);
    for asked in [
        "HNSW_CACHE_SIZE",
        "hnsw cache",
        "src/main.rs",
        "E0502",
        "parseHTTP",
        "parse http headers",
        "Muller",
        "cafés",
        "Москву",
        "東京",
        "4f2a9c1",
        "--no-verify",
        "\"parseHTTPHeader\" (!?)",
    ] {
        assert_eq!(ids(&index, &query(asked)).first().map(String::as_str), Some(A), "{asked}");
    }
}

#[test]
fn filters_are_exact() {
    let (_dir, index) = new_index();
    let mut personal = doc(B, "b", "shared word");
    personal.scope = Scope::Personal;
    let mut other = doc(C, "c", "shared word");
    other.scope = Scope::Project(Project::parse("beta").unwrap());
    other.kind = Kind::parse("decision").unwrap();
    other.tags = vec![text("x"), text("y")];
    other.date = Timestamp::from_second(1_800_000_000).unwrap();
    for (seq, doc) in (1..).zip([doc(A, "a", "shared word"), personal, other]) {
        put(&index, doc, seq);
    }
    let found = |change: &dyn Fn(&mut Query)| {
        let mut query = query("word");
        change(&mut query);
        let mut ids = ids(&index, &query);
        ids.sort();
        ids.concat()
    };
    let of =
        |name: &str, with_personal| Projects::Of { project: Project::parse(name).unwrap(), with_personal };
    let later = Timestamp::from_second(1_750_000_000).ok();
    assert_eq!(found(&|_| ()), [A, B, C].concat());
    assert_eq!(found(&|q| q.projects = of("alpha", false)), A);
    assert_eq!(found(&|q| q.projects = of("alpha", true)), [A, B].concat());
    assert_eq!(found(&|q| q.scope = Some(ScopeName::Personal)), B);
    assert_eq!(found(&|q| q.kind = Kind::parse("decision")), C);
    assert_eq!(found(&|q| q.tags = vec![text("x"), text("y")]), C);
    assert_eq!(found(&|q| q.tags = vec![text("x"), text("z")]), "");
    assert_eq!(found(&|q| q.since = later), C);
    assert_eq!(found(&|q| q.until = later), [A, B].concat());
}

#[test]
fn exact_comes_first_and_ties_go_to_the_newer_then_by_id() {
    let (_dir, index) = new_index();
    let mut newer = doc(C, "same", "cache cache cache cache policy");
    newer.date = Timestamp::from_second(1_800_000_000).unwrap();
    put(&index, doc(B, "same", "cache cache cache cache policy"), 1);
    put(&index, newer, 2);
    put(&index, doc(A, "Cache: policy!", "nothing else here, and a good many words about other things"), 3);
    put(&index, doc("dddddddddddd", "same", "cache cache cache cache policy"), 4);
    let answer = index.search(&query("cache policy"), Arc::default).unwrap();
    let order: Vec<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(order, [A, C, B, "dddddddddddd"]);
    assert!(answer.hits[0].exact && !answer.hits[1].exact);
    let mut second = query("cache policy");
    (second.offset, second.limit) = (1, 2);
    assert_eq!(ids(&index, &second), [C, B]);
}

#[test]
fn missing_words_relax_and_stop_words_alone_still_find() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "note", "to be or not to be"), 1);
    put(&index, doc(B, "note", "the scheduler retries jobs"), 2);
    let whole = index.search(&query("how does the scheduler retry a job?"), Arc::default).unwrap();
    assert!(!whole.relaxed && whole.hits[0].full && whole.figures.label() == Match::Strong);
    let part = index.search(&query("scheduler jobs on kubernetes with helm charts"), Arc::default).unwrap();
    assert!(part.relaxed && part.hits.len() == 1 && part.figures.label() != Match::Strong);
    assert_eq!(ids(&index, &query("to be or not to be")), [A]);
    assert_eq!(index.search(&query("?!\"(){}[]^~*:\\"), Arc::default).unwrap().figures.label(), Match::None);
}

#[test]
fn a_name_that_occurs_nowhere_counts_beside_its_parts() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "note", "defined how to get all the names"), 1);
    let figures = |text: &str| index.search(&query(text), Arc::default).unwrap().figures;
    let absent = figures("where is get_all_names defined");
    assert!(absent.coverage > 0.99 && absent.named_coverage < 0.8, "{absent:?}");
    assert_eq!((absent.words, absent.named_words), (4, 5));
    put(&index, doc(B, "note", "get_all_names is defined here"), 2);
    assert!(figures("where is get_all_names defined").named_coverage > 0.99);
}

#[test]
fn near_looks_at_segments_and_at_the_queue() {
    let (_dir, index) = new_index();
    let near = |project: &str, keys: &[u64], title| {
        let scope = Scope::Project(Project::parse(project).unwrap());
        let found = index.near(&scope, keys, title, 10).unwrap();
        found.iter().map(ToString::to_string).collect::<String>()
    };
    put(&index, doc(A, "a", "a"), 1);
    assert_eq!(near("alpha", &[2, 3], 0), A);
    index.flush().unwrap();
    assert_eq!(near("alpha", &[2, 3], 0), A);
    assert_eq!(near("alpha", &[], 9), A);
    assert_eq!(near("alpha", &[5], 5), "");
    assert_eq!(near("beta", &[1], 9), "");
    push(&index, Change::Remove(MemoryId::parse(A).unwrap().into()), 2);
    assert_eq!(near("alpha", &[1], 9), "");
}

#[test]
fn one_character_of_a_script_without_blanks_is_found_anywhere_in_a_word() {
    let (_dir, index) = new_index();
    put(&index, doc(A, "连接 🚀", "数据库连接池满了"), 1);
    put(&index, doc(B, "walrus", "walrus"), 2);
    for text in ["库", "池", "了", "库连", "🚀", "🐛 库", "the 🚀"] {
        assert_eq!(ids(&index, &query(text)), [A], "{text}");
        index.flush().unwrap();
    }
}

fn holds(dir: &Path, marker: &str) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
    })
}

#[test]
fn erased_text_is_gone_from_the_files() {
    let (dir, index) = new_index();
    for i in 0..30 {
        put(&index, doc(MemoryId::random().as_str(), "filler", &format!("filler number {i}")), i);
        index.flush().unwrap();
    }
    put(&index, doc(A, "t", "qzxmarkerqzx"), 40);
    index.flush().unwrap();
    assert!(holds(dir.path(), "qzxmarkerqzx"));
    push(&index, Change::Erase(MemoryId::parse(A).unwrap().into()), 41);
    push(&index, Change::Remove(MemoryId::parse(A).unwrap().into()), 42);
    index.flush().unwrap();
    assert!(!holds(dir.path(), "qzxmarkerqzx"));
    assert_eq!(index.len(), 30);
}

#[test]
fn the_index_reopens_in_its_state_after_a_close_and_a_kill() {
    for clean in [true, false] {
        let (dir, index) = new_index();
        put(&index, doc(A, "kept", "kept"), 7);
        index.flush().unwrap();
        if clean {
            index.close().unwrap();
        } else {
            put(&index, doc(B, "lost", "lost"), 8);
        }
        drop(index);
        let index = Index::open(dir.path()).unwrap();
        assert_eq!(index.checkpoint(), reached(7), "clean: {clean}");
        assert_eq!(ids(&index, &query("kept lost")), [A]);
    }
}

#[test]
fn damage_is_detected_and_never_panics() {
    let (dir, index) = new_index();
    for i in 0..20 {
        put(&index, doc(MemoryId::random().as_str(), "kept", &format!("kept {i} words")), i);
    }
    index.flush().unwrap();
    drop(index);
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for file in files.iter().filter(|name| !name.to_string_lossy().ends_with(".lock")) {
        for harm in ["delete", "truncate", "garbage"] {
            let copy = tempfile::tempdir().unwrap();
            for name in &files {
                fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
            }
            let path = copy.path().join(file);
            let mut bytes = fs::read(&path).unwrap();
            match harm {
                "delete" => fs::remove_file(&path).unwrap(),
                "truncate" => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    for byte in &mut bytes {
                        *byte ^= 0x5a;
                    }
                    fs::write(&path, bytes).unwrap();
                }
            }
            let index = Index::open(copy.path()).unwrap();
            match index.search(&query("kept"), Arc::default) {
                Ok(answer) if index.checkpoint() != Checkpoint::default() => {
                    assert_eq!(answer.total, 20, "{file:?} {harm}");
                }
                Ok(answer) => assert_eq!(answer.total, 0, "{file:?} {harm}"),
                Err(error) => assert!(matches!(error, LexicalError::Damaged(_)), "{file:?} {harm}: {error}"),
            }
        }
    }
}

#[test]
fn many_small_commits_leave_few_segments() {
    let (dir, index) = new_index();
    for i in 0..60 {
        put(&index, doc(MemoryId::random().as_str(), "n", &format!("number {i}")), i);
        index.flush().unwrap();
    }
    index.close().unwrap();
    let stores = fs::read_dir(dir.path())
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|x| x == "store"));
    assert!(stores.count() <= 16);
    assert_eq!(index.len(), 60);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
    #[test]
    fn any_query_is_answered(text in "\\PC{0,300}|[\"'(){}\\[\\]^~*:+!&|\\\\/<> -]{0,2000}") {
        let (_dir, index) = new_index();
        put(&index, doc(A, "title", "some content"), 1);
        proptest::prop_assert!(index.search(&query(&text), Arc::default).is_ok());
    }
}

#[test]
fn memories_are_browsed_in_order_of_time_at_any_depth() {
    let (_dir, index) = new_index();
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let long = "many words ".repeat(2_000);
    for (id, second, content) in [(A, 30, long.as_str()), (B, 10, "short"), (C, 20, "short")] {
        put(&index, Doc { date: at(second), ..doc(id, "title", content) }, 1);
    }
    let page = |offset, limit| {
        let listing = index.browse(&Query { limit, offset, ..query("") }).unwrap();
        (listing.ids.iter().map(ToString::to_string).collect::<Vec<_>>(), listing.total)
    };
    assert_eq!(page(0, 2), (vec![A.to_owned(), C.to_owned()], 3));
    assert_eq!(page(2, 2), (vec![B.to_owned()], 3));
    assert_eq!(page(9, 2), (vec![], 3));
    let mut moments = index.moments(&Query { since: Some(at(15)), ..query("") }).unwrap();
    moments.sort();
    assert_eq!(moments, [at(20), at(30)], "one moment for a memory, however long it is");
    push(&index, Change::Remove(MemoryId::parse(A).unwrap().into()), 2);
    let mut bugfix = Doc { date: at(40), ..doc(B, "title", "x") };
    bugfix.kind = Kind::parse("bugfix").unwrap();
    put(&index, bugfix, 3);
    assert_eq!(page(0, 9), (vec![B.to_owned(), C.to_owned()], 2));
    let bugs = Query { kind: Kind::parse("bugfix"), ..query("") };
    assert_eq!(index.browse(&bugs).unwrap().total, 1);
}

#[test]
fn archived_memories_are_found_on_request_and_reported_if_clearly_better() {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::open(dir.path()).unwrap();
    let put = |doc: &Doc| index.push(Change::Put(Box::new(doc.clone()))).unwrap();
    let archived = Doc { archived: true, ..doc(A, "walrus", "One walrus lies on the ice.") };
    put(&archived);
    put(&doc(B, "penguin", "A penguin stands on the ice."));
    let ids = |words: &str, archived: Archived| {
        let query = Query { archived, ..query(words) };
        let answer = index.search(&query, Arc::default).unwrap();
        answer.hits.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    // In the queue, and then on disk beside others.
    for _ in 0..2 {
        assert_eq!(ids("walrus ice", Archived::Without), [B]);
        assert_eq!(ids("walrus ice", Archived::With), [A, B]);
        assert_eq!(ids("walrus ice", Archived::Only), [A]);
        assert_eq!(index.better_archived(&query("walrus ice")).unwrap(), 1);
        assert_eq!(index.better_archived(&query("walrus")).unwrap(), 1);
        assert_eq!(index.better_archived(&query("penguin")).unwrap(), 0);
        assert_eq!(index.browse(&query("")).unwrap().total, 1);
        index.flush().unwrap();
    }
    put(&Doc { archived: false, ..archived });
    assert_eq!(ids("walrus ice", Archived::Without), [A, B]);
    assert_eq!(index.better_archived(&query("walrus ice")).unwrap(), 0);
}
