//! Facts about past sessions: the files that they changed, the commands that they ran, the errors that they met. They are
//! not ranked; the newest comes first.

use std::collections::HashMap;

use crate::{History, ServiceError};
use cerebro_core::domain::{
    Exchange, ExchangeId, FullExchange, PastCommand, PastCommit, PastFailure, PastFix, PastSession, Project,
    Proven, SessionId,
};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::text;
use cerebro_transcript::{
    facts::{about, error_line, recorded},
    limits::FIX_COMMANDS_MAX,
};

/// Most exchanges that are read for one answer, the newest first.
pub const LOOKED_MAX: usize = 50_000;
/// Sessions whose exchanges are read at once.
const SESSIONS_AT_ONCE: usize = 50;

/// Most exchanges after an error that are searched for its fix.
const LATER_MAX: usize = 20;

/// A question about past sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactsAbout {
    /// Which exchanges changed a file: its name, or the end of its path.
    File(String),
    /// How a command was run: the command, or a part of it.
    Command(String),
    /// Where an error occurred, and its fix: words of the error.
    Error(String),
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The newest exchange that proves it.
    pub exchange: Exchange,
    pub session: PastSession,
    /// The file, the command, or the line of the error.
    pub what: String,
    /// Whether the command succeeded there.
    pub ok: Option<bool>,
    /// How often the command succeeded in all exchanges that were read.
    pub succeeded: usize,
    /// How often it failed in them.
    pub failed: usize,
    /// Of an error: its fix, if one came soon.
    pub fixed: Option<Fix>,
    /// Of a file: the errors that an edit of it fixed, and the commits of the same exchange.
    pub links: Links,
}

/// A fix of an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// The exchange with the fix.
    pub exchange: ExchangeId,
    /// The command of the same kind that succeeded, the files that were changed before, and whether it is the same command.
    pub fix: PastFix,
}

/// What an exchange proves about a file that it changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Links {
    /// Errors that were fixed by the change.
    pub fixed: Vec<RedactedText>,
    /// Commits of the exchange.
    pub commits: Vec<PastCommit>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The newest first.
    pub facts: Vec<Fact>,
    /// How many exchanges were read.
    pub looked: usize,
    /// Whether the question is about a command that is not recorded when it is run.
    pub unrecorded: bool,
}

impl History {
    /// A past session with some of its exchanges, from the place `from` on, and what each proves; with their texts if these
    /// are wanted. `None` if there is no such session.
    pub async fn exchanges(
        &self,
        id: &SessionId,
        from: u32,
        limit: usize,
        with_texts: bool,
    ) -> Result<Option<(PastSession, Vec<FullExchange>)>, ServiceError> {
        let Some(session) = self.base.store.past_sessions().by_id(id).await? else { return Ok(None) };
        let exchanges = self.base.store.exchanges().since(id, from, limit).await?;
        let mut exchanges = self.base.store.exchanges().with_texts(exchanges).await?;
        if !with_texts {
            for exchange in &mut exchanges {
                exchange.text = RedactedText::default();
            }
        }
        Ok(Some((session, exchanges)))
    }

