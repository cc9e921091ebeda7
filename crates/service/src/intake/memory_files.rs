//! Memory files: texts that people, and agents themselves, write for an agent to load at its start. They are imported as
//! documents for the other agents and never written. A search by an agent that loads a file leaves this file out.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::Read,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};

use super::Intake;
use super::{
    folders::TranscriptFolder,
    settings::HistorySettings,
    slug::{hashed, on_disk, plain, project_root},
    take::Pass,
    walk,
};
use crate::{DocumentRead, ServiceError, agent_slug, index::Evidence, looks};
use cerebro_core::{
    domain::{Document, Project, Run},
    redact::redact_text,
    text::hex,
};
use cerebro_documents::Format;
use cerebro_transcript::Agent::{self, ClaudeCode, Codex, Copilot, Cursor, GeminiCli, OpenCode, Qwen};

/// Agents do not load longer files.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Most memory files that are read.
const MEMORY_FILES_MAX: usize = 1_000;
/// Most entries of one folder that are looked at.
const ENTRIES_MAX: usize = 100;
/// Most past sessions whose folders are searched, the latest first.
const SESSIONS_MAX: usize = 500;
/// Most of these folders.
const FOLDERS_MAX: usize = 50;
/// How long one look may take: the folder may lie on a disk that does not answer.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// How many documents are read at once.
const PAGE: usize = 200;
/// Most folders above a session's that are looked into.
const CHAIN_MAX: usize = 16;
/// How deep folders of rules are searched.
const RULES_DEPTH_MAX: usize = 4;

/// Files of a project, below its folder, and the agents that load them. A `*` stands for a file of that ending, `**` for one
/// at any depth.
const OF_PROJECTS: [(&str, &[Agent]); 11] = [
    ("CLAUDE.md", &[ClaudeCode]),
    ("CLAUDE.local.md", &[ClaudeCode]),
    (".claude/CLAUDE.md", &[ClaudeCode]),
    (".claude/rules/**.md", &[ClaudeCode]),
    ("AGENTS.md", &[Codex, OpenCode, Cursor, Copilot]),
    ("AGENTS.override.md", &[Codex]),
    ("GEMINI.md", &[GeminiCli]),
    ("QWEN.md", &[Qwen]),
    (".github/copilot-instructions.md", &[Copilot]),
    (".cursor/rules/**.mdc", &[Cursor]),
    (".cursorrules", &[Cursor]),
];

/// Files of a person, below the agent's folder.
const OF_PERSONS: [(Agent, &str); 13] = [
    (ClaudeCode, "CLAUDE.md"),
    (ClaudeCode, "rules/**.md"),
    (Codex, "AGENTS.md"),
    (Codex, "AGENTS.override.md"),
    (Codex, "memories/memory_summary.md"),
    (Codex, "memories/MEMORY.md"),
    (Codex, "memories/rollout_summaries/*.md"),
    (Codex, "memories/skills/**.md"),
    (GeminiCli, "GEMINI.md"),
    (OpenCode, "AGENTS.md"),
    (Copilot, "copilot-instructions.md"),
    (Copilot, "instructions/*.md"),
    (Qwen, "QWEN.md"),
];

/// The agents that also load what a line of their files names, such as `@AGENTS.md`, and the most names in a file that are
/// looked up.
const IMPORTING: [Agent; 3] = [ClaudeCode, GeminiCli, Qwen];
const IMPORTS_MAX: usize = 100;

/// Where a machine's administrator keeps what Claude Code loads for everyone.
const OF_MACHINE: &str = "/etc/claude-code";

/// A memory file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryFile {
    pub(super) path: PathBuf,
    /// The agents that load it.
    pub(super) agents: Vec<Agent>,
    /// The folder of its project; none for those that are loaded everywhere.
    folder: Option<PathBuf>,
}

impl MemoryFile {
    /// Notes that agents load it under another name, too.
    fn also_loaded(&mut self, by: &[Agent]) {
        for agent in by {
            if !self.agents.contains(agent) {
                self.agents.push(*agent);
            }
        }
    }
}

