//! If past sessions are not imported, a transcript that a hook names is read for the journal of work alone.
//!
//! The journal gets what hooks did not report about a session that they did report; nothing else is kept. How far a
//! transcript was read is known until the daemon ends; the next daemon reads it from its beginning.

use super::Intake;
use super::{
    folders::Form,
    reading::{Cursor, Piece, Reading},
    run::EXCHANGE_BYTES,
    take::{Pass, Trouble, blocking},
    walk::Found,
};
use crate::{ServiceError, lock, work};

/// Most transcripts whose position is remembered.
const POSITIONS_MAX: usize = 256;

/// How far a transcript was read.
#[derive(Debug, Clone)]
pub(super) struct JournalPosition {
    /// The transcript's session.
    pub session: String,
    cursor: Cursor,
}

impl Intake {
    /// Reads the transcripts that hooks have named since the last time, for the journal alone.
    pub(super) async fn read_for_journal(&self, pass: &mut Pass) -> Result<(), ServiceError> {
        for (found, _) in self.named_files(self.state.take_named(&[])).await {
            let Ok(found) = found else { continue };
            if found.form != Form::Lines {
                continue;
            }
            match self.read_one_for_journal(&found, pass).await {
                Ok(()) => {}
                Err(Trouble::Source(_)) => tracing::warn!("a transcript could not be read for the journal"),
                Err(Trouble::Store(error)) => return Err(error),
            }
        }
        Ok(())
    }

    async fn read_one_for_journal(&self, found: &Found, pass: &mut Pass) -> Result<(), Trouble> {
        let known = lock(&self.state.journal_only).get(&found.path).cloned();
        let mut before = known.map(|position| position.cursor);
        let (opened, cursor, now) = (found.clone(), before.clone(), self.base.now());
        let Some(mut reading) = blocking(move || Reading::open(opened, cursor, now)).await?? else {
            return Ok(());
        };
        if reading.restarted() {
            before = None;
        }
        loop {
            let (back, piece) = self.step(reading, pass).await?;
            reading = back;
            let Piece { mut batch, cursor, is_last, .. } = piece;
            self.place_in_folder(found, &mut batch, pass).await;
            let project = self.project_of(batch.began_in(), pass).await;
            if pass.excludes(&project, batch.session.cwd.as_deref(), &found.path) {
                return Ok(());
            }
            if let Some(reading) = work::Reading::of(&batch, before.as_ref().map(|before| &before.state)) {
                self.give_way(pass, batch.exchanges.len() as u64 * EXCHANGE_BYTES).await;
                self.journal.fill(reading).await?;
            }
            if is_last {
                let mut positions = lock(&self.state.journal_only);
                if positions.len() >= POSITIONS_MAX {
                    positions.clear();
                }
                positions.insert(found.path.clone(), JournalPosition { session: batch.session.id, cursor });
                return Ok(());
            }
            before = Some(cursor);
        }
    }
}
