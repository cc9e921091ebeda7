//! Forgetting: the texts of events that belong to past sessions which a person forgets.

use cerebro_core::domain::WorkId;
use cerebro_core::redact::RedactedText;
use cerebro_ledger::{ChainedEvent, Entry, Kind};
use cerebro_store::{Decision, StoredWork, Write};

use super::draft::unpacked;
use crate::{Forget, Journal, ServiceError};

/// Most pieces of work that are read at once.
const PAGE: usize = 100;

impl Journal {
    /// Purges the texts of events that hooks reported and that meet all conditions, or of any events with the text to forget;
    /// and the title of work of which nothing else is left, or whose
    /// title has the text. The events stay, without their texts, so the chain still verifies. Returns their number; with
    /// `dry_run` it only counts.
    ///
    /// # Errors
    /// A failing store.
    pub(crate) async fn forget(&self, what: &Forget, dry_run: bool) -> Result<usize, ServiceError> {
        let mut purged = 0;
        let mut after: Option<String> = None;
        loop {
            let page = self.base.store.works().page(after.as_deref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (_, stored) in page {
                purged += self.forget_in(what, stored, dry_run).await?;
            }
        }
        if purged > 0 && !dry_run {
            self.held.forget();
            self.drop_unnamed_artifacts().await?;
        }
        Ok(purged)
    }

    async fn forget_in(
        &self,
        what: &Forget,
        stored: StoredWork,
        dry_run: bool,
    ) -> Result<usize, ServiceError> {
        let work = &stored.work;
        // Work that an agent began by a tool is no part of what hooks reported; only a text is forgotten there, too.
        let is_meant = Kind::of(&work.kind) == Kind::Session || what.text.is_some();
        if !is_meant || !what.is_of(work.session.as_ref(), &work.project) {
            return Ok(0);
        }
        let mut with_texts = self.all_events(work).await?;
        with_texts.retain(|event| event.body.is_some());
        let mut numbers = Vec::new();
        for event in &with_texts {
            if what.is_at(Entry::from(event).happened) && self.says(event, what).await? {
                numbers.push(event.seq);
            }
        }
        let untitled = !work.title.is_empty()
            && what.is_at(work.created_at)
            && if what.text.is_some() { what.holds(&work.title) } else { numbers.len() == with_texts.len() };
        let purged = numbers.len() + usize::from(untitled);
        if purged > 0 && !dry_run {
            self.base.store.transact(&PurgeEvents { work: &work.id, numbers: &numbers, untitled }).await?;
        }
        Ok(purged)
    }

    /// Whether the whole text of an event has the text to forget; always true if none is given.
    async fn says(&self, event: &ChainedEvent, what: &Forget) -> Result<bool, ServiceError> {
        if what.text.is_none() || event.body.as_ref().is_some_and(|body| holds_json(what, body)) {
            return Ok(true);
        }
        let Some(name) = &event.artifact else { return Ok(false) };
        let artifact = self.base.store.artifacts().by_id(name).await?;
        let whole = artifact.as_ref().and_then(unpacked).and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(whole.is_some_and(|whole| holds_json(what, &whole)))
    }
}

/// Whether a body has the text to forget. A body is JSON, which spells line breaks and quotes in its own way; one that is
/// cut is read as it is.
fn holds_json(what: &Forget, body: &str) -> bool {
    fn any(what: &Forget, value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => what.holds(text),
            serde_json::Value::Array(items) => items.iter().any(|item| any(what, item)),
            serde_json::Value::Object(fields) => fields.values().any(|field| any(what, field)),
            _ => false,
        }
    }
    serde_json::from_str(body).map_or_else(|_| what.holds(body), |value| any(what, &value))
}

struct PurgeEvents<'a> {
    work: &'a WorkId,
    numbers: &'a [u64],
    untitled: bool,
}

impl Decision for PurgeEvents<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        if let Some(mut stored) = write.work(self.work).await? {
            if self.untitled {
                stored.work.title = RedactedText::default();
            }
            let forks = write.store().checkpoints().forks().await?;
            write.purge_texts(&stored, self.numbers, &forks);
        }
        Ok(())
    }
}