impl Intake {
    /// Imports memory files, if the settings want that, and removes those that are gone or no longer wanted.
    pub(super) async fn take_memory_files(&self, pass: &mut Pass) -> Result<(), ServiceError> {
        let settings = self.state.settings().unwrap_or_default();
        let wants = settings.enabled && settings.memory_files;
        if !wants && !self.evidence.has(Evidence::Documents).await? {
            return Ok(());
        }
        let mut known = self.known_memory_files().await?;
        if wants {
            let folders = self.folders_of_sessions().await?;
            let (wanted, silent) = self.wanted_memory_files(&settings, folders, pass).await?;
            // What lies where nothing answers is not gone.
            known.retain(|(_, path), _| !silent.iter().any(|folder| Path::new(path).starts_with(folder)));
            for (memory_file, project) in wanted {
                let before =
                    known.remove(&(project.clone(), memory_file.path.to_string_lossy().into_owned()));
                self.take_memory_file(memory_file, project, before.as_ref()).await?;
            }
        }
        for gone in known.into_values() {
            self.documents.remove(gone.id).await?;
        }
        Ok(())
    }

    /// The memory files that searches find now, by their projects and paths.
    async fn known_memory_files(&self) -> Result<BTreeMap<(Project, String), Document>, ServiceError> {
        let mut known = BTreeMap::new();
        let mut offset = 0;
        loop {
            let page = self.documents.list(None, offset, PAGE).await?;
            let is_last = page.len() < PAGE;
            offset += page.len();
            let memory_files =
                page.into_iter().filter(|document| !document.loaded_by.is_empty() && !document.removed);
            let place = |document: &Document| (document.project.clone(), document.path.to_string());
            known.extend(memory_files.map(|document| (place(&document), document)));
            if is_last {
                return Ok(known);
            }
        }
    }

    /// The folders of the latest past sessions.
    pub(super) async fn folders_of_sessions(&self) -> Result<BTreeSet<PathBuf>, ServiceError> {
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for session in self.history.sessions(None, 0, SESSIONS_MAX).await? {
            let folder = session.directory.as_ref().map(|folder| PathBuf::from(folder.as_str()));
            folders.extend(folder.filter(|folder| folder.is_absolute() && folders.len() < FOLDERS_MAX));
        }
        Ok(folders)
    }

    /// The memory files of some folders, and those loaded everywhere, as far as the settings want them, with their
    /// projects; and the folders that did not answer.
    pub(super) async fn wanted_memory_files(
        &self,
        settings: &HistorySettings,
        folders: BTreeSet<PathBuf>,
        pass: &mut Pass,
    ) -> Result<(Vec<(MemoryFile, Project)>, Vec<PathBuf>), ServiceError> {
        let found = self.memory_files(settings, folders).await?;
        let mut wanted = Vec::new();
        for memory_file in found.files {
            let folder = memory_file.folder.as_deref().and_then(Path::to_str);
            let project = self.project_of(folder, pass).await;
            let path = memory_file.path.as_path();
            if memory_file.agents.iter().any(|agent| settings.wants(*agent, &project, folder, path)) {
                wanted.push((memory_file, project));
            }
        }
        Ok((wanted, found.silent))
    }

    /// The existing memory files of wanted agents.
    async fn memory_files(
        &self,
        settings: &HistorySettings,
        folders: BTreeSet<PathBuf>,
    ) -> Result<FoundFiles, ServiceError> {
        let Some(options) = self.state.options.get() else { return Ok(FoundFiles::default()) };
        let wanted = settings.wanted();
        let places = options.places.clone();
        let known: Vec<PathBuf> = folders.iter().cloned().collect();
        let mut found = FoundFiles::default();
        for place in places {
            let (own, known) = (place.own.clone(), known.clone());
            found.look(&own, move || of_agent(&place, &known)).await;
        }
        for folder in folders {
            found.look(&folder.clone(), move || of_project(&folder)).await;
        }
        // Folders of one repository have the same files above them.
        let mut seen = BTreeSet::new();
        found.files.retain(|memory_file| seen.insert(memory_file.path.clone()));
        found.files.retain(|memory_file| memory_file.agents.iter().any(|agent| wanted.contains(agent)));
        found.files.truncate(MEMORY_FILES_MAX);
        Ok(found)
    }

