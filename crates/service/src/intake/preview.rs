//! A preview: what an import would read, counted before anything is stored.

use std::collections::BTreeMap;

use super::Intake;
use super::{
    folders::Form,
    many::by_session,
    reading::{Fault, Reading, small},
    rows::{Database, Head},
    state::{FAULTS_MAX, ImportRequest, broke_off},
    take::{Pass, Trouble, Want, blocking},
    walk::{self, Found},
};
use crate::{ServiceError, agent_slug, lock};
use cerebro_core::redact::redact_secrets;
use cerebro_transcript::typed;

/// The files in the folders of one agent, before they are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// Files with sessions that are wanted.
    pub files: usize,
    /// The length of these sessions together.
    pub bytes: u64,
    /// Those files that are new or have changed.
    pub fresh: usize,
    /// Those that are older than the request asks for.
    pub older: usize,
}

/// A session of a file: the folder that it was in, and its length.
type Part = (Option<String>, u64);

impl Intake {
    /// What an import would read, by agent, and what cannot be read. If it depends on the project which sessions are
    /// wanted, the beginnings of the files are read; nothing of them is stored.
    ///
    /// # Errors
    /// A failing store.
    pub async fn preview(
        &self,
        request: &ImportRequest,
    ) -> Result<(BTreeMap<&'static str, Preview>, Vec<(String, String)>), ServiceError> {
        let mut found: BTreeMap<&'static str, Preview> = BTreeMap::new();
        let Some((places, oldest)) = self.asked_for(request) else { return Ok((found, Vec::new())) };
        self.know().await?;
        let walked = tokio::task::spawn_blocking(move || walk::walk(&places)).await;
        let walked = walked.map_err(|_| broke_off("the walk through the agents' folders broke off"))?;
        let mut pass = self.pass(request.project.clone(), oldest);
        for file in walked.files {
            let Some(bytes) = self.wanted_of(&file, &mut pass).await else { continue };
            let known = lock(&self.state.known);
            let gate = known.as_ref().and_then(|known| known.gates.get(&file.path));
            let preview = found.entry(agent_slug(file.agent)).or_default();
            preview.files += 1;
            preview.bytes += bytes;
            preview.fresh += usize::from(gate != Some(&file.stat));
            preview.older += usize::from(gate.is_none() && file.stat.mtime < oldest);
        }
        let faults = walked.faults.into_iter().take(FAULTS_MAX);
        let faults = faults.map(|(_, path, why)| (redact_secrets(&path.to_string_lossy()), why)).collect();
        Ok((found, faults))
    }

    /// How many bytes of a file belong to sessions that are wanted; `None` if there are none. A file that cannot be read
    /// counts, because an import names it.
    async fn wanted_of(&self, found: &Found, pass: &mut Pass) -> Option<u64> {
        if !pass.is_choosy() {
            return Some(found.stat.size);
        }
        let parts = if found.form.holds_many() {
            let opened = found.clone();
            blocking(move || parts(&opened)).await.ok().and_then(Result::ok)
        } else {
            self.folder_of(found, pass).await.ok().map(|folder| vec![(folder, found.stat.size)])
        };
        let Some(parts) = parts else { return Some(found.stat.size) };
        let mut wanted = None;
        for (folder, bytes) in parts {
            if self.want_of(found, folder, pass).await == Want::Yes {
                wanted = Some(wanted.unwrap_or(0) + bytes);
            }
        }
        wanted
    }

    /// The folder of the session in a file, if the first piece of the file has it.
    async fn folder_of(&self, found: &Found, pass: &mut Pass) -> Result<Option<String>, Trouble> {
        let (opened, now) = (found.clone(), self.base.now());
        let read = move || Reading::open(opened, None, now)?.map(|mut reading| reading.step()).transpose();
        let Some(piece) = blocking(read).await?? else { return Ok(None) };
        let mut batch = piece.batch;
        self.place_in_folder(found, &mut batch, pass).await;
        Ok(batch.session.cwd)
    }
}

/// The sessions of a file that holds many. Blocks.
fn parts(found: &Found) -> Result<Vec<Part>, Fault> {
    if found.form == Form::Database {
        let database = Database::open(&found.path)?;
        let sized = |head: Head| -> Result<Part, Fault> {
            let bytes = database.size_of(&head)?;
            Ok((head.directory, bytes))
        };
        return database.heads()?.into_iter().map(sized).collect();
    }
    let (prompts, _) = typed::read(&small(&found.path)?, 0);
    let part = |(_, prompts): (String, Vec<typed::Typed>)| {
        let bytes = prompts.iter().map(|typed| typed.prompt.text.len() as u64).sum();
        (prompts.into_iter().rev().find_map(|typed| typed.project), bytes)
    };
    Ok(by_session(prompts).into_iter().map(part).collect())
}
