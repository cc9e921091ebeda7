//! Two files of one session. The longer one counts; what only the other one has is not imported, and this says so.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::Intake;
use super::{
    folders::Form,
    reading::{Fault, Reading},
    state::FAULTS_MAX,
    take::{Trouble, blocking},
    walk::{Found, Stat},
};
use crate::{ServiceError, history::clean, lock};
use cerebro_core::domain::{HistoryTombstone, SourceState, Timestamp, native_digest};
use cerebro_core::text;

/// What is said of a file if another file has its session, and everything that is in this one.
pub(super) const IN_ANOTHER: &str = "another file has the same session and more of it";
/// Most native ids that are looked up at once.
const IDS_MAX: usize = 200;

/// The native ids of the first turns of a file's exchanges. Blocks.
fn firsts_of(found: Found, now: Timestamp) -> Result<Vec<String>, Fault> {
    let mut firsts = BTreeSet::new();
    Reading::each_exchange(found, now, |exchange| firsts.extend(exchange.first_id))?;
    Ok(firsts.into_iter().collect())
}

impl Intake {
    /// The existing file that a session was read from before, if it is another one.
    pub(super) fn other_holder(&self, found: &Found, session: &str) -> Option<PathBuf> {
        let known = lock(&self.state.known);
        let other = known.as_ref()?.holder(found.agent, session)?;
        (other != found.path && other.is_file()).then(|| other.to_path_buf())
    }

    /// What is said of a file that is left out because another one has its session. The status says what only this one has.
    pub(super) async fn left_out_for(&self, found: &Found, other: &Path) -> Result<String, Trouble> {
        let missing = self.missing_of(found).await?;
        if missing == 0 {
            self.set_apart(&found.path, None);
            return Ok(IN_ANOTHER.to_owned());
        }
        let words = format!(
            "the same session was longer in {}; not imported, and in no other file: {}",
            other.display(),
            text::counted(missing, "exchange")
        );
        self.set_apart(&found.path, Some(words.clone()));
        Ok(words)
    }