    async fn take_memory_file(
        &self,
        memory_file: MemoryFile,
        project: Project,
        before: Option<&Document>,
    ) -> Result<(), ServiceError> {
        let path = memory_file.path.to_string_lossy().into_owned();
        let folder = memory_file.path.parent().unwrap_or(&memory_file.path).to_path_buf();
        let loaded_by: Vec<String> =
            memory_file.agents.iter().map(|agent| agent_slug(*agent).to_owned()).collect();
        let read = looks::within(&folder, LOOK_MAX, move || {
            bytes_of(&memory_file.path).map(|bytes| (hex(&Sha256::digest(&bytes)), bytes))
        });
        let Some((hash, bytes)) = read.await.flatten() else { return Ok(()) };
        if before.is_some_and(|before| before.hash == hash && before.loaded_by == loaded_by) {
            return Ok(());
        }
        // A document has no such path.
        if path.contains(char::is_control) {
            return Ok(());
        }
        // A document that a person ingested is not replaced either.
        let here = self.base.store.documents().by_path(&project, &redact_text(&path).value).await?;
        if here.is_some_and(|here| here.loaded_by.is_empty() && !here.removed) {
            return Ok(());
        }
        let (format, size) = (Format::Markdown, bytes.len() as u64);
        let parsed = tokio::task::spawn_blocking(move || cerebro_documents::read(format, &bytes)).await;
        let Ok(Ok(reading)) = parsed else { return Ok(()) };
        let read = DocumentRead { project, path, format, hash, bytes: size, loaded_by, reading };
        self.documents.ingest(read, Run::Real).await.map(drop)
    }
}

/// The memory files of many folders.
#[derive(Debug, Default)]
struct FoundFiles {
    files: Vec<MemoryFile>,
    /// The folders that did not answer in time.
    silent: Vec<PathBuf>,
}

impl FoundFiles {
    async fn look(&mut self, folder: &Path, look: impl FnOnce() -> Vec<MemoryFile> + Send + 'static) {
        match looks::within(folder, LOOK_MAX, look).await {
            Some(files) => self.files.extend(files),
            None => self.silent.push(folder.to_path_buf()),
        }
    }
}

/// A file's bytes; `None` if it cannot be read, or is longer than agents load.
fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    let file = walk::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes)
}

