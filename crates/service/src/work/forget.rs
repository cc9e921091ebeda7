//! Forgetting: the texts of events that belong to past sessions which a person forgets.

use cerebro_core::domain::{HistoryTombstone, Run, Timestamp, WorkId};
use cerebro_core::redact::RedactedText;
use cerebro_ledger::{ChainedEvent, Entry, Work};
use cerebro_store::{StoredWork, Write};

use super::draft::{holds_json, unpacked};
use crate::{
    Journal, ServiceError,
    meant::{IsMeant, Meant, Thing},
};

impl Journal {
    /// Purges the texts of events that hooks reported and that are meant, or of any events with a text to forget; and the
    /// title of work of which nothing else is left, or whose title has the text. The events stay, without their texts, so
    /// the chain still verifies, and a tombstone of each text stays. Returns their number; a dry run only counts.
    pub(crate) async fn forget(&self, what: Meant<'_>, run: Run) -> Result<usize, ServiceError> {
        let mut purged = 0;
        let mut pages = self.base.store.works().walk();
        while let Some(page) = pages.next().await? {
            for stored in page {
                purged += self.forget_in(what, stored, run).await?;
            }
        }
        if purged > 0 && run == Run::Real {
            self.held.forget();
            self.drop_unnamed_artifacts().await?;
        }
        Ok(purged)
    }

    async fn forget_in(&self, what: Meant<'_>, stored: StoredWork, run: Run) -> Result<usize, ServiceError> {
        let work = &stored.work;
        // Work that an agent began by a tool is no part of what hooks reported; only a text is forgotten there, too.
        if !what.may_be_of(work.session.as_ref(), &work.project, work.is_session()) {
            return Ok(0);
        }
        let mut with_texts = self.all_events(work).await?;
        with_texts.retain(|event| event.body.is_some());
        let (mut numbers, mut buried) = (Vec::new(), Vec::new());
        for event in &with_texts {
            let tombstone = HistoryTombstone::of_event(&event.commitment.hex());
            let thing = thing(work, Entry::from(event).happened, tombstone);
            if self.is_meant(event, what, &thing).await? {
                numbers.push(event.seq);
                buried.push(thing.tombstone);
            }
        }
        let thing = thing(work, work.created_at, HistoryTombstone::of_work_title(&work.id));
        let untitled = !work.title.is_empty()
            && match what.of(&thing) {
                IsMeant::Yes => what.is_carried() || numbers.len() == with_texts.len(),
                IsMeant::IfHolding => what.holds(&work.title),
                IsMeant::No => false,
            };
        buried.extend(untitled.then_some(thing.tombstone));
        let purged = buried.len();
        if purged > 0 && run == Run::Real {
            let store = &self.base.store;
            let purging =
                store.transact(|write| Box::pin(purge(write, &work.id, &numbers, untitled, &buried)));
            purging.await?;
        }
        Ok(purged)
    }

    /// Whether an event is meant, by itself or for its whole text.
    async fn is_meant(
        &self,
        event: &ChainedEvent,
        what: Meant<'_>,
        thing: &Thing<'_>,
    ) -> Result<bool, ServiceError> {
        match what.of(thing) {
            IsMeant::Yes => return Ok(true),
            IsMeant::No => return Ok(false),
            IsMeant::IfHolding => {}
        }
        if event.body.as_ref().is_some_and(|body| holds_json(body, |text| what.holds(text))) {
            return Ok(true);
        }
        let Some(name) = &event.artifact else { return Ok(false) };
        let artifact = self.base.store.artifacts().by_id(name).await?;
        let whole = artifact.as_ref().and_then(unpacked).and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(whole.is_some_and(|whole| holds_json(&whole, |text| what.holds(text))))
    }
}

/// A text of a piece of work, as something that may be meant.
fn thing(work: &Work, at: Timestamp, tombstone: HistoryTombstone) -> Thing<'_> {
    let (session, reported) = (work.session.as_ref(), work.is_session());
    Thing { session, project: &work.project, at, reported, tombstone }
}

/// Removes the texts of some events of a piece of work, and its title if it becomes `untitled`. `buried` are the tombstones of
/// what is removed.
async fn purge(
    write: &mut Write<'_>,
    work: &WorkId,
    numbers: &[u64],
    untitled: bool,
    buried: &[HistoryTombstone],
) -> Result<(), ServiceError> {
    if let Some(mut stored) = write.work(work).await? {
        if untitled {
            stored.work.title = RedactedText::default();
        }
        let forks = write.store().checkpoints().forks().await?;
        write.purge_texts(&stored, numbers, &forks);
        write.put_history_tombstones(buried.to_vec());
    }
    Ok(())
}
