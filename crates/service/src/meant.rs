//! Decides what is to be forgotten: what meets a person's conditions, or what was forgotten before and came back with an
//! older database.

use std::collections::BTreeSet;

use cerebro_core::domain::{FullExchange, HistoryTombstone, PastSession, Project, SessionId, Timestamp};
use cerebro_core::text::comparable;
use cerebro_store::{ForgottenTexts, Write};

use crate::ServiceError;

/// Shortest text that keeps exchanges of later sessions out, in characters that count in a comparison. A shorter one is in
/// too many exchanges.
pub const KEPT_OUT_CHARS_MIN: usize = 8;

/// What to forget: everything that meets all given conditions. Without any condition, nothing is forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forget {
    /// It belongs to this session or to one of its sub-agents.
    pub session: Option<SessionId>,
    /// Sub-agents of that session whose ids do not begin with its own. [`Service::forget`](crate::Service::forget) looks
    /// them up.
    pub sub_agents: BTreeSet<SessionId>,
    /// It belongs to this project.
    pub project: Option<Project>,
    /// It began at this moment or later.
    pub since: Option<Timestamp>,
    /// It began before this moment.
    pub before: Option<Timestamp>,
    /// Its text contains this one, as [`comparable`] reads both.
    pub text: Option<String>,
}

impl Forget {
    /// Whether nothing meets it: no condition is given, or a text without a character that counts.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default() || self.text.as_ref().is_some_and(|text| comparable(text).is_empty())
    }

    /// Whether it names whole sessions, including later exchanges.
    fn is_whole(&self) -> bool {
        self.since.is_none() && self.before.is_none() && self.text.is_none()
    }

    /// Whether it covers a session of a project. An unknown session is not covered if one is named.
    fn is_of(&self, session: Option<&SessionId>, project: &Project) -> bool {
        let is_of = |meant: &SessionId| {
            let mut all = self.sub_agents.iter().chain([meant]);
            session.is_some_and(|session| all.any(|meant| session.is_part_of(meant)))
        };
        self.session.as_ref().is_none_or(is_of) && self.project.as_ref().is_none_or(|meant| meant == project)
    }

    /// Whether it covers a moment.
    fn is_at(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.before.is_none_or(|before| at < before)
    }

    /// Whether a text contains the text to forget; `false` if none is given.
    fn holds(&self, text: &str) -> bool {
        self.text.as_ref().is_some_and(|needle| comparable(text).contains(&comparable(needle)))
    }

    /// The text that is to be forgotten wherever it is, also in sessions that are read later: it is the only condition, and
    /// long enough to mean one thing.
    pub(crate) fn everywhere(&self) -> Option<&str> {
        let alone = Self { text: self.text.clone(), ..Self::default() } == *self;
        let text = self.text.as_deref().filter(|_| alone)?;
        is_kept_out(text).then_some(text)
    }
}

/// Whether a text that is forgotten by itself is kept out of later sessions: it is long enough to mean one thing.
pub fn is_kept_out(text: &str) -> bool {
    comparable(text).chars().count() >= KEPT_OUT_CHARS_MIN
}

/// What was forgotten after the backup that is being restored.
pub(crate) struct Carried {
    /// The tombstones that the backup lacks.
    pub tombstones: BTreeSet<HistoryTombstone>,
    /// The texts that were forgotten in all sessions, without those that the backup knows.
    pub texts: ForgottenTexts,
}

/// What is to be forgotten.
#[derive(Clone, Copy)]
pub(crate) enum Meant<'a> {
    /// What meets the conditions of a person.
    Asked(&'a Forget),
    /// What was forgotten before.
    Carried(&'a Carried),
}

impl<'a> From<&'a Forget> for Meant<'a> {
    fn from(what: &'a Forget) -> Self {
        Self::Asked(what)
    }
}

/// A prompt, summary, exchange or text of work that may have to be forgotten.
pub(crate) struct Thing<'a> {
    /// Its session, if it is known.
    pub session: Option<&'a SessionId>,
    pub project: &'a Project,
    /// When it was said or begun.
    pub at: Timestamp,
    /// Whether a transcript or a hook reported it. What an agent wrote with a tool is forgotten only for its text.
    pub reported: bool,
    /// The tombstone that it gets when it is forgotten.
    pub tombstone: HistoryTombstone,
}

/// Whether something is to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsMeant {
    Yes,
    /// If its text holds one that is to be forgotten ([`Meant::holds`]).
    IfHolding,
    No,
}

