//! What one session left: its memories and prompts in order of time.

use std::collections::BTreeMap;

use crate::{
    Recall, ServiceError,
    recall::timeline::{Entry, memory_entry, prompt_entry},
};
use cerebro_core::domain::{Session, SessionId, Timestamp};
use cerebro_core::redact::RedactedText;

/// A session with what happened in it.
#[derive(Debug, Clone)]
pub struct SessionContents {
    /// The session; `None` when there is none with this id.
    pub session: Option<Session>,
    /// Live memories and prompts, oldest first.
    pub entries: Vec<Entry>,
    /// The texts of the prompts among them, by their ids.
    pub prompts: BTreeMap<String, RedactedText>,
    /// Whether more follow.
    pub more: bool,
}

impl Recall {
    /// The first `limit` things that happened in a session after a moment.
    pub async fn session_contents(
        &self,
        id: &SessionId,
        after: Timestamp,
        limit: usize,
    ) -> Result<SessionContents, ServiceError> {
        let store = &self.base.store;
        let (session, written, prompts) = tokio::try_join!(
            store.sessions().by_id(id),
            store.memories().written_since(id, after, limit + 1),
            store.prompts().of_session(id, after, limit + 1),
        )?;
        let memories = written.iter().map(|(memory, at)| memory_entry(memory, *at));
        let mut entries: Vec<Entry> = memories.chain(prompts.iter().map(prompt_entry)).collect();
        entries.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
        let more = entries.len() > limit;
        truncate(&mut entries, limit);
        let prompts = prompts.into_iter().map(|prompt| (prompt.id.to_string(), prompt.content)).collect();
        Ok(SessionContents { session, entries, prompts, more })
    }
}

/// Keeps the first `limit` entries. The next page begins after the moment of the last one, so all entries of a moment are
/// on one page, unless they are more than a page.
fn truncate(entries: &mut Vec<Entry>, limit: usize) {
    let Some(next) = entries.get(limit).map(|entry| entry.at) else { return };
    let whole = entries.partition_point(|entry| entry.at < next);
    entries.truncate(if whole == 0 { limit } else { whole });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::timeline::EntryKind;

    #[test]
    fn a_page_ends_between_two_moments() {
        let ends = |moments: &[i64], limit: usize| {
            let entry = |second: &i64| Entry {
                kind: EntryKind::Memory,
                id: String::new(),
                title: String::new(),
                memory_kind: None,
                agent: String::new(),
                at: Timestamp::from_second(*second).unwrap(),
                footing: None,
            };
            let mut entries: Vec<Entry> = moments.iter().map(entry).collect();
            truncate(&mut entries, limit);
            entries.len()
        };
        assert_eq!(ends(&[1, 2, 3], 2), 2);
        assert_eq!(ends(&[1, 2, 2], 2), 1, "the second one of the moment would be skipped");
        assert_eq!(ends(&[1, 2, 2], 3), 3);
        assert_eq!(ends(&[2, 2, 2], 2), 2, "a page has no more room");
    }
}
