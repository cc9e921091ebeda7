//! Determines the project of a folder from the files of its Git repository.
//!
//! It does not run `git`, which may be missing, slow or configured to run hooks. Of Git's configuration, it reads only
//! the repository's own file, without `include` and `insteadOf`.
//!
//! A folder may be on a mount whose server is gone. So each process examines its own folder before it connects, and
//! every access has a deadline: see [`looks`].

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{platform, worktree};
use cerebro_core::domain::Project;
use cerebro_core::domain::limits::PROJECT_CHARS_MAX;
use cerebro_core::redact::redact;
use cerebro_service::looks;

/// Largest file of a repository that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long examining a folder may take. A disk answers within a millisecond. Agents give a server five seconds to
/// start.
pub const LOOK_MAX: Duration = Duration::from_secs(2);

/// The project of `dir` according to [`project_of`], on a thread that may block; `None` if the file system does not
/// answer within `bound`: see [`looks::within`].
pub async fn look(dir: PathBuf, home: Option<PathBuf>, bound: Duration) -> Option<Project> {
    looks::within(&dir.clone(), bound, move || project_of(&dir, home.as_deref())).await
}

/// Like [`look`], for callers that need a project. Without an answer, derives the project from the path, and logs
/// that.
pub async fn look_or_guess(dir: PathBuf, home: Option<PathBuf>, bound: Duration) -> Project {
    let guess = project_by_path(&dir, home.as_deref());
    match look(dir.clone(), home, bound).await {
        Some(project) => project,
        None => {
            let (dir, seconds) = (dir.display(), bound.as_secs_f32());
            tracing::warn!(
                "the file system of {dir} did not answer within {seconds} s, so its project is taken from the path: \
                 `{guess}`; `--project NAME` names another"
            );
            guess
        }
    }
}

/// The project of a path, as for a folder outside Git. Does not access the file system.
fn project_by_path(dir: &Path, home: Option<&Path>) -> Project {
    if dir.parent().is_none() || Some(dir) == home { Project::general() } else { folder_project(dir) }
}

/// The project of `dir`: `owner/repo` of the remote `origin`. Without a remote, it is the name of the repository's
/// folder and 4 hex digits of its path's hash; all worktrees use the main folder. Outside Git, it is the same for the
/// folder itself. The user's `home` and `/` are `general`. A repository in `home` itself does not count for the folders
/// below it.
pub fn project_of(dir: &Path, home: Option<&Path>) -> Project {
    project_folder(dir, home).project
}

/// A folder's project, and the identity marks by which the folder is recognised when its project has another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolder {
    pub project: Project,
    /// The folder after which the project is named if there is no remote.
    pub folder: PathBuf,
    /// The identity marks, which do not change when a repository is moved; none outside Git.
    pub marks: Vec<String>,
}

