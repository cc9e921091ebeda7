//! History in exports and imports: its lines, and how an import reads them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::prepare::{clean, session_id};
use crate::{error::Taking, meant::is_forgotten, moment::storable};
use cerebro_core::domain::{
    Ancestor, AncestorKind, Exchange, ExchangeId, FullExchange, HistoryTombstone, PastCommand, PastSession,
    Project, Proven, Timestamp,
    limits::{AGENT_NAME_CHARS_MAX, EXCHANGE_BYTES_MAX, TITLE_CHARS_MAX},
};
use cerebro_core::redact::{RedactedText, redact_name, redact_secrets, redact_text};
use cerebro_store::{ForgottenTexts, Write};

/// Most files, commands or errors of a line.
const ITEMS_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PastSessionLine {
    id: String,
    agent: String,
    project: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_kind: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    automated: bool,
    #[serde(deserialize_with = "storable")]
    started_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    ended_at: Timestamp,
}

/// An exchange with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExchangeLine {
    id: String,
    session: String,
    seq: u32,
    #[serde(default)]
    part: u32,
    #[serde(deserialize_with = "storable")]
    at: Timestamp,
    title: String,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    #[serde(default, skip_serializing_if = "Proven::is_empty")]
    proven: Proven<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CommandLine {
    line: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryTombstoneLine {
    digest: String,
}

/// Imports a past session.
pub(crate) async fn past_session(write: &mut Write<'_>, line: PastSessionLine) -> Taking {
    let mut session = PastSession::try_from(line)?;
    if write.has_history_tombstone(&session.tombstones_of_whole()).await? {
        return Err(format!("session `{}` was forgotten here", session.id).into());
    }
    if write.past_session(&session.id).await?.is_some() {
        return Ok(false);
    }
    let id = session.id.clone();
    for (name, text) in session.names() {
        let Some(named) = text.as_deref() else { continue };
        let tombstone = HistoryTombstone::of_name(&id, name);
        if is_forgotten(write, Some(tombstone), |forgotten| forgotten.are_in(named)).await? {
            *text = None;
        }
    }
    write.import_past_session(&session);
    Ok(true)
}

/// Imports an exchange of a session that is in the store.
pub(crate) async fn exchange(write: &mut Write<'_>, line: ExchangeLine) -> Taking {
    let id = session_id(&line.session)?;
    let Some(mut session) = write.past_session(&id).await? else {
        return Err(format!("session `{id}` of the exchange is not here").into());
    };
    let full = line.full_exchange(&session)?;
    let tombstone = HistoryTombstone::of_exchange(&full.exchange);
    let holds = |forgotten: &ForgottenTexts| full.any_text(|text| forgotten.are_in(text));
    if is_forgotten(write, Some(tombstone), holds).await? {
        return Err(format!("exchange `{}` was forgotten here", full.exchange.id).into());
    }
    if let Some(here) = write.exchange_digest(&full.exchange.id).await? {
        let why =
            format!("exchange `{}` is here already with another text; it stays as it is", full.exchange.id);
        return if here == full.exchange.digest { Ok(false) } else { Err(why.into()) };
    }
    let before = session.exchanges;
    session.exchanges = before.saturating_add(1);
    write.import_exchange(&session, before, full);
    Ok(true)
}

impl HistoryTombstoneLine {
    /// The tombstone, if the line has one.
    pub(crate) fn tombstone(&self) -> Option<HistoryTombstone> {
        HistoryTombstone::parse(&self.digest)
    }
}

/// Imports a tombstone. `cited` are those of citations that are here: as all that is here, these stay as they are, and a
/// citation has an edge or a tombstone, never both.
pub(crate) async fn tombstone(
    write: &mut Write<'_>,
    line: HistoryTombstoneLine,
    cited: &BTreeSet<HistoryTombstone>,
) -> Taking {
    let Some(tombstone) = line.tombstone() else {
        return Err("a tombstone is 32 hexadecimal digits".to_owned().into());
    };
    if cited.contains(&tombstone) || write.makes_citation_of(&tombstone) {
        return Ok(false);
    }
    if write.has_history_tombstone(std::slice::from_ref(&tombstone)).await? {
        return Ok(false);
    }
    write.put_history_tombstones(vec![tombstone]);
    Ok(true)
}

fn name(text: &str) -> RedactedText {
    clean(text).cut_chars(TITLE_CHARS_MAX)
}

impl From<&PastSession> for PastSessionLine {
    fn from(session: &PastSession) -> Self {
        let text = |text: &Option<RedactedText>| text.clone().map(String::from);
        let parent = session.parent.as_ref();
        Self {
            id: session.id.as_str().to_owned(),
            agent: session.agent.to_string(),
            project: session.project.to_string(),
            title: text(&session.title),
            directory: text(&session.directory),
            branch: text(&session.branch),
            model: text(&session.model),
            parent: parent.and_then(|parent| parent.session.as_ref()).map(|id| id.as_str().to_owned()),
            parent_kind: parent.map(|parent| parent.kind.as_str().to_owned()),
            automated: session.automated,
            started_at: session.started_at,
            ended_at: session.ended_at,
        }
    }
}

impl TryFrom<PastSessionLine> for PastSession {
    type Error = String;

    fn try_from(line: PastSessionLine) -> Result<Self, String> {
        let text = |text: Option<String>| text.map(|text| name(&text));
        let parent = match line.parent_kind {
            None => None,
            Some(kind) => {
                let kind = AncestorKind::parse(&kind)
                    .ok_or_else(|| format!("`{}` is no kind of parent", redact_secrets(&kind)))?;
                Some(Ancestor { kind, session: line.parent.as_deref().map(session_id).transpose()? })
            }
        };
        Ok(Self {
            id: session_id(&line.id)?,
            agent: clean(&line.agent).cut_chars(AGENT_NAME_CHARS_MAX),
            project: Project::parse(&redact_name(&line.project))
                .ok_or_else(|| format!("`{}` is no project name", redact_secrets(&line.project)))?,
            title: text(line.title),
            directory: text(line.directory),
            branch: text(line.branch),
            model: text(line.model),
            parent,
            automated: line.automated,
            started_at: line.started_at,
            ended_at: line.ended_at,
            exchanges: 0,
        })
    }
}

impl From<&FullExchange> for ExchangeLine {
    fn from(FullExchange { exchange, text, proven }: &FullExchange) -> Self {
        let strings = |texts: &[RedactedText]| texts.iter().map(ToString::to_string).collect();
        let command = |command: &PastCommand| CommandLine { line: command.line.to_string(), ok: command.ok };
        Self {
            id: exchange.id.to_string(),
            session: exchange.session.as_str().to_owned(),
            seq: exchange.seq,
            part: exchange.part,
            at: exchange.at,
            title: exchange.title.to_string(),
            text: text.to_string(),
            files: strings(&exchange.files),
            commands: exchange.commands.iter().map(command).collect(),
            errors: strings(&exchange.errors),
            withdrawn: exchange.withdrawn,
            first: exchange.first.clone(),
            last: exchange.last.clone(),
            proven: proven.clone().map(usize::MAX, String::from),
        }
    }
}

impl ExchangeLine {
    /// The exchange of a session, redacted and within its bounds. Its id follows from its place.
    fn full_exchange(self, session: &PastSession) -> Result<FullExchange, String> {
        let all = |texts: Vec<String>| texts.iter().take(ITEMS_MAX).map(|text| clean(text)).collect();
        let digest = |digest: Option<String>| match digest.as_deref().map(HistoryTombstone::parse) {
            None => Ok(None),
            Some(Some(digest)) => Ok(Some(digest.as_str().to_owned())),
            Some(None) => Err("the digest of a turn is 32 hexadecimal digits".to_owned()),
        };
        let command = |command: CommandLine| PastCommand { line: clean(&command.line), ok: command.ok };
        let exchange = Exchange {
            id: ExchangeId::of(&session.agent, &session.id, self.seq),
            session: session.id.clone(),
            seq: self.seq,
            part: self.part,
            at: self.at,
            title: name(&self.title),
            files: all(self.files),
            commands: self.commands.into_iter().take(ITEMS_MAX).map(command).collect(),
            errors: all(self.errors),
            withdrawn: self.withdrawn,
            first: digest(self.first)?,
            last: digest(self.last)?,
            digest: String::new(),
        };
        let text = redact_text(&self.text).value.clipped(EXCHANGE_BYTES_MAX);
        let proven = self.proven.map(ITEMS_MAX, |text| clean(&text)).bounded();
        Ok(FullExchange { exchange, text, proven }.sealed())
    }
}

impl From<&HistoryTombstone> for HistoryTombstoneLine {
    fn from(tombstone: &HistoryTombstone) -> Self {
        Self { digest: tombstone.as_str().to_owned() }
    }
}