    /// The first of some exchanges whose text has a line like this one.
    pub async fn exchange_with_line(
        &self,
        facts: &[Fact],
        line: &str,
    ) -> Result<Option<usize>, ServiceError> {
        let line = redact_text(line.trim()).value;
        for (at, fact) in facts.iter().enumerate() {
            let full = self.base.store.exchanges().by_id(&fact.exchange.id).await?;
            if full.is_some_and(|full| full.text.lines().any(|written| written.trim() == line.as_str())) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The facts of a project's past sessions (of all, when `None`) about a file, a command or an error.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if nothing is asked, or a failing store.
    pub async fn facts(
        &self,
        project: Option<&Project>,
        about: &FactsAbout,
        limit: usize,
    ) -> Result<Facts, ServiceError> {
        let (FactsAbout::File(asked) | FactsAbout::Command(asked) | FactsAbout::Error(asked)) = about;
        if asked.trim().is_empty() {
            return Err(ServiceError::invalid("query", asked, "it is empty; say what to look for"));
        }
        let mut gathered = Gathered::new(about, limit);
        let mut offset = 0;
        while gathered.looked < LOOKED_MAX && !gathered.is_full() {
            let sessions = self.base.store.past_sessions().latest(project, offset, SESSIONS_AT_ONCE).await?;
            let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
            let mut exchanges = self.base.store.exchanges().of_sessions(&ids).await?;
            exchanges.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.seq.cmp(&a.seq)));
            let by_id: HashMap<&SessionId, &PastSession> =
                sessions.iter().map(|session| (&session.id, session)).collect();
            for exchange in exchanges {
                if let Some(session) = by_id.get(&exchange.session) {
                    gathered.look_at(session, exchange);
                }
            }
            if sessions.len() < SESSIONS_AT_ONCE {
                break;
            }
            offset += SESSIONS_AT_ONCE;
        }
        let Gathered { mut facts, words, unrecorded, looked, .. } = gathered;
        for fact in &mut facts {
            self.add_proof(about, &words, fact).await?;
        }
        Ok(Facts { facts, looked, unrecorded })
    }

    /// Adds to an answer what its exchange and the following ones prove.
    async fn add_proof(
        &self,
        about: &FactsAbout,
        words: &[String],
        fact: &mut Fact,
    ) -> Result<(), ServiceError> {
        if matches!(about, FactsAbout::Command(_)) {
            return Ok(());
        }
        let Some(full) = self.base.store.exchanges().by_id(&fact.exchange.id).await? else { return Ok(()) };
        match about {
            FactsAbout::Command(_) => {}
            FactsAbout::File(asked) => fact.links = links(full.proven, asked),
            FactsAbout::Error(_) => {
                let failures = full.proven.failures.into_iter();
                let mut met = failures.filter(|failure| has_all(&failure.error, words)).peekable();
                if let Some(first) = met.peek() {
                    fact.what = first.error.to_string();
                }
                // If the error occurred several times, the last time counts.
                if let Some(failure) = met.last() {
                    fact.fixed = self.fixed(&fact.exchange, failure).await?;
                }
            }
        }
        Ok(())
    }

    /// The fix of an exchange's error, in the same exchange or a later one of the session.
    async fn fixed(&self, exchange: &Exchange, failure: PastFailure) -> Result<Option<Fix>, ServiceError> {
        if let Some(fix) = failure.fix {
            return Ok(Some(Fix { exchange: exchange.id, fix }));
        }
        let from = exchange.seq.saturating_add(1);
        let later = self.base.store.exchanges().since(&exchange.session, from, LATER_MAX).await?;
        Ok(fixed_later(&failure, &later))
    }
}

/// The fix of an error that its own exchange did not fix: the first command of its kind that succeeded in the following
/// exchanges, unless many others were run before.
fn fixed_later(failure: &PastFailure, later: &[Exchange]) -> Option<Fix> {
    let kind = about(&failure.command)?;
    let (mut edited, mut commands) = (Vec::<RedactedText>::new(), 0);
    for exchange in later {
        let fresh = exchange.files.iter().filter(|file| !edited.contains(file)).cloned();
        let fresh: Vec<RedactedText> = fresh.collect();
        edited.extend(fresh);
        for command in &exchange.commands {
            commands += 1;
            if command.ok == Some(true) && about(&command.line).as_ref() == Some(&kind) {
                let same = command.is_whole() && command.line == failure.command;
                let fix = PastFix { command: command.line.clone(), same, edited };
                return Some(Fix { exchange: exchange.id, fix });
            }
            if commands >= FIX_COMMANDS_MAX {
                return None;
            }
        }
    }
    None
}

/// What an exchange proves about a file that it changed.
fn links(proven: Proven, file: &str) -> Links {
    let by_it = |failure: &PastFailure| {
        let fix = failure.fix.as_ref();
        fix.is_some_and(|fix| fix.edited.iter().any(|edited| is_same_file(edited, file)))
    };
    let fixed = proven.failures.into_iter().filter(by_it).map(|failure| failure.error).collect();
    Links { fixed, commits: proven.commits }
}