/// The files of a pattern below a folder. Links are not followed.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let Some((below, ending)) = pattern.split_once('*') else {
        let path = folder.join(pattern);
        return if is_file(&path) { vec![path] } else { Vec::new() };
    };
    let (ending, depth) = ending.strip_prefix('*').map_or((ending, 1), |ending| (ending, RULES_DEPTH_MAX));
    let mut found = Vec::new();
    let mut left = vec![(folder.join(below), 1)];
    while let Some((folder, at)) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.extend((at < depth && left.len() < ENTRIES_MAX).then_some((path, at + 1)));
            } else if path.to_str().is_some_and(|path| path.ends_with(ending)) && is_file(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The memory files of the project in whose folder a session worked: agents also load those of the folders above it, up to
/// the root of its repository. Blocks.
fn of_project(folder: &Path) -> Vec<MemoryFile> {
    let chain = chain(folder);
    let mut files: Vec<MemoryFile> = chain.iter().flat_map(|folder| of_folder(folder)).collect();
    let places: HashMap<PathBuf, usize> =
        files.iter().enumerate().map(|(at, file)| (file.path.clone(), at)).collect();
    let patterns = chain.iter().flat_map(|folder| OF_PROJECTS.map(|(name, by)| (folder.join(name), by)));
    for (link, by) in patterns {
        let target = fs::read_link(&link).ok().map(|target| named_in(&link, &target));
        if let Some(at) = target.and_then(|target| places.get(&target)) {
            files[*at].also_loaded(by);
        }
    }
    for MemoryFile { path, agents, .. } in files.clone() {
        let importing: Vec<Agent> = agents.into_iter().filter(|agent| IMPORTING.contains(agent)).collect();
        if importing.is_empty() {
            continue;
        }
        for at in imports(&path).iter().filter_map(|path| places.get(path)) {
            files[*at].also_loaded(&importing);
        }
    }
    files
}

/// The paths that a memory file names by words such as `@AGENTS.md`.
fn imports(path: &Path) -> Vec<PathBuf> {
    let text = bytes_of(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@')).take(IMPORTS_MAX);
    names.map(|name| named_in(path, Path::new(name.trim_end_matches(['.', ',', ';', ':', ')'])))).collect()
}

/// The path that a file or link names: below its folder, unless it is absolute. It is not looked at, because it may lie outside
/// of the project, or on a disk that does not answer.
fn named_in(file: &Path, name: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in file.parent().unwrap_or(file).join(name).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// A folder and those above it, up to the root of its repository; without one, the folder alone.
fn chain(folder: &Path) -> Vec<&Path> {
    let mut chain: Vec<&Path> = folder.ancestors().take(CHAIN_MAX).collect();
    let root = chain.iter().position(|folder| folder.join(".git").exists());
    chain.truncate(root.unwrap_or(0) + 1);
    chain
}

fn of_folder(folder: &Path) -> Vec<MemoryFile> {
    let each = |(pattern, agents): &(&str, &[Agent])| {
        let memory_file =
            |path| MemoryFile { path, agents: agents.to_vec(), folder: Some(folder.to_path_buf()) };
        matching(folder, pattern).into_iter().map(memory_file).collect::<Vec<_>>()
    };
    OF_PROJECTS.iter().flat_map(each).collect()
}

/// The memory files in an agent's own folder: those of the person, and what the agent keeps for a project. Blocks.
fn of_agent(place: &TranscriptFolder, known: &[PathBuf]) -> Vec<MemoryFile> {
    let mut memory_files = Vec::new();
    for (_, pattern) in OF_PERSONS.iter().filter(|(agent, _)| *agent == place.agent) {
        let memory_file = |path| MemoryFile { path, agents: vec![place.agent], folder: None };
        memory_files.extend(matching(&place.own, pattern).into_iter().map(memory_file));
    }
    if place.agent == ClaudeCode {
        let memory_file = |path| MemoryFile { path, agents: vec![ClaudeCode], folder: None };
        memory_files.extend(matching(Path::new(OF_MACHINE), "CLAUDE.md").into_iter().map(memory_file));
    }
    if !matches!(place.agent, ClaudeCode | GeminiCli) {
        return memory_files;
    }
    for entry in fs::read_dir(&place.root).into_iter().flatten().flatten().take(MEMORY_FILES_MAX) {
        let own = entry.path();
        let notes = matching(&own, "memory/*.md");
        if notes.is_empty() {
            continue;
        }
        // Notes on a project that is not known would be found in every project.
        let Some(folder) = folder_of(place.agent, &own, known) else { continue };
        let memory_file = |path| MemoryFile { path, agents: vec![place.agent], folder: Some(folder.clone()) };
        memory_files.extend(notes.into_iter().map(memory_file));
    }
    memory_files
}

/// The folder of a project that an agent keeps notes on. Gemini writes it to a file, or names its own folder by a hash of it.
/// Claude Code names its own folder after the root of the repository, and its sessions there say where they worked.
fn folder_of(agent: Agent, own: &Path, known: &[PathBuf]) -> Option<PathBuf> {
    let name = own.file_name()?.to_str()?;
    let named = |is_it: &dyn Fn(&str) -> bool| {
        let mut folders = known.iter().flat_map(|folder| folder.ancestors());
        folders.find(|folder| folder.to_str().is_some_and(is_it)).map(Path::to_path_buf)
    };
    if agent == GeminiCli {
        let noted = project_root(own).map(PathBuf::from);
        return noted.or_else(|| named(&|folder: &str| hashed(folder) == name));
    }
    let name = plain(name);
    named(&|folder: &str| plain(folder) == name)
        .or_else(|| worked_in(own))
        .or_else(|| on_disk(&name).map(PathBuf::from))
}

/// Where a session of a folder of transcripts worked, as the beginning of one of them says.
fn worked_in(folder: &Path) -> Option<PathBuf> {
    let mut heads = matching(folder, "*.jsonl").into_iter().filter_map(|path| walk::head(&path));
    let folder = heads.find_map(|head| walk::value(&head, "\"cwd\""))?;
    Some(PathBuf::from(folder)).filter(|folder| folder.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    #[test]
    fn memory_files_are_found_with_those_who_load_them() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let write = |name: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "text").unwrap();
        };
        for name in [
            "app/AGENTS.md",
            "app/.claude/rules/b.md",
            "app/.claude/rules/a.md",
            "app/.claude/rules/c.txt",
            "app/README.md",
            "app/.cursor/rules/ui/forms.mdc",
            "app/src/deep/CLAUDE.md",
            "home/.claude/CLAUDE.md",
            "home/.claude/projects/-app/memory/MEMORY.md",
            "home/.claude/projects/-other/memory/x.md",
        ] {
            write(name);
        }
        std::os::unix::fs::symlink(root.join("app/README.md"), root.join("app/CLAUDE.md")).unwrap();
        let found = of_project(&root.join("app"));
        let names: Vec<_> =
            found.iter().map(|memory_file| memory_file.path.strip_prefix(root).unwrap()).collect();
        assert_eq!(
            names,
            [".claude/rules/a.md", ".claude/rules/b.md", "AGENTS.md", ".cursor/rules/ui/forms.mdc"]
                .map(|name| Path::new("app").join(name))
        );
        let deep = root.join("app/src/deep");
        assert_eq!(of_project(&deep).len(), 1, "without a repository, the folder alone");
        fs::create_dir(root.join("app/.git")).unwrap();
        let folders: Vec<_> = of_project(&deep).into_iter().map(|memory_file| memory_file.folder).collect();
        let app = Some(root.join("app"));
        assert_eq!(folders, [Some(deep), app.clone(), app.clone(), app.clone(), app]);
        assert!(found[2].agents.contains(&Codex) && !found[2].agents.contains(&ClaudeCode));

        let own = root.join("home/.claude");
        let place = TranscriptFolder { agent: ClaudeCode, root: own.join("projects"), depth: 6, own };
        let mut found = of_agent(&place, &[PathBuf::from("/app")]);
        found.retain(|memory_file| memory_file.path.starts_with(root));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let folders: Vec<_> = found.iter().map(|memory_file| memory_file.folder.clone()).collect();
        assert_eq!(folders, [None, Some(PathBuf::from("/app"))], "nobody knows the folder of the others");
        fs::write(place.root.join("-other/s.jsonl"), r#"{"type":"user","cwd":"/else/where"}"#).unwrap();
        let other = place.root.join("-other");
        assert_eq!(folder_of(ClaudeCode, &other, &[]), Some(PathBuf::from("/else/where")));
        let below = [PathBuf::from("/other/src/deep")];
        assert_eq!(folder_of(ClaudeCode, &other, &below), Some(PathBuf::from("/other")));
        let hash = Path::new("/u/.gemini/tmp").join(hashed("/other/src"));
        assert_eq!(folder_of(GeminiCli, &hash, &below), Some(PathBuf::from("/other/src")));
    }

    #[test]
    fn who_loads_a_file_by_a_link_or_an_import_loads_it_too() {
        let temp = tempfile::tempdir().unwrap();
        let app = temp.path().join("app");
        fs::create_dir_all(app.join("src")).unwrap();
        fs::create_dir(app.join(".git")).unwrap();
        fs::write(app.join("AGENTS.md"), "Ask @CLAUDE.md or mail me@AGENTS.md.").unwrap();
        fs::write(app.join("src/CLAUDE.md"), "# Rules\n\nSee @nowhere.md, @/etc/hosts, @../AGENTS.md.\n")
            .unwrap();
        std::os::unix::fs::symlink("AGENTS.md", app.join("GEMINI.md")).unwrap();
        let found = of_project(&app.join("src"));
        let agents: Vec<_> = found.iter().map(|file| file.agents.as_slice()).collect();
        assert_eq!(
            agents,
            [&[ClaudeCode][..], &[Codex, OpenCode, Cursor, Copilot, GeminiCli, ClaudeCode][..]],
            "{found:?}"
        );
    }

    #[tokio::test]
    async fn folders_that_hang_take_few_threads_and_what_lies_in_them_is_not_gone() {
        let (begun, (release, hanging)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel::<()>());
        let hanging = Arc::new(Mutex::new(hanging));
        // So many scans of one folder whose server is gone.
        let scans = (0..8).map(|_| {
            let (begun, hanging) = (Arc::clone(&begun), Arc::clone(&hanging));
            tokio::spawn(async move {
                let mut found = FoundFiles::default();
                let look = move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    drop(hanging.lock().map(|hanging| hanging.recv()));
                    Vec::new()
                };
                found.look(Path::new("/a/hung/mount"), look).await;
                found.silent
            })
        });
        for scan in scans.collect::<Vec<_>>() {
            assert_eq!(scan.await.unwrap(), [PathBuf::from("/a/hung/mount")]);
        }
        assert!(begun.load(Ordering::SeqCst) <= 2, "{begun:?} threads hang");
        drop(release);
    }
}