    /// Examines the file that a session was read from before a longer one took its place.
    pub(super) async fn note_former(&self, found: &Found, former: PathBuf) -> Result<(), Trouble> {
        let is_packed = former.extension().is_some_and(|ending| ending == "zst");
        let form = match found.form {
            Form::Lines | Form::Packed if is_packed => Form::Packed,
            Form::Lines | Form::Packed => Form::Lines,
            _ => return Ok(()),
        };
        let key = former.to_string_lossy().into_owned();
        let former = Found { form, path: former, stat: Stat::default(), ..found.clone() };
        let words = match self.left_out_for(&former, &found.path).await {
            Ok(words) => words,
            // The file is being moved.
            Err(Trouble::Source(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(mut source) =
            self.history.source(found.agent, &key).await?.filter(|_| words != IN_ANOTHER)
        {
            (source.state, source.error) = (SourceState::Excluded, Some(clean(&words)));
            self.history.put_source(&source).await?;
        }
        Ok(())
    }

    /// How many exchanges of a file are nowhere in the store, by the native ids of their first turns.
    async fn missing_of(&self, found: &Found) -> Result<usize, Trouble> {
        let (opened, now) = (found.clone(), self.base.now());
        let firsts = blocking(move || firsts_of(opened, now)).await??;
        let mut missing = firsts.len();
        for some in firsts.chunks(IDS_MAX) {
            let ids: Vec<&str> = some.iter().map(String::as_str).collect();
            let mut stored: Vec<String> =
                self.history.owners(&ids).await?.into_iter().map(|(id, _)| id).collect();
            stored.extend(self.forgotten_among(&ids).await?);
            stored.sort_unstable();
            stored.dedup();
            missing -= stored.len();
        }
        Ok(missing)
    }

    /// Those of some native ids whose exchange was forgotten.
    pub(super) async fn forgotten_among(&self, ids: &[&str]) -> Result<Vec<String>, ServiceError> {
        let tombstone = |id: &str| HistoryTombstone::of_turn(&native_digest(id));
        let asked: Vec<HistoryTombstone> = ids.iter().map(|id| tombstone(id)).collect();
        let buried = self.base.store.history().tombstones_among(&asked).await?;
        Ok(ids.iter().filter(|id| buried.contains(&tombstone(id))).map(|id| (*id).to_owned()).collect())
    }

    /// Keeps what is said of a file that is not read, until it changes or is gone.
    pub(super) fn set_apart(&self, path: &Path, words: Option<String>) {
        if let Some(known) = lock(&self.state.known).as_mut() {
            match &words {
                Some(words) => known.apart.insert(path.to_path_buf(), words.clone()),
                None => known.apart.remove(path),
            };
        }
        let mut progress = lock(&self.state.progress);
        match words {
            Some(words) => progress.failed(path, &words),
            None => progress.recovered(path),
        }
    }

    /// Names the files that are not read until they change.
    pub(super) fn name_apart(&self) {
        let apart: Vec<(PathBuf, String)> = {
            let known = lock(&self.state.known);
            let all = known.iter().flat_map(|known| &known.apart).take(FAULTS_MAX);
            all.map(|(path, words)| (path.clone(), words.clone())).collect()
        };
        let mut progress = lock(&self.state.progress);
        for (path, words) in &apart {
            progress.failed(path, words);
        }
    }

    /// Whether something is said of a file that is not read until it changes.
    pub(super) fn is_apart(&self, path: &Path) -> bool {
        lock(&self.state.known).as_ref().is_some_and(|known| known.apart.contains_key(path))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, ops::Range};

    use super::*;
    use crate::{
        history::tests::{session, with_service},
        intake::{settings::HistorySettings, take::Pass},
    };
    use cerebro_transcript::Agent;

    /// A transcript of one session, with some of its turns.
    fn turns(numbers: Range<u32>) -> String {
        let line = |n: u32, kind: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"uuid\":\"{kind}{n}\",\"sessionId\":\"s\",\
                 \"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{{\"role\":\"{kind}\",\"content\":\"turn {n}\"}}}}\n"
            )
        };
        numbers.flat_map(|n| [line(n, "user"), line(n, "assistant")]).collect()
    }

    fn found(path: &Path) -> Found {
        let stat = Stat::from(&fs::metadata(path).unwrap());
        let (agent, form) = (Agent::ClaudeCode, Form::Lines);
        Found { agent, form, path: path.to_path_buf(), session: "s".to_owned(), stat }
    }

    #[test]
    fn what_only_the_shorter_of_two_files_has_is_named() {
        for long_comes_first in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let (long, short) = (folder.path().join("long.jsonl"), folder.path().join("short.jsonl"));
            fs::write(&long, turns(0..4)).unwrap();
            fs::write(&short, turns(3..6)).unwrap();
            with_service(async |service| {
                let intake = &service.intake;
                intake.load_known().await.unwrap();
                let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
                let files = if long_comes_first { [&long, &short] } else { [&short, &long] };
                for path in files {
                    intake.take_file(&found(path), &mut pass).await.unwrap();
                }
                let past = service.history.session(&session("s")).await.unwrap().unwrap();
                assert_eq!(past.exchanges, 4, "the longer file counts");
                let faults = intake.progress().faults;
                let words = faults.get(&*short.to_string_lossy()).unwrap_or_else(|| panic!("{faults:?}"));
                assert!(faults.len() == 1 && words.contains("in no other file: 2 exchanges"), "{faults:?}");
                // The next daemon says it, too.
                *lock(&intake.state.known) = None;
                intake.load_known().await.unwrap();
                assert_eq!(lock(&intake.state.known).as_ref().unwrap().apart.len(), 1);
                // Also when the longer file is gone.
                fs::remove_file(&long).unwrap();
                fs::write(&short, turns(4..7)).unwrap();
                intake.take_file(&found(&short), &mut pass).await.unwrap();
                let past = service.history.session(&session("s")).await.unwrap().unwrap();
                assert_eq!(
                    (past.exchanges, intake.progress().faults.len()),
                    (4, 1),
                    "what was read of it stays"
                );
                // A shorter file that has nothing else is no fault.
                fs::write(&short, turns(1..3)).unwrap();
                intake.take_file(&found(&short), &mut pass).await.unwrap();
                assert!(intake.progress().faults.is_empty(), "{:?}", intake.progress().faults);
            });
        }
    }
}