/// Facts while they are collected.
struct Gathered<'a> {
    about: &'a FactsAbout,
    /// Of an error, the words, all of which must be there; of a line, the commands, one of which must be there.
    words: Vec<String>,
    unrecorded: bool,
    limit: usize,
    facts: Vec<Fact>,
    /// The place of a command among the facts.
    places: HashMap<String, usize>,
    looked: usize,
}

impl<'a> Gathered<'a> {
    fn new(about: &'a FactsAbout, limit: usize) -> Self {
        let (words, unrecorded) = match about {
            FactsAbout::File(_) => (Vec::new(), false),
            FactsAbout::Command(asked) => commands(asked),
            FactsAbout::Error(asked) => (words(asked), false),
        };
        Self { about, words, unrecorded, limit, facts: Vec::new(), places: HashMap::new(), looked: 0 }
    }

    /// Whether no further exchange can change the answer. Commands are counted, so all exchanges are read for them.
    fn is_full(&self) -> bool {
        self.facts.len() >= self.limit && !matches!(self.about, FactsAbout::Command(_))
    }

    fn look_at(&mut self, session: &PastSession, exchange: Exchange) {
        self.looked += 1;
        if self.is_full() {
            return;
        }
        match self.about {
            FactsAbout::File(asked) => {
                if let Some(file) = exchange.files.iter().find(|file| is_same_file(file, asked)) {
                    let what = file.to_string();
                    self.facts.push(fact(session, exchange, what, None));
                }
            }
            FactsAbout::Command(_) => self.look_at_commands(session, &exchange),
            FactsAbout::Error(_) => {
                let error = exchange.errors.iter().find(|error| has_all(error, &self.words));
                if let Some(error) = error.map(ToString::to_string) {
                    self.facts.push(fact(session, exchange, error, None));
                }
            }
        }
    }

    fn look_at_commands(&mut self, session: &PastSession, exchange: &Exchange) {
        let is_asked = |line: &str| {
            let folded = text::fold(line);
            self.words.iter().any(|asked| folded.contains(asked.as_str()))
        };
        let asked: Vec<&PastCommand> =
            exchange.commands.iter().filter(|command| is_asked(&command.line)).collect();
        for command in asked {
            let line = command.line.to_string();
            let at = match self.places.get(&line) {
                Some(at) => *at,
                None if self.facts.len() >= self.limit => continue,
                None => {
                    self.places.insert(line.clone(), self.facts.len());
                    self.facts.push(fact(session, exchange.clone(), line, command.ok));
                    self.facts.len() - 1
                }
            };
            match command.ok {
                Some(true) => self.facts[at].succeeded += 1,
                Some(false) => self.facts[at].failed += 1,
                None => {}
            }
        }
    }
}

fn fact(session: &PastSession, exchange: Exchange, what: String, ok: Option<bool>) -> Fact {
    Fact {
        exchange,
        session: session.clone(),
        what,
        ok,
        succeeded: 0,
        failed: 0,
        fixed: None,
        links: Links::default(),
    }
}

/// Whether one path is the other, or its end: stored paths are relative to the working folder.
fn is_same_file(kept: &str, asked: &str) -> bool {
    let asked = asked.trim().trim_start_matches("./");
    let ends = |whole: &str, end: &str| {
        whole.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    !asked.is_empty() && (ends(kept, asked) || ends(asked, kept))
}

/// The commands to search for, folded, in the form in which they are recorded; and whether none of them is recorded. Then the
/// text is searched for as it is, because it may be a part of a command.
fn commands(asked: &str) -> (Vec<String>, bool) {
    let asked = redact_text(asked).value;
    // A command that adds `go_test.go` is not `go test`, so words are not looked for one by one.
    let known: Vec<String> = recorded(&asked).iter().map(|command| text::fold(command)).collect();
    if known.is_empty() { (vec![text::fold(&asked.one_line())], true) } else { (known, false) }
}

/// The words to search for, folded, without numbers, which differ from one time to the next. Of an output, they are those of
/// the line that is kept of it.
fn words(asked: &str) -> Vec<String> {
    let folded = text::fold(&redact_text(error_line(asked)).value);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_owned).collect();
    let telling: Vec<String> =
        words.iter().filter(|word| !word.chars().all(|c| c.is_ascii_digit())).cloned().collect();
    if telling.is_empty() { words } else { telling }
}

