//! The intake's task: when it scans, what it reads first, and how it gives way to callers.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt as _, future::BoxFuture};

use super::Intake;
use super::{
    apart::IN_ANOTHER,
    folders::{Form, TranscriptFolder, agents},
    forks::{is_doubted, is_undecided},
    reading::FOREIGN,
    state::{DEBOUNCE, HistoryOptions, ImportRequest, Known, Wanted},
    take::{Pass, Taken, Trouble},
    walk::{self, Found, Stat, Walk},
};
use crate::{ServiceError, agent_slug, index::Evidence, lock, looks, tasks::in_the_background};
use cerebro_core::domain::SourceState;
use cerebro_transcript::READER_VERSION;

/// How long the daemon has served before the first scan, so that the scan does not delay those who waited for its start.
const SETTLE: Duration = Duration::from_secs(3);
/// How often it scans all folders.
const EVERY: Duration = Duration::from_secs(10 * 60);
/// How long it waits after a failure of the store.
const RETRY: Duration = Duration::from_secs(60);
/// How long a look at a file that a hook named may take.
const NAMED_LOOK_MAX: Duration = Duration::from_secs(1);
/// How much a pass takes in without giving way to callers: when it begins, so that what an agent has just said does not wait,
/// and after it has given way for as long as it may.
pub(super) const ALLOWANCE_BYTES: u64 = 256 << 10;
/// How long it takes to read a short file, or to redact and store a few exchanges.
const STEP: Duration = Duration::from_millis(20);
/// What an exchange counts for, beside what was read: storing it takes time however short it is.
pub(super) const EXCHANGE_BYTES: u64 = 2 << 10;

impl Intake {
    /// The files that hooks named, as far as they exist and belong to an agent. A hook may name any path, also one on a disk
    /// that does not answer.
    pub(super) async fn named_files(
        &self,
        paths: BTreeSet<PathBuf>,
    ) -> Vec<(Result<Found, String>, PathBuf)> {
        let mut named = Vec::new();
        let Some(HistoryOptions { places, .. }) = self.state.options.get() else { return named };
        let places: Arc<[TranscriptFolder]> = places.as_slice().into();
        for path in paths {
            let (file, session) = walk::file_of(&path);
            let folder = file.parent().unwrap_or(&file).to_path_buf();
            let places = Arc::clone(&places);
            let look = move || file.exists().then(|| walk::known(&places, &file));
            match looks::within(&folder, NAMED_LOOK_MAX, look).await {
                Some(Some(mut known)) => {
                    if let Ok(found) = &mut known {
                        found.session.push_str(session);
                    }
                    named.push((known, path));
                }
                // A session that begins has no file yet.
                Some(None) if session.is_empty() || !self.is_kept() => {}
                // An agent without its database may have files instead.
                Some(None) => lock(&self.state.wanted).scan = true,
                None => named.push((Err("its folder does not answer".to_owned()), path)),
            }
        }
        named
    }

    /// Sets where transcripts are and what the user wants of them. It is called first; without it, nothing is imported.
    pub(crate) fn set_options(&self, options: HistoryOptions) {
        if self.state.options.set(options).is_err() {
            tracing::debug!("the options of the history are set already");
        }
    }