impl Meant<'_> {
    /// Whether something is to be forgotten.
    pub(crate) fn of(self, thing: &Thing<'_>) -> IsMeant {
        match self {
            Self::Asked(what) if !what.is_of(thing.session, thing.project) || !what.is_at(thing.at) => {
                IsMeant::No
            }
            Self::Asked(what) if what.text.is_some() => IsMeant::IfHolding,
            Self::Asked(_) if thing.reported => IsMeant::Yes,
            Self::Asked(_) => IsMeant::No,
            Self::Carried(carried) => {
                let is_whole = thing.session.is_some_and(|session| self.has_whole(session));
                if carried.tombstones.contains(&thing.tombstone) || thing.reported && is_whole {
                    IsMeant::Yes
                } else if carried.texts.is_empty() {
                    IsMeant::No
                } else {
                    IsMeant::IfHolding
                }
            }
        }
    }

    /// Whether something with these texts is to be forgotten.
    pub(crate) fn is<'t>(self, thing: &Thing<'_>, texts: impl IntoIterator<Item = &'t str>) -> bool {
        match self.of(thing) {
            IsMeant::Yes => true,
            IsMeant::IfHolding => texts.into_iter().any(|text| self.holds(text)),
            IsMeant::No => false,
        }
    }

    /// Whether a text holds one that is to be forgotten.
    pub(crate) fn holds(self, text: &str) -> bool {
        match self {
            Self::Asked(what) => what.holds(text),
            Self::Carried(carried) => carried.texts.are_in(text),
        }
    }

    /// Whether an exchange holds a text that is to be forgotten.
    pub(crate) fn is_in(self, full: &FullExchange) -> bool {
        full.any_text(|text| self.holds(text))
    }

    /// Whether something in a session of a project may have to be forgotten. `reported` is as in [`Thing`].
    pub(crate) fn may_be_of(self, session: Option<&SessionId>, project: &Project, reported: bool) -> bool {
        match self {
            Self::Asked(what) => (reported || what.text.is_some()) && what.is_of(session, project),
            Self::Carried(_) => true,
        }
    }

    /// Whether a session meets the conditions other than the text, so that its names may have to be forgotten.
    pub(crate) fn covers(self, session: &PastSession) -> bool {
        match self {
            Self::Asked(what) => {
                what.is_of(Some(&session.id), &session.project) && what.is_at(session.started_at)
            }
            Self::Carried(_) => true,
        }
    }

    /// Whether a name of a session, such as its title, is to be forgotten even if its exchanges are not.
    pub(crate) fn is_name(self, session: &SessionId, name: &str, text: &str) -> bool {
        let was = |carried: &Carried| carried.tombstones.contains(&HistoryTombstone::of_name(session, name));
        self.holds(text) || matches!(self, Self::Carried(carried) if was(carried))
    }

    /// Whether names of sessions may have to be forgotten even if their exchanges are not.
    pub(crate) fn may_be_names(self) -> bool {
        match self {
            Self::Asked(what) => what.text.is_some(),
            Self::Carried(_) => true,
        }
    }

    /// Whether sessions are forgotten as a whole, including what is read of them later.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Asked(what) if what.is_whole())
    }

    /// Whether it was forgotten before.
    pub(crate) fn is_carried(self) -> bool {
        matches!(self, Self::Carried(_))
    }

    /// Whether a whole session was forgotten before. Its sub-agents have tombstones of their own.
    fn has_whole(self, session: &SessionId) -> bool {
        let Self::Carried(carried) = self else { return false };
        HistoryTombstone::of_whole(session).iter().any(|whole| carried.tombstones.contains(whole))
    }
}

/// Whether what an export or a hook brings was forgotten here: there is its tombstone, if it has one, or one of its texts holds a text
/// that was forgotten in all sessions. A session that was forgotten may have gone on, so what hooks reported of it counts
/// by itself.
pub(crate) async fn is_forgotten(
    write: &Write<'_>,
    tombstone: Option<HistoryTombstone>,
    any_text: impl FnOnce(&ForgottenTexts) -> bool,
) -> Result<bool, ServiceError> {
    if write.has_history_tombstone(tombstone.as_slice()).await? {
        return Ok(true);
    }
    let forgotten = write.store().history().forgotten_texts().await?;
    Ok(!forgotten.is_empty() && any_text(&forgotten))
}