fn has_all(line: &str, words: &[String]) -> bool {
    let folded = text::fold(line);
    !words.is_empty() && words.iter().all(|word| folded.contains(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_the_ends_of_their_paths() {
        for (kept, asked, want) in [
            ("src/a.rs", "a.rs", true),
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "/w/src/a.rs", true),
            ("src/a.rs", "./src/a.rs", true),
            ("src/ba.rs", "a.rs", false),
            ("src/a.rs", "b/a.rs", false),
            ("src/a.rs", "", false),
        ] {
            assert_eq!(is_same_file(kept, asked), want, "{kept} {asked}");
        }
    }

    #[test]
    fn a_command_is_asked_for_in_the_form_in_which_it_is_kept() {
        for (asked, want, unrecorded) in [
            ("cargo test uploads 2>&1 | tail -20", &["cargo test uploads"][..], false),
            ("cd /w && cargo fmt && git push 2>&1", &["cargo fmt", "git push"], false),
            ("test uploads", &["test uploads"], true),
            ("git diff --stat", &["git diff --stat"], true),
            ("git commit -m 'one\n\ntwo'", &["git commit -m ..."], false),
            ("cargo bench \\\n  --features fast", &["cargo bench --features fast"], false),
        ] {
            let want: Vec<String> = want.iter().map(|&command| command.to_owned()).collect();
            assert_eq!(commands(asked), (want, unrecorded), "{asked}");
        }
    }

    #[test]
    fn an_error_is_found_whatever_its_numbers() {
        let asked = words("error[E0425]: cannot find value `x` at line 12");
        assert!(has_all("error[E0425]: cannot find value x at line 99", &asked));
        assert!(!has_all("error[E0425]: cannot find type", &asked));
        assert_eq!(words("404"), ["404"]);
        let output = "   Compiling app\nerror[E0425]: cannot find value `x` at line 12\n --> a.rs:1\nerror: could not compile";
        assert_eq!(words(output), asked);
    }

    #[test]
    fn an_error_goes_away_with_the_first_command_of_its_kind_that_succeeds() {
        let clean = |text: &str| redact_text(text).value;
        let session = SessionId::parse("s").unwrap();
        let exchange = |seq: u32, files: &[&str], commands: &[(&str, Option<bool>)]| Exchange {
            id: ExchangeId::of("codex", &session, seq),
            session: session.clone(),
            seq,
            part: 0,
            at: cerebro_core::domain::Timestamp::UNIX_EPOCH,
            title: clean("t"),
            files: files.iter().map(|file| clean(file)).collect(),
            commands: commands.iter().map(|(line, ok)| PastCommand { line: clean(line), ok: *ok }).collect(),
            errors: Vec::new(),
            withdrawn: false,
            first: None,
            last: None,
            digest: String::new(),
        };
        let failure = PastFailure {
            command: clean("cargo test"),
            error: clean("error"),
            key: clean("error"),
            exit: None,
            fix: None,
        };
        let later = [
            exchange(1, &["a.rs"], &[("cargo build", Some(true)), ("cargo test", Some(false))]),
            exchange(2, &["a.rs", "b.rs"], &[("git push", Some(true)), ("cargo test -q", Some(true))]),
        ];
        let fixed = fixed_later(&failure, &later).unwrap();
        assert_eq!(fixed.exchange, later[1].id);
        assert_eq!((fixed.fix.command.as_str(), fixed.fix.same), ("cargo test -q", false));
        assert_eq!(fixed.fix.edited, ["a.rs", "b.rs"]);
        let others = vec![("git push", Some(true)); FIX_COMMANDS_MAX];
        assert_eq!(fixed_later(&failure, &[exchange(1, &[], &others), later[1].clone()]), None, "too late");
    }
}
