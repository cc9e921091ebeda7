//! A preview: what an import would read, counted before anything is stored.

use std::{collections::BTreeMap, path::PathBuf};

use super::Intake;
use super::{
    folders::{Form, TranscriptFolder},
    many::by_session,
    memory_files::MemoryFile,
    reading::{Fault, Reading, small},
    rows::{Database, Head},
    state::{FAULTS_MAX, ImportRequest},
    take::{Pass, Trouble, Want, blocking},
    walk::{self, Found},
};
use crate::{ServiceError, agent_slug, lock, tasks::on_a_thread};
use cerebro_core::{domain::Project, redact::redact_secrets, text::nearest};
use cerebro_transcript::typed;

/// Most files of sessions that are read for their folders, to find memory files.
const LOOKED_INTO_MAX: usize = 100;

/// The files in the folders of one agent, before they are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentPreview {
    /// Files with sessions that are wanted.
    pub files: usize,
    /// The length of these sessions together.
    pub bytes: u64,
    /// Those files that are new or have changed.
    pub fresh: usize,
    /// Those that are older than the request asks for.
    pub older: usize,
}

/// A memory file of an agent, before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewedFile {
    /// Where it is; without secrets.
    pub path: String,
    /// The agents that load it.
    pub loaded_by: Vec<&'static str>,
    /// The project that it belongs to.
    pub project: Project,
}

/// What an import would read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// The files, by agent.
    pub agents: BTreeMap<&'static str, AgentPreview>,
    /// What cannot be read, and why, in words; without secrets.
    pub faults: Vec<(String, String)>,
    /// Projects with names like the one that was asked for, if no session of that one is there.
    pub near: Vec<String>,
    /// The memory files, if they were asked for.
    pub memory_files: Vec<PreviewedFile>,
}

/// A session of a file: the folder that it was in, and its length.
type Part = (Option<String>, u64);

impl Intake {
    /// What an import would read, by agent, and what cannot be read. If it depends on the project which sessions are
    /// wanted, the beginnings of the files are read; nothing of them is stored. With `memory_files`, also the memory files
    /// in the folders of the newest sessions.
    pub async fn preview(
        &self,
        request: &ImportRequest,
        memory_files: bool,
    ) -> Result<Preview, ServiceError> {
        let mut preview = Preview::default();
        let Some((places, oldest)) = self.asked_for(request) else { return Ok(preview) };
        self.load_known().await?;
        let walked = on_a_thread("the walk through the agents' folders", move || walk::walk(&places));
        let mut walked = walked.await?;
        let mut pass = self.pass(request, oldest);
        walked.files.sort_by_key(|file| std::cmp::Reverse(file.stat.mtime));
        for file in &walked.files {
            let Some(bytes) = self.wanted_of(file, &mut pass).await else { continue };
            let known = lock(&self.state.known);
            let read = known.as_ref().and_then(|known| known.stats.get(&file.path));
            let of_agent = preview.agents.entry(agent_slug(file.agent)).or_default();
            of_agent.files += 1;
            of_agent.bytes += bytes;
            of_agent.fresh += usize::from(read != Some(&file.stat));
            of_agent.older += usize::from(read.is_none() && file.stat.mtime < oldest);
        }
        if let Some(project) = request.project.as_ref().filter(|_| preview.agents.is_empty()) {
            let seen = pass.projects().map(Project::as_str);
            preview.near = nearest(project.as_str(), seen).into_iter().map(str::to_owned).collect();
        }
        if memory_files {
            preview.memory_files = self.preview_memory_files(request, walked.files, &mut pass).await?;
        }
        let faults = walked.faults.into_iter().take(FAULTS_MAX);
        preview.faults =
            faults.map(|(_, path, why)| (redact_secrets(&path.to_string_lossy()), why)).collect();
        Ok(preview)
    }

    /// The memory files that an import would take in: those in the folders of past sessions and of wanted ones, of which the
    /// newest are looked at, and those that agents load everywhere.
    async fn preview_memory_files(
        &self,
        request: &ImportRequest,
        files: Vec<Found>,
        pass: &mut Pass,
    ) -> Result<Vec<PreviewedFile>, ServiceError> {
        let mut folders = self.folders_of_sessions().await?;
        for file in files.iter().filter(|file| !file.form.holds_many()).take(LOOKED_INTO_MAX) {
            let Ok(Some(folder)) = self.folder_of(file, pass).await else { continue };
            if self.want_of(file, Some(folder.clone()), pass).await == Want::Yes {
                folders.insert(PathBuf::from(folder));
            }
        }
        let settings = request.chosen_from(&self.state.settings().unwrap_or_default());
        let wanted = self.wanted_memory_files(&settings, folders, pass).await?.0;
        let previewed = |(file, project): (MemoryFile, Project)| PreviewedFile {
            path: redact_secrets(&file.path.to_string_lossy()),
            loaded_by: file.agents.iter().map(|agent| agent_slug(*agent)).collect(),
            project,
        };
        Ok(wanted.into_iter().map(previewed).collect())
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

/// How many files of sessions lie in some places, and their bytes. Blocks.
pub fn glance(places: &[TranscriptFolder]) -> (usize, u64) {
    let files = walk::walk(places).files;
    (files.len(), files.iter().map(|file| file.stat.size).sum())
}

/// The sessions of a file that holds many. Blocks.
fn parts(found: &Found) -> Result<Vec<Part>, Fault> {
    if found.form == Form::Database {
        let database = Database::open(&found.path)?;
        let sized = |head: Head| -> Result<Part, Fault> {
            let bytes = database.size_of(&head)?;
            Ok((head.directory, bytes))
        };
        return database.heads(None)?.into_iter().map(sized).collect();
    }
    let prompts = typed::read(&small(&found.path)?, 0).prompts;
    let part = |(_, prompts): (String, Vec<typed::Typed>)| {
        let bytes = prompts.iter().map(|typed| typed.prompt.text.len() as u64).sum();
        (prompts.into_iter().rev().find_map(|typed| typed.project), bytes)
    };
    Ok(by_session(prompts).into_iter().map(part).collect())
}
