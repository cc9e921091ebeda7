//! Proof on a real store: each way of tampering is found and named, and an epoch that is closed cannot be signed anew.
//!
//! `CEREBRO_TEST_SCALE=1` tries all that `make proof-full` does; where nothing is said, it is little.

use std::fmt::Write as _;

use cerebro_core::text::hex;
use cerebro_ledger::{
    ChainedEvent,
    seal::{EpochKey, Log},
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::*;

/// How many tamperings are tried in all, and how many of them at once, each with a piece of work of its own.
const TAMPERINGS: usize = 1_000;
const AT_ONCE: usize = 16;
/// How many are tried where nothing is said: each way once.
const SOME: usize = 48;

/// All of it, or a part, where somebody asks for that.
pub(super) fn scaled(full: usize, otherwise: usize) -> usize {
    match std::env::var("CEREBRO_TEST_SCALE").map(|text| text.parse::<f64>()) {
        Ok(Ok(scale)) if scale >= 1.0 => full,
        Ok(Ok(scale)) => (1..=full).rev().find(|part| *part as f64 <= full as f64 * scale).unwrap_or(1),
        _ => otherwise,
    }
}

/// The seed of a test, which is printed so that it can be given again.
pub(super) fn seeded() -> StdRng {
    let seed = std::env::var("CEREBRO_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or_else(rand::random);
    eprintln!("CEREBRO_TEST_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// A piece of work with its rows, and its row as it was before the last events.
struct Piece {
    now: Work,
    before: Work,
    rows: Vec<ChainedEvent>,
    sealed: u64,
}

/// Ends a process without its last seal, as a kill does.
pub(super) async fn killed(service: Service) {
    service.base.store.drain().await;
    service.close().await.unwrap();
}

async fn furnished(service: &Service, rng: &mut StdRng, count: usize) -> Vec<Piece> {
    let me = actor("s1");
    let mut begun = Vec::new();
    for n in 0..count {
        let begin =
            BeginWork { title: format!("piece {n}"), key: Some(format!("key-{n}")), ..BeginWork::default() };
        let id = service.journal.begin(&me, begin).await.unwrap().0.id;
        let long = Step::Note { text: format!("{n} {}", "y".repeat(9_000)) };
        let mut steps: Vec<Happening> =
            (0..rng.random_range(2..6)).map(|i| prompt(&format!("{n} asks {i}"))).collect();
        steps.push(long.into());
        service.journal.append(&me, Target::Work(id), steps).await.unwrap();
        begun.push((id, service.base.store.works().by_id(&id).await.unwrap().unwrap().work));
        if rng.random_bool(0.3) {
            service.journal.head().await.unwrap();
        }
    }
    let mut pieces = Vec::new();
    for (id, before) in begun {
        let more = (0..rng.random_range(2..5)).map(|i| prompt(&format!("later {i}"))).collect();
        service.journal.append(&me, Target::Work(id), more).await.unwrap();
        if rng.random_bool(0.5) {
            service.journal.head().await.unwrap();
        }
        pieces.push((id, before));
    }
    let mut furnished = Vec::new();
    for (id, before) in pieces {
        let stored = service.base.store.works().by_id(&id).await.unwrap().unwrap();
        let rows = service.journal.all_events(&stored.work).await.unwrap();
        furnished.push(Piece { now: stored.work, before, rows, sealed: stored.sealed });
    }
    furnished
}

impl Piece {
    fn row(&self) -> String {
        format!("work:`{}`", self.now.id)
    }

    fn event(&self, seq: u64) -> String {
        format!("work_event:`{}-{seq:08}`", self.now.id)
    }

    fn artifact(&self) -> String {
        let id = self.rows.iter().find_map(|kept| kept.artifact.as_deref()).unwrap();
        format!("artifact:`{id}`")
    }

    /// The statements of a way to tamper with it, and what that is called.
    fn tampered(&self, way: usize, rng: &mut StdRng) -> (String, &'static str) {
        let last = self.now.seq;
        let any = rng.random_range(1..=last);
        let inner = rng.random_range(2..last);
        let (row, event) = (self.row(), self.event(any));
        let edit = |what: &str| (format!("UPDATE {event} SET {what};"), "edited");
        let of_row = |what: &str| (format!("UPDATE {row} SET {what};"), "row_edited");
        match way {
            0 => edit("body = '{\"kind\":\"note\",\"text\":\"other\"}'"),
            1 => edit("kind = 'confirmed'"),
            2 => edit("at = d'2020-01-01T00:00:00.000001Z'"),
            3 => edit("late = true"),
            4 => edit("mac = 'x'"),
            5 => edit("commitment = 'x'"),
            6 => edit("salt = NONE"),
            7 => edit("once = 'ab'"),
            8 => edit("full = 1"),
            9 => (format!("DELETE {};", self.event(inner)), "deleted"),
            10 => (format!("DELETE {};", self.event(last)), "cut_tail"),
            11 => (self.taken_out(inner), "deleted"),
            12 => (self.swapped(inner), "reordered"),
            13 => (self.copied(&self.event(last + 1)), "inserted"),
            14 => of_row("status = 'closed'"),
            15 => of_row("live = false"),
            16 => of_row("holder = 'me', until = d'2030-01-01T00:00:00.000001Z'"),
            17 => of_row("outcome = 'done'"),
            18 => of_row("head = 'x'"),
            19 => of_row("mac = 'x'"),
            20 => of_row("key_id = 'another'"),
            21 => of_row("agent = 'somebody'"),
            22 => of_row("unknown = 9"),
            23 => of_row("name = NONE"),
            24 => of_row("name = 'another'"),
            25 => of_row("sealed = 99"),
            26 => of_row("owner = 'another'"),
            27 => of_row("session = session:`another`"),
            28 => (self.rolled_back(), "rolled_back"),
            29 if self.sealed > self.before.seq => {
                let cut = format!("DELETE work_event WHERE work = {row} AND seq > {};", self.before.seq);
                (format!("{}{cut}", self.rolled_back()), "rolled_back")
            }
            30 => (format!("DELETE {row};"), "work_missing"),
            31 => (format!("UPDATE {} SET data = <bytes>'abc';", self.artifact()), "artifact_changed"),
            32 => (format!("DELETE {};", self.artifact()), "artifact_missing"),
            33 => of_row("fence = 9"),
            34 => (self.copied(&format!("work_event:`{}`", WorkId::random())), "inserted"),
            35 => {
                (format!("UPDATE {} SET work = work:`{}`;", self.event(inner), WorkId::random()), "deleted")
            }
            36 => of_row("title = 'another'"),
            38 => of_row("project = 'elsewhere'"),
            39 => {
                let key = self.now.key.as_ref().unwrap();
                of_row(&format!(r"name = 'key\nlocal\nelsewhere\n{key}'"))
            }
            37 => (
                format!(
                    "DEFINE FIELD OVERWRITE kind ON work_event TYPE any; UPDATE {} SET kind = 7;",
                    self.event(inner)
                ),
                "edited",
            ),
            _ => of_row("lost = true"),
        }
    }

    /// An event is taken out, and those behind it close the gap.
    fn taken_out(&self, seq: u64) -> String {
        let mut script = format!("DELETE {};", self.event(seq));
        for later in seq + 1..=self.now.seq {
            write!(script, "UPDATE {} SET seq = {};", self.event(later), later - 1).unwrap();
        }
        script
    }

    /// Two events change places.
    fn swapped(&self, seq: u64) -> String {
        let (one, two) = (self.event(seq), self.event(seq + 1));
        format!(
            "UPDATE {one} SET seq = 99999; UPDATE {two} SET seq = {seq}; UPDATE {one} SET seq = {};",
            seq + 1
        )
    }

    /// A genuine event is there twice, the second time under an id.
    fn copied(&self, id: &str) -> String {
        let (seq, first) = (self.now.seq + 1, &self.rows[1]);
        format!(
            "CREATE {id} CONTENT {{ work: {}, seq: {seq}, at: d'{}', kind: '{}', late: false, full: {}, \
             body: {}, salt: '{}', commitment: '{}', mac: '{}' }};",
            self.row(),
            first.at,
            first.kind,
            first.full,
            serde_json::to_string(first.body.as_deref().unwrap()).unwrap(),
            hex(first.salt.as_ref().unwrap()),
            first.commitment.hex(),
            first.mac.hex(),
        )
    }

    /// The row is as it was before the last events.
    fn rolled_back(&self) -> String {
        let Work { seq, head, row_mac, active_at, .. } = &self.before;
        let (head, mac) = (head.hex(), row_mac.hex());
        let row = self.row();
        format!("UPDATE {row} SET seq = {seq}, head = '{head}', mac = '{mac}', active_at = d'{active_at}';")
    }
}

async fn alter(folder: &Path, script: &str) {
    cerebro_testing::alter(&folder.join("store"), script).await.unwrap();
}

/// What is found, as the name of each finding, by piece of work.
async fn found(folder: &Path) -> Vec<(Option<WorkId>, &'static str)> {
    let service = open_with(folder, Timestamp::now, keeping_all()).await;
    let verified = service.journal.verify(&[]).await.unwrap();
    // Whatever was tampered with, lists go on, and nothing that is wrong is sealed.
    service.journal.list(&actor("s1"), WorkQuery { limit: 9, ..WorkQuery::default() }).await.unwrap();
    killed(service).await;
    verified.findings.iter().map(|found| (found.work, found.finding.name())).collect()
}

#[test]
fn each_tampering_is_found_and_named() {
    const WAYS: usize = 41;
    let mut rng = seeded();
    let mut ways = 0..;
    for _ in 0..scaled(TAMPERINGS, SOME).div_ceil(AT_ONCE) {
        run(async |folder| {
            let service = open_with(folder, Timestamp::now, keeping_all()).await;
            let pieces = Box::pin(furnished(&service, &mut rng, AT_ONCE)).await;
            assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
            killed(service).await;
            let mut wanted = Vec::new();
            let mut script = String::new();
            for piece in &pieces {
                let (statements, name) = piece.tampered(ways.next().unwrap() % WAYS, &mut rng);
                script.push_str(&statements);
                wanted.push((piece.now.id, name, statements));
            }
            alter(folder, &script).await;
            let found = found(folder).await;
            for (id, name, statements) in wanted {
                let of_it: Vec<&str> =
                    found.iter().filter(|(work, _)| *work == Some(id)).map(|(_, name)| *name).collect();
                assert!(of_it.contains(&name), "{statements}\n{of_it:?} lack {name}");
                // Naming too much would be no naming; two that change places are two.
                assert!(
                    of_it.iter().all(|found| *found == name) && of_it.len() <= 2,
                    "{statements}\n{of_it:?}"
                );
            }
            assert!(found.iter().all(|(work, _)| work.is_some()), "the seals are whole: {found:?}");
        });
    }
}

#[test]
fn a_write_that_meets_an_inserted_event_says_so_at_once() {
    let mut rng = seeded();
    run(async |folder| {
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let pieces = Box::pin(furnished(&service, &mut rng, 2)).await;
        killed(service).await;
        let (met, other) = (&pieces[0], &pieces[1]);
        let next = met.now.seq + 1;
        alter(folder, &met.copied(&met.event(next))).await;
        let service = open_with(folder, Timestamp::now, keeping_all()).await;
        let note = async |work| {
            service.journal.append(&actor("s1"), Target::Work(work), vec![prompt("go on")]).await
        };
        let refused = note(met.now.id).await.unwrap_err();
        let is_told = matches!(
            &refused,
            crate::ServiceError::Store(cerebro_store::StoreError::Inserted { work, seq })
                if (*work, *seq) == (met.now.id, next)
        );
        assert!(is_told, "{refused}");
        assert_eq!(note(other.now.id).await.unwrap().recorded, 1);
        killed(service).await;
    });
}

#[test]
fn a_seal_that_is_removed_or_changed_and_keys_that_are_gone_are_found() {
    let mut rng = seeded();
    for way in 0..scaled(TAMPERINGS / 10, 8) {
        run(async |folder| {
            let service = open_with(folder, Timestamp::now, keeping_all()).await;
            Box::pin(furnished(&service, &mut rng, 3)).await;
            service.journal.head().await.unwrap();
            let origin = lock(&service.journal.held.keyring).origin().to_owned();
            let seals = service.journal.all_seals(&origin).await.unwrap();
            killed(service).await;
            let number = match way % 4 {
                // The last one is missing too when nothing follows it.
                0 => seals.len() as u64 - 1,
                _ => rng.random_range(0..seals.len() as u64),
            };
            let one = format!("WHERE origin = '{origin}' AND number = {number}");
            let (script, name) = match way % 8 {
                0 | 1 => (format!("DELETE seal {one};"), "seal_missing"),
                2 => (format!("UPDATE seal SET leaves = array::append(leaves, 'x') {one};"), "seal_edited"),
                3 => (format!("UPDATE seal SET signature = 'x' {one};"), "seal_edited"),
                4 => (format!("UPDATE seal SET root = '{}' {one};", "0".repeat(64)), "seal_edited"),
                5 => (format!("UPDATE seal SET size += 1 {one};"), "seal_edited"),
                6 => ("DELETE seal;".to_owned(), "seal_missing"),
                _ => (String::new(), "key_missing"),
            };
            if script.is_empty() {
                std::fs::remove_file(folder.join(KEYS_FILE)).unwrap();
            } else {
                alter(folder, &script).await;
            }
            let found = found(folder).await;
            assert!(found.contains(&(None, name)), "{script}: {found:?}");
            assert!(
                found.iter().all(|(work, found)| work.is_none() && *found == name),
                "{script}: {found:?}"
            );
            // Nor does a later seal close the gap.
            assert_eq!(self::found(folder).await, found, "{script}");
        });
    }
}

#[test]
fn a_closed_epoch_cannot_be_signed_anew_with_all_that_the_home_has() {
    run(async |folder| {
        let service = open_with(folder, TestClock::<15>::now, keeping_all()).await;
        let first = std::fs::read_to_string(folder.join(KEYS_FILE)).unwrap();
        begin(&service, "in the first epoch").await;
        service.journal.head().await.unwrap();
        for day in 0..2 {
            TestClock::<15>::advance(Duration::from_secs(25 * 3_600));
            begin(&service, &format!("a day later, {day}")).await;
            service.journal.head().await.unwrap();
        }
        let origin = lock(&service.journal.held.keyring).origin().to_owned();
        let seals = service.journal.all_seals(&origin).await.unwrap();
        assert_eq!(seals.iter().map(|seal| seal.epoch).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(service.journal.verify(&[]).await.unwrap().findings, []);
        killed(service).await;

        let secret = |text: &str| {
            let keys: serde_json::Value = serde_json::from_str(text).unwrap();
            cerebro_ledger::seal::unhex(keys["secret"].as_str().unwrap()).unwrap()
        };
        let keys = std::fs::read_to_string(folder.join(KEYS_FILE)).unwrap();
        assert!(!keys.contains(&hex(&secret(&first))), "the key of a closed epoch is destroyed");
        // The whole tree is made again, without a leaf of the first epoch, and signed with the key that is there.
        let key = EpochKey::new(&secret(&keys));
        let (mut log, mut script) = (Log::default(), String::new());
        for seal in &seals {
            let leaves = if seal.number == 0 { vec!["nothing".to_owned()] } else { seal.leaves.clone() };
            let forged = log.seal(&origin, leaves, seal.epoch, &key, seal.next);
            write!(
                script,
                "UPDATE seal SET leaves = {}, root = '{}', signature = '{}' WHERE number = {};",
                serde_json::to_string(&forged.leaves).unwrap(),
                hex(&forged.root),
                hex(&forged.signature),
                seal.number,
            )
            .unwrap();
        }
        alter(folder, &script).await;
        let service = open_with(folder, TestClock::<15>::now, keeping_all()).await;
        let findings = service.journal.verify(&[]).await.unwrap().findings;
        for seal in [0, 1] {
            assert!(
                findings.iter().any(|found| found.finding == Finding::SealEdited { seal }),
                "{findings:?}"
            );
        }
        killed(service).await;
    });
}