/// The project of `dir`, like [`project_of`], and the folder's identity marks.
pub fn project_folder(dir: &Path, home: Option<&Path>) -> ProjectFolder {
    let dir = canonical(dir);
    let home = home.map(canonical);
    let is_general = |path: &Path| path.parent().is_none() || Some(path) == home.as_deref();
    if is_general(&dir) {
        return ProjectFolder { project: Project::general(), folder: dir, marks: Vec::new() };
    }
    let root = dir.ancestors().take_while(|path| !is_general(path)).find_map(Repository::at);
    let Some(repository) = root else {
        return ProjectFolder { project: folder_project(&dir), folder: dir, marks: Vec::new() };
    };
    let origin = repository.origin().and_then(|url| remote_path(&url));
    let project = origin
        .and_then(|path| Project::parse(&redact(&path).text))
        .unwrap_or_else(|| folder_project(&repository.main_folder));
    ProjectFolder { project, marks: repository.marks(), folder: repository.main_folder }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A project named after a folder: its name, and enough of its path's hash to distinguish folders of the same name.
fn folder_project(folder: &Path) -> Project {
    let Some(name) = folder.file_name() else { return Project::general() };
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let mark = format!("-{:02x}{:02x}", digest[0], digest[1]);
    // Redacted before it is lowercased, because then a secret would not be recognised.
    let name = redact(&name.to_string_lossy()).text.to_lowercase();
    let kept: String = name.chars().take(PROJECT_CHARS_MAX - mark.len()).collect();
    Project::parse(&format!("{kept}{mark}")).unwrap_or_else(Project::general)
}

/// The parts of a Git repository.
struct Repository {
    /// The folder with the configuration, which all worktrees share.
    common_dir: PathBuf,
    /// The folder of the main worktree, after which the repository is named.
    main_folder: PathBuf,
}

impl Repository {
    /// The repository whose worktree begins at `folder`.
    fn at(folder: &Path) -> Option<Self> {
        let git_dir = worktree::git_dir(folder)?;
        let Some(common_dir) = worktree::common_dir(&git_dir) else {
            // An empty folder of that name is not a repository.
            let is_repository = git_dir.join("HEAD").exists();
            return is_repository.then(|| Self { common_dir: git_dir, main_folder: folder.to_owned() });
        };
        let common_dir = canonical(&common_dir);
        let is_inside = common_dir.file_name().is_some_and(|name| name == ".git");
        let main_folder = common_dir.parent().filter(|_| is_inside).unwrap_or(&common_dir).to_owned();
        Some(Self { common_dir, main_folder })
    }

    /// The marks that identify this repository wherever it is: its first commit in the reflog, and the inode of its
    /// data folder, which stays the same when the folder is moved on one disk. Git removes old entries of the reflog.
    fn marks(&self) -> Vec<String> {
        let first = read(&self.common_dir.join("logs/HEAD"));
        let commit = first.as_deref().and_then(|log| log.split_whitespace().nth(1));
        let commit = commit.filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let folder = fs::metadata(&self.common_dir).ok().and_then(|found| platform::lasting_name(&found));
        commit.map(|id| format!("commit {id}")).into_iter().chain(folder).collect()
    }

    /// The address of the remote `origin`.
    fn origin(&self) -> Option<String> {
        origin_url(&read(&self.common_dir.join("config"))?)
    }
}

/// The text of a regular file. Opening a pipe would block until a process writes to it.
fn read(path: &Path) -> Option<String> {
    let file = platform::open_without_waiting(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first `url` of `[remote "origin"]` in a Git configuration. Case does not matter in names of sections and keys,
/// but in the remote's name.
fn origin_url(config: &str) -> Option<String> {
    let mut is_origin = false;
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let (section, rest) = header.split_once(']')?;
            let (kind, name) = section.split_once(char::is_whitespace).unwrap_or((section, ""));
            is_origin = kind.eq_ignore_ascii_case("remote") && name.trim() == "\"origin\"";
            if let Some(url) = url_value(rest).filter(|_| is_origin) {
                return Some(url);
            }
        } else if let Some(url) = url_value(line).filter(|_| is_origin) {
            return Some(url);
        }
    }
    None
}

/// The value of a line `url = …`, without quotes and comments.
fn url_value(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("url") {
        return None;
    }
    let mut text = String::new();
    let mut quoted = false;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => text.extend(chars.next()),
            '#' | ';' if !quoted => break,
            c => text.push(c),
        }
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The path of a repository on its server, without `.git`: `owner/repo`. It includes all parts, because groups in
/// GitLab nest, and two groups may contain repositories of the same name. `None` for a path on this machine, because it
/// has no owner.
fn remote_path(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // The form of scp: the colon comes before the first slash.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty())?.1,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn remotes_name_their_repository() {
        for (url, path) in [
            ("https://github.com/owner/repo.git", Some("owner/repo")),
            ("https://github.com/Owner/Repo", Some("Owner/Repo")),
            ("https://user:pass@host:8443/owner/repo.git/", Some("owner/repo")),
            ("HTTP://host/owner//repo?x=1", Some("owner/repo")),
            ("git@github.com:owner/repo.git", Some("owner/repo")),
            ("host:owner/repo", Some("owner/repo")),
            ("git@host:/srv/owner/repo.git", Some("srv/owner/repo")),
            ("git@host:repo.git", Some("repo")),
            ("ssh://git@host:2222/owner/repo.git", Some("owner/repo")),
            ("git://host/owner/repo.github.io.git", Some("owner/repo.github.io")),
            ("git@gitlab.com:group/sub/deep/repo.git", Some("group/sub/deep/repo")),
            ("https://host/", None),
            ("https://host", None),
            ("https://host/.git", None),
            ("file:///srv/owner/repo.git", None),
            ("/srv/owner/repo.git", None),
            ("../repo", None),
            ("./a:b/c", None),
            ("", None),
        ] {
            assert_eq!(remote_path(url).as_deref(), path, "{url}");
        }
    }

    #[test]
    fn the_url_is_found_in_any_configuration() {
        for (config, url) in [
            ("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = a:b\n\tfetch = x\n", Some("a:b")),
            ("[remote \"other\"]\nurl=no\n[REMOTE  \"origin\"] URL=\"a b\" ; comment\n", Some("a b")),
            ("[remote \"origin\"]\r\n  url = a#b\r\n", Some("a")),
            ("[remote \"origin\"]\nurl = one\nurl = two\n", Some("one")),
            ("[remote \"origin\"]\npushurl = a\n[branch \"x\"]\nurl = no\n", None),
            ("[remote \"Origin\"]\nurl = no\n", None),
            ("[remote \"origin\"]\nurl\nurl =\n", None),
            ("[remote \"origin\"\nurl = no", None),
        ] {
            assert_eq!(origin_url(config).as_deref(), url, "{config:?}");
        }
    }

    fn git(dir: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(dir).args([
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "-c",
            "protocol.file.allow=always",
        ]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository(parent: &Path, name: &str) -> PathBuf {
        let dir = parent.join(name);
        fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "-q"]);
        git(&dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
        dir
    }

    fn name(dir: &Path) -> String {
        project_of(dir, None).as_str().to_owned()
    }

    #[test]
    fn a_repository_is_one_project_everywhere_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let main = repository(temp.path(), "My App");
        let inside = main.join("src/deep");
        fs::create_dir_all(&inside).unwrap();
        git(&main, &["worktree", "add", "-q", "../elsewhere"]);
        let worktree = temp.path().join("elsewhere");
        let by_folder = name(&main);
        assert!(by_folder.starts_with("my-app-") && by_folder.len() == "my-app-".len() + 4, "{by_folder}");
        for dir in [&inside, &worktree] {
            assert_eq!(name(dir), by_folder, "{dir:?}");
        }
        std::os::unix::fs::symlink(&main, temp.path().join("link")).unwrap();
        assert_eq!(name(&temp.path().join("link")), by_folder);

        git(&main, &["remote", "add", "origin", "git@github.com:Some/App.git"]);
        for dir in [&main, &inside, &worktree] {
            assert_eq!(name(dir), "some/app", "{dir:?}");
        }
    }

    #[test]
    fn repositories_of_the_same_name_differ() {
        let temp = tempfile::tempdir().unwrap();
        let (a, b) = (repository(&temp.path().join("a"), "app"), repository(&temp.path().join("b"), "app"));
        assert_ne!(name(&a), name(&b));
        assert_eq!(name(&a), name(&a));
    }

    #[test]
    fn a_submodule_is_a_project_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let library = repository(temp.path(), "library");
        let main = repository(temp.path(), "main");
        git(&main, &["submodule", "add", "-q", library.to_str().unwrap(), "lib"]);
        git(&main, &["remote", "add", "origin", "https://host/o/main"]);
        assert_eq!(name(&main), "o/main");
        assert!(name(&main.join("lib")).starts_with("lib-"), "its remote is a folder");
        git(&main.join("lib"), &["remote", "set-url", "origin", "https://host/o/lib"]);
        assert_eq!(name(&main.join("lib")), "o/lib");
    }

    #[test]
    fn a_worktree_of_a_bare_repository_is_named_by_it() {
        let temp = tempfile::tempdir().unwrap();
        let source = repository(temp.path(), "source");
        git(temp.path(), &["clone", "-q", "--bare", source.to_str().unwrap(), "bare.git"]);
        git(&temp.path().join("bare.git"), &["worktree", "add", "-q", "../tree"]);
        assert!(name(&temp.path().join("tree")).starts_with("bare.git-"));
    }

    #[test]
    fn folders_outside_git_are_projects_too() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().join("user");
        let work = home.join("work");
        fs::create_dir_all(&work).unwrap();
        assert_eq!(project_of(&home, Some(&home)), Project::general());
        assert_eq!(project_of(&home.join("."), Some(&home)), Project::general());
        assert_eq!(project_of(Path::new("/"), None), Project::general());
        assert!(name(&home).starts_with("user-"));
        let outside = name(&work);
        assert!(outside.starts_with("work-"), "{outside}");
        // A repository for dot files does not make all folders one project.
        repository(temp.path(), "user");
        assert_eq!(project_of(&work, Some(&home)).as_str(), outside);
        assert!(name(&temp.path().join("gone/away")).starts_with("away-"));
        let long = temp.path().join("é".repeat(120) + "x");
        assert_eq!(name(&long).chars().count(), 121 + 5);
    }

    #[test]
    fn pipes_in_the_place_of_git_files_are_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = |path: &Path| {
            let made = Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success(), "{path:?}");
        };
        let dir = temp.path().join("entry");
        fs::create_dir(&dir).unwrap();
        pipe(&dir.join(".git"));
        assert!(name(&dir).starts_with("entry-"));

        let main = repository(temp.path(), "config");
        fs::remove_file(main.join(".git/config")).unwrap();
        pipe(&main.join(".git/config"));
        assert!(name(&main).starts_with("config-"));
    }

    #[tokio::test]
    async fn a_folder_that_does_not_answer_is_known_by_its_path() {
        let dir = Path::new("/somewhere/my work");
        let (release, hanging) = std::sync::mpsc::channel::<()>();
        let hanging = std::sync::Arc::new(std::sync::Mutex::new(hanging));
        let bound = Duration::from_millis(5);
        // More than may be under way in one folder, so that the next one gets no thread.
        for _ in 0..4 {
            let hanging = std::sync::Arc::clone(&hanging);
            assert_eq!(
                looks::within(dir, bound, move || hanging.lock().unwrap().recv().is_err()).await,
                None
            );
        }
        assert_eq!(look_or_guess(dir.to_owned(), None, bound).await, folder_project(dir));
        drop(release);
    }

    #[test]
    fn a_path_alone_names_a_project() {
        let home = Path::new("/home/me");
        assert_eq!(project_by_path(home, Some(home)), Project::general());
        assert_eq!(project_by_path(Path::new("/"), None), Project::general());
        let temp = tempfile::tempdir().unwrap().keep().canonicalize().unwrap();
        assert_eq!(project_by_path(&temp, None), project_of(&temp, None), "as outside a repository");
        fs::remove_dir(temp).unwrap();
    }

    #[test]
    fn broken_repositories_do_no_harm() {
        let temp = tempfile::tempdir().unwrap();
        for (index, content) in ["", "gitdir:", "gitdir: /no/where", "\u{0}", "gitdir: ."].iter().enumerate()
        {
            let dir = temp.path().join(format!("d{index}"));
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join(".git"), content).unwrap();
            assert!(name(&dir).starts_with(&format!("d{index}-")), "{content:?}");
        }
        fs::create_dir_all(temp.path().join("empty/.git")).unwrap();
        assert!(name(&temp.path().join("empty")).starts_with("empty-"));
    }
}