    /// Imports sessions as the settings say and as somebody asks, until the service closes. The next daemon continues what
    /// was begun. Runs once.
    pub(crate) async fn keep(&self) {
        let stop = self.base.tasks.stopping();
        let mut next = tokio::time::Instant::now() + SETTLE;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(next) => {
                    lock(&self.state.wanted).scan = true;
                    next = tokio::time::Instant::now() + EVERY;
                }
                () = self.state.wake.notified() => {}
                () = stop.cancelled() => return,
            }
            tokio::select! {
                done = self.serve() => if let Err(error) = done {
                    tracing::error!(%error, "taking sessions in broke off");
                    next = tokio::time::Instant::now() + RETRY;
                },
                // Half a batch is rolled back with its transaction, and the cursor says where to continue.
                () = stop.cancelled() => return,
            };
            self.set_running(false);
        }
    }

    fn set_running(&self, running: bool) {
        lock(&self.state.progress).running = running;
        self.evidence.set_growing(Evidence::History, running);
    }

    /// Serves requests until there are none. Imports that the store broke off wait for the next time.
    pub(super) async fn serve(&self) -> Result<(), ServiceError> {
        while self.state.is_asked() {
            if self.state.has_named(&[]) {
                tokio::time::sleep(DEBOUNCE).await;
            }
            // Set before the request is taken, so that nobody who waits for it sees the task idle.
            self.set_running(self.is_taken_in());
            let mut wanted = std::mem::take(&mut *lock(&self.state.wanted));
            let served = AssertUnwindSafe(Box::pin(self.serve_wanted(&mut wanted))).catch_unwind().await;
            lock(&self.state.wanted).put_back(wanted.imports);
            served.unwrap_or(Err(ServiceError::BrokeOff { work: "taking sessions in" }))?;
        }
        Ok(())
    }

    /// Serves requests, and takes out the imports that are done.
    async fn serve_wanted(&self, wanted: &mut Wanted) -> Result<(), ServiceError> {
        if self.is_kept() {
            self.read_named(&[]).await?;
        } else {
            self.read_for_journal(&mut self.pass(&ImportRequest::default(), i64::MIN)).await?;
        }
        let has_imports = !wanted.imports.is_empty();
        while let Some(request) = wanted.imports.first() {
            self.scan(request).await?;
            wanted.imports.remove(0);
        }
        if self.is_kept() && wanted.scan {
            self.scan(&ImportRequest::default()).await?;
        }
        if wanted.scan || has_imports {
            self.take_memory_files(&mut self.pass(&ImportRequest::default(), i64::MIN)).await?;
        }
        Ok(())
    }

    /// Reads the files that hooks have named, other than those that are being read, if sessions are imported without being
    /// asked for.
    pub(super) fn read_named<'a>(
        &'a self,
        reading: &'a [PathBuf],
    ) -> BoxFuture<'a, Result<(), ServiceError>> {
        let all = ImportRequest::default();
        async move {
            if !self.state.has_named(reading) || !self.is_kept() {
                return Ok(());
            }
            let paths = self.state.take_named(reading);
            if paths.is_empty() {
                return Ok(());
            }
            let wanted = self.state.settings().unwrap_or_default().wanted();
            let mut pass = self.pass(&all, i64::MIN);
            pass.is_named = true;
            pass.reading = reading.to_vec();
            self.load_known().await?;
            for (known, path) in self.named_files(paths).await {
                match known {
                    Ok(found) if !wanted.contains(&found.agent) => {}
                    // It was named by another path, and waits.
                    Ok(found) if reading.contains(&found.key()) => {
                        self.state.note_transcript(Some(found.key()));
                    }
                    Ok(found) => self.read_one(found, &mut pass).await?,
                    Err(why) => lock(&self.state.progress).failed(&path, &why),
                }
            }
            Ok(())
        }
        .boxed()
    }

    /// Scans all folders, and reads files that are new or have changed.
    async fn scan(&self, request: &ImportRequest) -> Result<(), ServiceError> {
        let Some((places, oldest)) = self.asked_for(request) else { return Ok(()) };
        let begun = Instant::now();
        self.load_known().await?;
        let stats = lock(&self.state.known).as_ref().map(|known| known.stats.clone()).unwrap_or_default();
        let mut seen: BTreeMap<&str, usize> =
            places.iter().map(|place| (agent_slug(place.agent), 0)).collect();
        let walked = in_the_background("the walk through the agents' folders", move || walk::walk(&places));
        let Walk { files, faults, roots } = walked.await?;
        for file in &files {
            *seen.entry(agent_slug(file.agent)).or_default() += 1;
        }
        {
            let mut progress = lock(&self.state.progress);
            progress.seen.extend(seen);
            progress.faults.clear();
            for (_, path, why) in &faults {
                progress.failed(path, why);
            }
        }
        self.note_gone(&stats, &files, &roots).await?;
        self.name_apart();
        // Sessions that were too old, in a source with many, may be wanted now.
        let is_asked = *request != ImportRequest::default();
        let wanted = |file: &Found| match stats.get(&file.path) {
            Some(stat) => *stat != file.stat || is_asked && file.form.holds_many(),
            None => file.stat.mtime >= oldest,
        };
        let fresh: Vec<Found> = files.iter().filter(|&file| wanted(file)).cloned().collect();
        {
            let mut progress = lock(&self.state.progress);
            progress.scan = begun.elapsed();
            progress.scanned_at = Some(self.base.now());
        }
        let mut pass = self.pass(request, oldest);
        self.read_in_order(fresh, &mut pass).await?;
        // Once only: what somebody writes to meanwhile is for the next scan.
        let doubted = std::mem::take(&mut pass.doubted);
        let doubted = files.into_iter().filter(|file| doubted.contains(&file.path)).collect();
        self.read_in_order(doubted, &mut pass).await
    }

    async fn read_in_order(&self, files: Vec<Found>, pass: &mut Pass) -> Result<(), ServiceError> {
        if files.is_empty() {
            return Ok(());
        }
        let ordered = in_the_background("a look at the sessions", move || walk::in_order(files)).await?;
        Box::pin(self.read_all(ordered, pass)).await
    }

    async fn read_all(&self, mut files: Vec<Found>, pass: &mut Pass) -> Result<(), ServiceError> {
        let begun = Instant::now();
        // Prompts of deleted sessions come last, because only then it is known which sessions are deleted.
        files.sort_by_key(|file| file.form == Form::Typed);
        {
            let mut progress = lock(&self.state.progress);
            (progress.files, progress.files_done, progress.bytes_done) = (files.len(), 0, 0);
            progress.bytes = files.iter().map(|file| file.stat.size).sum();
        }
        let mut bytes_done = 0;
        for found in files {
            bytes_done += found.stat.size;
            self.read_one(found, pass).await?;
            let mut progress = lock(&self.state.progress);
            progress.files_done += 1;
            // Not all bytes of each were read: of some only the end, of others nothing.
            progress.bytes_done = bytes_done;
        }
        lock(&self.state.progress).read = begun.elapsed();
        Ok(())
    }

    async fn read_one(&self, found: Found, pass: &mut Pass) -> Result<(), ServiceError> {
        pass.reading.push(found.key());
        pass.doubted.remove(&found.path);
        let taking = async {
            match found.form {
                Form::Database => self.take_database(&found, pass).await,
                Form::Typed => self.take_typed(&found, pass).await,
                _ => self.take_file(&found, pass).await,
            }
        };
        // A panic is the fault of this source: the others are read.
        let taken = AssertUnwindSafe(taking).catch_unwind().await;
        pass.reading.pop();
        match taken.unwrap_or_else(|_| Err(ServiceError::BrokeOff { work: "reading a source" }.into())) {
            Ok(taken) => {
                if !self.is_apart(&found.path) {
                    lock(&self.state.progress).recovered(&found.path);
                }
                if let (Taken::Done(stat), Some(known)) = (taken, lock(&self.state.known).as_mut()) {
                    known.stats.insert(found.path, stat);
                }
                Ok(())
            }
            Err(Trouble::Source(fault)) => {
                tracing::warn!(agent = agent_slug(found.agent), "a source of history could not be read");
                self.note_fault(&found, &fault).await
            }
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    /// Marks sources whose files are gone. What was read of them is kept.
    async fn note_gone(
        &self,
        stats: &HashMap<PathBuf, Stat>,
        files: &[Found],
        roots: &[PathBuf],
    ) -> Result<(), ServiceError> {
        let there: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let is_looked_for = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let missing = stats.keys().filter(|path| !there.contains(path.as_path()) && is_looked_for(path));
        for path in missing {
            for agent in agents() {
                let key = path.to_string_lossy();
                if let Some(mut source) = self.history.source(agent, &key).await? {
                    source.state = SourceState::Gone;
                    self.history.put_source(&source).await?;
                }
            }
            if let Some(known) = lock(&self.state.known).as_mut() {
                known.stats.remove(path);
                known.apart.remove(path);
            }
        }
        Ok(())
    }

    /// A pass over what a request is about.
    pub(super) fn pass(&self, request: &ImportRequest, oldest: i64) -> Pass {
        let settings = request.chosen_from(&self.state.settings().unwrap_or_default());
        Pass::new(settings, request.project.clone(), oldest)
    }

    /// Reads from the store what is known of the files: once, and again when the settings want other ones.
    pub(super) async fn load_known(&self) -> Result<(), ServiceError> {
        let chosen = self.state.settings().unwrap_or_default();
        if lock(&self.state.known).as_ref().is_some_and(|known| known.chosen == chosen) {
            return Ok(());
        }
        let mut known = Known { chosen, ..Known::default() };
        for agent in agents() {
            for source in self.history.sources(agent).await? {
                let path = PathBuf::from(source.key.as_str());
                let is_excluded = source.state == SourceState::Excluded;
                let (is_doubted, is_undecided) = (is_doubted(&source), is_undecided(&source));
                if let Some(session) = source.session.filter(|_| !is_excluded) {
                    let is_part = source.key.ends_with(&format!("#{session}"));
                    let is_gone = source.state == SourceState::Gone;
                    let (id, holder) = ((agent, session.as_str().to_owned()), (path.clone(), source.size));
                    if is_part || is_gone {
                        // A transcript has more than a list of all that was typed, and one that is there counts.
                        known.holders.entry(id).or_insert(holder);
                    } else {
                        known.holders.insert(id, holder);
                    }
                    if is_undecided {
                        known.undecided.insert((agent, session));
                    }
                }
                let is_apart =
                    |words: &&str| if is_excluded { *words != IN_ANOTHER } else { *words == FOREIGN };
                if let Some(words) = source.error.as_deref().filter(is_apart) {
                    known.apart.insert(path.clone(), words.to_owned());
                }
                // Excluded sessions may be wanted now; a shorter recording of a session is not.
                let may_be_wanted = is_excluded && source.error.is_none();
                // A later version of the reader understands more of it.
                let is_outdated = source.reader != READER_VERSION;
                let is_as_read = !may_be_wanted && !is_outdated && source.state != SourceState::Gone;
                // What is doubted is read again, however old it is.
                if is_as_read || is_doubted {
                    let stat = Stat { size: source.size, mtime: source.mtime, inode: source.inode };
                    known.stats.insert(path, stat);
                }
            }
        }
        *lock(&self.state.known) = Some(known);
        Ok(())
    }

    /// Gives way to callers before some bytes are taken in, unless a file that a hook named waits for the end of this piece.
    pub(super) async fn give_way(&self, pass: &mut Pass, bytes: u64) {
        let is_awaited = self.state.has_named(&pass.reading) && self.is_kept();
        if pass.allowance == 0 && !is_awaited && !self.base.traffic.give_way_for(STEP).await {
            pass.allowance = ALLOWANCE_BYTES;
        }
        pass.allowance = pass.allowance.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;
    use crate::{
        HistorySettings, Service, Settings,
        intake::take::{BATCH_EXCHANGES, SHORT_BATCH_EXCHANGES, SourceProgress},
        use_cases::with_service,
    };
    use cerebro_core::{
        domain::{EventKind, Project, SessionId, Timestamp},
        pace::YIELD_MAX,
    };
    use cerebro_transcript::{Agent, Counts};

    /// A request for all sessions of Claude Code.
    fn all() -> ImportRequest {
        let agents = vec![Agent::ClaudeCode];
        ImportRequest { agents, since: Some(Duration::ZERO), ..ImportRequest::default() }
    }

    /// A record of a session in a folder of its name.
    fn record(session: &str, kind: &str, n: usize, text: &str) -> String {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{session}-{kind}-{n}\",\"sessionId\":\"{session}\",\"cwd\":\"/{session}\",\
             \"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{{\"role\":\"{kind}\",\"content\":\"{text}\"}}}}\n"
        )
    }

    /// A database with two sessions.
    const ROWS: &str = r#"
        CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, time_created INT, time_updated INT);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INT, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, data TEXT);
        INSERT INTO session VALUES ('ses_1', '/row', 1, 1), ('ses_2', '/row', 1, 1);
        INSERT INTO message VALUES ('m1', 'ses_1', 1, '{"role":"user"}'), ('m2', 'ses_2', 1, '{"role":"user"}');
        INSERT INTO part VALUES ('p1', 'm1', 'ses_1', 1, '{"type":"text","text":"one"}'),
            ('p2', 'm2', 'ses_2', 1, '{"type":"text","text":"two"}');"#;

    fn exchange(session: &str, n: usize, words: usize) -> String {
        let reply = record(session, "assistant", n, &"word ".repeat(words));
        record(session, "user", n, "ask") + reply.as_str()
    }

    fn place(agent: Agent, root: &Path, depth: usize) -> TranscriptFolder {
        TranscriptFolder { agent, root: root.to_path_buf(), depth, own: root.to_path_buf() }
    }

    /// Runs a test over a service with one transcript that somebody asked to import. The first look at its project panics if
    /// `panics` is set.
    fn with_transcript(text: String, panics: bool, test: impl AsyncFnOnce(Service)) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("s.jsonl"), text).unwrap();
        let place = place(Agent::ClaudeCode, temp.path(), 1);
        with_service(Settings::default(), Timestamp::now, async |service| {
            let panics = AtomicBool::new(panics);
            service.intake.set_options(HistoryOptions {
                settings: Arc::new(HistorySettings::default),
                places: vec![place],
                project_of: Arc::new(move |_| {
                    assert!(!panics.swap(false, Ordering::SeqCst), "a fault of the program");
                    Box::pin(std::future::ready(Project::general()))
                }),
            });
            service.intake.import(all()).unwrap();
            test(service).await;
        });
    }

    #[test]
    fn a_panic_is_the_fault_of_one_source() {
        with_transcript(exchange("s", 0, 0), true, async |service| {
            service.intake.serve().await.unwrap();
            let faults = service.intake.progress().faults;
            assert!(faults.len() == 1 && faults.values().all(|why| why.contains("internal")), "{faults:?}");
            service.intake.import(all()).unwrap();
            service.intake.serve().await.unwrap();
            assert_eq!(service.history.counts().await.unwrap().exchanges, 1);
            assert!(service.intake.progress().faults.is_empty());
        });
    }

    #[test]
    fn a_file_in_which_nothing_is_understood_is_named_and_not_read_until_it_changes() {
        for text in ["no record", "no record\nno other\n", "{\n  \"messages\": []\n}\n", "{\"messages\":[]}"]
        {
            is_named_and_not_read_until_it_changes(text);
        }
    }

    fn is_named_and_not_read_until_it_changes(text: &str) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.jsonl");
        std::fs::write(&path, text).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        let found = || {
            let stat = Stat::from(&std::fs::metadata(&path).unwrap());
            let (agent, form, session) = (Agent::ClaudeCode, Form::Lines, String::new());
            Found { agent, form, path: path.clone(), session, stat }
        };
        with_service(Settings::default(), Timestamp::now, async |service| {
            let intake = &service.intake;
            let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
            intake.load_known().await.unwrap();
            // An earlier version of the reader took it for a file with some malformed lines.
            let key = path.to_string_lossy();
            let standing = SourceProgress::of(Agent::ClaudeCode, &key, Counts::default());
            let mut earlier = standing.row(None, SourceState::Fresh, None);
            earlier.reader = READER_VERSION - 1;
            service.history.put_source(&earlier).await.unwrap();
            intake.read_one(found(), &mut pass).await.unwrap();
            assert_eq!(intake.progress().faults.len(), 1, "{text:?}");
            for is_next_daemon in [false, true] {
                if is_next_daemon {
                    *lock(&intake.state.known) = None;
                    intake.load_known().await.unwrap();
                }
                let known = lock(&intake.state.known);
                let known = known.as_ref().unwrap();
                assert_eq!(known.stats.get(&path), Some(&found().stat));
                assert_eq!(known.apart.get(&path).map(String::as_str), Some(FOREIGN));
            }
            std::fs::write(&path, exchange("s", 0, 1)).unwrap();
            intake.read_one(found(), &mut pass).await.unwrap();
            assert!(intake.progress().faults.is_empty());
            assert!(lock(&intake.state.known).as_ref().unwrap().apart.is_empty());
            assert_eq!(service.history.counts().await.unwrap().exchanges, 1);
        });
    }

    #[test]
    fn what_a_hook_names_is_read_between_the_pieces_of_a_long_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = |session: &str| temp.path().join(format!("{session}.jsonl"));
        let long: String = (0..13).map(|n| exchange("long", n, 200_000)).collect();
        let size = long.len() as u64;
        std::fs::write(path("long"), long).unwrap();
        let database = temp.path().join("opencode.db");
        rusqlite::Connection::open(&database).unwrap().execute_batch(ROWS).unwrap();
        let places = vec![place(Agent::ClaudeCode, temp.path(), 1), place(Agent::OpenCode, &database, 0)];
        with_service(Settings::default(), Timestamp::now, async |service| {
            let (intake, read_before) = (&service.intake, Arc::new(AtomicU64::new(u64::MAX)));
            let (state, noted) = (Arc::downgrade(&intake.state), Arc::clone(&read_before));
            let row = walk::key_of(&database, "ses_1").into();
            let paths = [path("short"), path("long"), row];
            intake.set_options(HistoryOptions {
                settings: Arc::new(|| HistorySettings {
                    enabled: true,
                    since: Duration::ZERO,
                    ..HistorySettings::default()
                }),
                places,
                project_of: Arc::new(move |folder| {
                    let state = state.upgrade().unwrap();
                    if folder.ends_with("long") {
                        std::fs::write(&paths[0], exchange("short", 0, 1)).unwrap();
                        let named =
                            paths.clone().map(|path| (path, Instant::now().checked_sub(DEBOUNCE).unwrap()));
                        lock(&state.named).extend(named);
                    } else {
                        noted.store(lock(&state.progress).bytes_done, Ordering::SeqCst);
                    }
                    Box::pin(std::future::ready(Project::general()))
                }),
            });
            intake.import(all()).unwrap();
            // Calls without a pause.
            let _call = service.busy();
            intake.serve().await.unwrap();
            let read_before = read_before.load(Ordering::SeqCst);
            assert!(read_before < size, "{read_before} of {size} bytes were read before");
            assert_eq!(
                service.history.counts().await.unwrap().exchanges,
                15,
                "of the database only what was named"
            );
            let of_agent = |agent| intake.in_database(agent, &SessionId::parse("ses_1").unwrap());
            assert_eq!(of_agent("opencode"), Some(walk::key_of(&database, "ses_1").into()));
            assert_eq!(of_agent("claude-code"), None);
            // A session that is not in the database may be elsewhere.
            intake.note_transcript(Some(walk::key_of(&database, "ses_3").into()));
            intake.serve().await.unwrap();
            assert_eq!(service.history.counts().await.unwrap().exchanges, 16, "everything was looked at");
        });
    }

    #[test]
    fn a_long_transcript_gives_way_to_calls_for_a_bounded_time() {
        let words = usize::try_from(2 * ALLOWANCE_BYTES).unwrap() / "word ".len();
        with_transcript(exchange("s", 0, words), false, async |service| {
            let _call = service.busy();
            let begun = Instant::now();
            service.intake.serve().await.unwrap();
            assert!(begun.elapsed() >= YIELD_MAX);
            assert_eq!(service.history.counts().await.unwrap().exchanges, 1);
        });
    }

    #[test]
    fn a_save_waits_for_a_few_exchanges_of_a_long_session() {
        for (calls, most) in [(false, BATCH_EXCHANGES), (true, SHORT_BATCH_EXCHANGES)] {
            let exchanges = 2 * most + 1;
            let text: String = (0..exchanges).map(|n| exchange("s", n, 1)).collect();
            with_transcript(text, false, async |service| {
                // However long the import takes, it has never been calm.
                let _call = calls.then(|| service.busy());
                service.intake.serve().await.unwrap();
                let events = service.recall.events(0, 100).await.unwrap();
                let imports = events.iter().filter(|event| event.kind == EventKind::HistoryImported);
                assert_eq!(imports.count(), 3);
                assert_eq!(service.history.counts().await.unwrap().exchanges, exchanges as u64);
            });
        }
    }

    #[test]
    fn an_import_that_the_store_broke_off_is_not_forgotten() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            service.intake.set_options(HistoryOptions {
                settings: Arc::new(HistorySettings::default),
                places: Vec::new(),
                project_of: Arc::new(|_| Box::pin(std::future::pending())),
            });
            let older = ImportRequest { since: Some(Duration::ZERO), ..ImportRequest::default() };
            service.intake.import(older.clone()).unwrap();
            service.base.store.drain().await;
            assert!(service.intake.serve().await.is_err());
            service.intake.import(ImportRequest::default()).unwrap();
            service.intake.import(older.clone()).unwrap();
            assert_eq!(lock(&service.intake.state.wanted).imports, [older, ImportRequest::default()]);
        });
    }
}
