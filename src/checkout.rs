//! The folder in which a client works, for checking memories against its code.
//!
//! Whether a memory about `src/a.rs` still holds depends on the checkout: on another branch the answer is another. So
//! verdicts are not stored, but computed for each client in its own folder.
//!
//! A folder may be on a mount that does not answer. Every access goes through [`looks`], and a caller that gets no
//! answer in time reports nothing.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    fs::{self, Metadata},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use crate::{platform, worktree};
use cerebro_anchors::{ANCHORS_MAX, Anchor, Digest, FILE_BYTES_MAX, Source, Verdict, anchors_in, names};
use cerebro_core::domain::{Memory, MemoryId, Workplace};
use cerebro_core::redact::redact;
use cerebro_core::relate::{MentionKind, mentions};
use cerebro_core::sync::lock;
use cerebro_documents::{DocumentError, limits::FILE_BYTES_MAX as DOCUMENT_BYTES_MAX};
use cerebro_ledger::SeenFile;
use cerebro_service::looks;
use cerebro_store::Anchored;

/// How long a search waits for verdicts. Those that are not known by then are left out.
pub const VERDICTS_WAIT: Duration = Duration::from_millis(5);
/// How long examining the folder continues after that, so that the next search has the missing verdicts.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// The stack of a thread that parses source files, in bytes. The parser recurses: a Go file of 1 MiB of `- [ ] ` takes more
/// than 16 MiB, and a stack that overflows ends the daemon. Only the used part takes memory.
const PARSER_STACK_BYTES: usize = 256 * 1024 * 1024;
/// Longest file that is parsed on the thread that looks: in proportion to [`FILE_BYTES_MAX`], it takes 4 of the 10 MiB that
/// the stack of each of the daemon's threads has. A new thread may wait for a processor longer than a search waits.
const SHALLOW_BYTES_MAX: usize = 16 * 1024;
/// Most files that one call examines.
pub const FILES_MAX: usize = 80;
/// Most files that are searched for in one memory's text.
const MENTIONS_MAX: usize = 24;
/// Most verdicts that a checkout caches. If there are more, all are computed again.
const KNOWN_MAX: usize = 4_096;
/// A file that changed more recently than this may change again with the same timestamps.
const SETTLED: Duration = Duration::from_secs(2);

/// Identifies the state of a file when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            bytes: found.len(),
            device: found.dev(),
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let last = self.modified.0.max(self.changed.0);
        i64::try_from(now.saturating_sub(SETTLED.as_secs())).is_ok_and(|settled| last < settled)
    }
}

/// The known verdicts on the anchors of some memories.
pub type Verdicts = HashMap<MemoryId, Vec<(Anchor, Verdict)>>;

/// A client's folder.
#[derive(Debug)]
pub struct Checkout {
    folder: PathBuf,
    /// The verdicts that were computed last: a cache, which is checked against the files.
    known: Mutex<HashMap<Anchor, Known>>,
}

/// A verdict, and the state of the file for which it holds.
#[derive(Debug, Clone)]
struct Known {
    /// The state of the file, so that it is not read again; `None` if its bytes may have changed in that state.
    stamp: Option<Stamp>,
    /// The file's bytes, so that they are not parsed again.
    digest: Digest,
    verdict: Verdict,
}

impl Checkout {
    /// The checkout that contains a folder. Does not access it yet.
    pub fn new(folder: PathBuf) -> Arc<Self> {
        Arc::new(Self { folder, known: Mutex::default() })
    }

    /// Anchors for the code to which a memory refers, in its present state: at most [`ANCHORS_MAX`] symbols and files,
    /// symbols first. `None` if the folder does not answer in time.
    pub async fn anchors(self: &Arc<Self>, memory: &Memory, bound: Duration) -> Option<Vec<Anchor>> {
        let named = mentions(memory).into_iter().filter(|mention| mention.kind == MentionKind::File);
        let paths: Vec<String> = named.take(MENTIONS_MAX).map(|mention| mention.name.to_string()).collect();
        if paths.is_empty() {
            return Some(Vec::new());
        }
        let names = names(&format!("{}\n{}", memory.title, memory.content));
        let checkout = Arc::clone(self);
        looks::within(&self.folder, bound, move || deep(|| checkout.stamped(&paths, &names))).await?
    }

    /// The verdicts on the anchors of some memories. Those not known within `bound` are left out.
    pub async fn verdicts(self: &Arc<Self>, wanted: Vec<Anchored>, bound: Duration) -> Verdicts {
        let found: Arc<Mutex<Verdicts>> = Arc::default();
        let (checkout, filled) = (Arc::clone(self), Arc::clone(&found));
        looks::within(&self.folder, bound, move || checkout.judge(&wanted, &filled)).await;
        std::mem::take(&mut *lock(&found))
    }

    /// The client's workplace. `None` if the folder does not answer in time.
    pub async fn workplace(self: &Arc<Self>, bound: Duration) -> Option<Workplace> {
        let checkout = Arc::clone(self);
        looks::within(&self.folder, bound, move || checkout.look_around()).await.flatten()
    }

    fn look_around(&self) -> Option<Workplace> {
        let (root, folder) = self.root()?;
        let below = folder.strip_prefix(&root).ok()?;
        Some(Workplace {
            folder: folder.to_str()?.to_owned(),
            below: below.to_str()?.to_owned(),
            branch: worktree::branch(&root),
        })
    }

    /// The state of some files, and the commit that is checked out, for the hint about the work that changed them in
    /// `directory`. If that is in another checkout, such as another worktree, there is no commit, and relative names are
    /// those of this one. `None` if the folder does not answer in time.
    pub async fn seen(
        self: &Arc<Self>,
        paths: Vec<String>,
        directory: Option<String>,
        bound: Duration,
    ) -> Option<(Vec<SeenFile>, Option<String>)> {
        let checkout = Arc::clone(self);
        let look = move || {
            let (root, folder) = checkout.root()?;
            let is_here = |place: &Path| place.starts_with(&root) || place.starts_with(&checkout.folder);
            let is_elsewhere = directory.as_ref().is_some_and(|directory| !is_here(Path::new(directory)));
            let folder = directory.filter(|_| !is_elsewhere).map_or(folder, PathBuf::from);
            let file = |path: String| SeenFile { digest: worktree::digest(&folder.join(&path)), path };
            let commit = (!is_elsewhere).then(|| worktree::commit(&folder)).flatten();
            Some((paths.into_iter().take(FILES_MAX).map(file).collect(), commit))
        };
        looks::within(&self.folder, bound, look).await?
    }

    /// A file below the client's own folder, with its full path. Paths that leave the folder or contain a symbolic link
    /// are refused. The error is the reason, in words for an agent.
    pub async fn document(
        self: &Arc<Self>,
        path: PathBuf,
        bound: Duration,
    ) -> Result<(PathBuf, Vec<u8>), String> {
        let folder = self.folder.clone();
        let found = looks::within(&self.folder, bound, move || below(&folder, &path)).await;
        found.unwrap_or_else(|| Err("the working folder does not answer; try again".to_owned()))
    }

    /// The root of the checkout: the nearest folder with a `.git`, otherwise the client's own.
    fn root(&self) -> Option<(PathBuf, PathBuf)> {
        let folder = self.folder.canonicalize().ok()?;
        let root = folder.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&folder);
        let root = root.to_owned();
        root.parent().is_some().then_some((root, folder))
    }

    fn stamped(&self, paths: &[String], names: &[String]) -> Vec<Anchor> {
        let Some((root, folder)) = self.root() else { return Vec::new() };
        let until = Instant::now() + LOOK_MAX;
        let mut seen = HashSet::new();
        let mut anchors = Vec::new();
        for path in paths {
            let places = [root.join(path), folder.join(path), Path::new("/").join(path)];
            let found = places.iter().find_map(|place| Some((inside(&root, place)?, place)));
            let Some((below, _)) = found.filter(|(below, _)| seen.insert(below.clone())) else { continue };
            // The name of a folder above the client's own may contain a secret.
            if Instant::now() >= until || redact(&below).count > 0 {
                continue;
            }
            if let Some((bytes, _)) = bytes_of(&root.join(&below)) {
                anchors.extend(anchors_in(&below, &bytes, names, &mut || Instant::now() < until));
            }
        }
        anchors.sort_by_key(|anchor| anchor.symbol.is_none());
        anchors.truncate(ANCHORS_MAX);
        anchors
    }

    fn judge(&self, wanted: &[Anchored], found: &Mutex<Verdicts>) {
        let Some((root, _)) = self.root() else { return };
        let until = Instant::now() + LOOK_MAX;
        let (files, folders) = (HashMap::new(), HashSet::new());
        let mut look = Look { root, until, files, folders, parsed_bytes_max: SHALLOW_BYTES_MAX };
        let mut wanted = wanted
            .iter()
            .flat_map(|(memory, anchors)| anchors.iter().map(move |anchor| (*memory, anchor)))
            .peekable();
        let mut go_on = |look: &mut Look| {
            while let Some((memory, anchor)) = wanted.peek()
                && let Some(verdict) = self.verdict(anchor, look)
            {
                lock(found).entry(*memory).or_default().push(((*anchor).clone(), verdict));
                wanted.next();
            }
            wanted.peek().is_some()
        };
        if go_on(&mut look) {
            look.parsed_bytes_max = FILE_BYTES_MAX;
            deep(|| go_on(&mut look));
        }
    }

    /// The verdict on an anchor; `None` if the look has no time or no files left, or has to parse a file that is too long.
    fn verdict(&self, anchor: &Anchor, look: &mut Look) -> Option<Verdict> {
        let (until, files) = (look.until, look.files.len());
        if Instant::now() >= until {
            return None;
        }
        let file = match look.files.entry(anchor.path.clone()) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(_) if files == FILES_MAX => return None,
            Entry::Vacant(place) => place.insert(stat(&look.root, &anchor.path, &mut look.folders)),
        };
        let stamp = match file {
            File::Gone => return Some(Verdict::Gone),
            File::Unknown => return Some(Verdict::Unknown),
            File::There(_, stamp) | File::Text(_, stamp) => *stamp,
        };
        if anchor.symbol.is_none() {
            return Some(Verdict::Fresh);
        }
        let known = lock(&self.known).get(anchor).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.stamp == Some(stamp)) {
            return Some(known.verdict);
        }
        if let File::There(place, _) = file {
            let read = bytes_of(place).map(|(bytes, stamp)| (Source::new(&anchor.path, bytes), stamp));
            *file = read.map_or(File::Unknown, |(source, stamp)| File::Text(Box::new(source), stamp));
        }
        let File::Text(source, stamp) = file else { return Some(Verdict::Unknown) };
        let verdict = match known.filter(|known| known.digest == *source.digest()) {
            Some(known) => known.verdict,
            None if source.is_beyond(look.parsed_bytes_max) && *source.digest() != anchor.file => {
                return None;
            }
            None => anchor.verdict(Some(source), &mut || Instant::now() < until),
        };
        if verdict != Verdict::Unknown {
            let stamp = stamp.is_settled().then_some(*stamp);
            let mut known = lock(&self.known);
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(anchor.clone(), Known { stamp, digest: source.digest().clone(), verdict });
        }
        Some(verdict)
    }
}

/// One look at a checkout.
struct Look {
    root: PathBuf,
    until: Instant,
    files: HashMap<String, File>,
    /// The folders below the root that are known not to be links, so that each file in them takes one access.
    folders: HashSet<PathBuf>,
    /// The longest file that may be parsed on this thread.
    parsed_bytes_max: usize,
}

/// The state of a file.
enum File {
    /// It does not exist.
    Gone,
    /// It is not read, because it is outside the checkout, too large, not a regular file, or another user's.
    Unknown,
    /// It exists, at this place without links.
    There(PathBuf, Stamp),
    /// It exists and was read completely.
    Text(Box<Source>, Stamp),
}

/// Reads a document below a folder. Each part of the path is opened relative to the one before and must not be a
/// symbolic link, so that concurrent changes cannot lead out of the folder.
fn below(folder: &Path, path: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    const OUTSIDE: &str = "it is not below your working folder";
    let unreadable =
        |error: std::io::Error| match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
                "symbolic links are not allowed".to_owned()
            }
            _ if error.kind() == ErrorKind::FileTooLarge => DocumentError::TooLarge.to_string(),
            _ => error.to_string(),
        };
    let folder = folder.canonicalize().map_err(unreadable)?;
    let way = if path.is_absolute() { path.strip_prefix(&folder).map_err(|_| OUTSIDE)? } else { path };
    let parts: Vec<Component<'_>> = way.components().filter(|part| *part != Component::CurDir).collect();
    if parts.is_empty() || parts.iter().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(OUTSIDE.to_owned());
    }
    let file = platform::open_below(&folder, &parts).map_err(unreadable)?;
    let (bytes, _) = platform::read_bounded(&file, DOCUMENT_BYTES_MAX as u64).map_err(unreadable)?;
    Ok((parts.iter().fold(folder, |whole, part| whole.join(part)), bytes))
}

/// The path of an existing file below `root`, in the form of anchors; `None` if it is outside.
fn inside(root: &Path, place: &Path) -> Option<String> {
    let found = place.canonicalize().ok()?;
    let below = found.strip_prefix(root).ok()?.to_str()?;
    (!below.is_empty() && found.is_file()).then(|| below.to_owned())
}

/// Finds a file of the checkout, without opening it. `folders` are those of the [`Look`].
fn stat(root: &Path, path: &str, folders: &mut HashSet<PathBuf>) -> File {
    // The anchor comes from the store, to which other users may have written.
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return File::Unknown;
    }
    let place = root.join(path);
    let is_folder = |folder: &Path| {
        folders.contains(folder)
            || fs::symlink_metadata(folder).is_ok_and(|facts| facts.is_dir())
                && folders.insert(folder.to_owned())
    };
    if place.ancestors().skip(1).take_while(|folder| *folder != root).all(is_folder) {
        match fs::symlink_metadata(&place) {
            Ok(facts) if facts.is_file() => return File::There(place, Stamp::of(&facts)),
            Ok(facts) if !facts.is_symlink() => return File::Unknown,
            Err(error) if is_absence(&error) => return File::Gone,
            Err(_) => return File::Unknown,
            Ok(_) => {}
        }
    }
    let found = match place.canonicalize() {
        Ok(found) => found,
        Err(error) if is_absence(&error) => return File::Gone,
        Err(_) => return File::Unknown,
    };
    match fs::metadata(&found) {
        Ok(facts) if facts.is_file() && found.starts_with(root) => File::There(found, Stamp::of(&facts)),
        _ => File::Unknown,
    }
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The bytes of a file at a place without links, and the file's state when they were read.
fn bytes_of(place: &Path) -> Option<(Vec<u8>, Stamp)> {
    let file = platform::open_without_waiting(place).ok()?;
    let (bytes, facts) = platform::read_bounded(&file, FILE_BYTES_MAX as u64).ok()?;
    Some((bytes, Stamp::of(&facts)))
}

/// Runs work that parses on a thread of its own; `None` if no thread can be started, or the work panicked.
fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, work);
        thread.ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const LONG: Duration = Duration::from_secs(10);

    struct Repository {
        dir: tempfile::TempDir,
        checkout: Arc<Checkout>,
    }

    impl Repository {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
            fs::create_dir_all(dir.path().join("repo/src")).unwrap();
            let checkout = Checkout::new(dir.path().join("repo/src"));
            Self { dir, checkout }
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.dir.path().join("repo").join(path), text).unwrap();
        }

        fn stamped(&self, paths: &[&str], names: &[&str]) -> Vec<Anchor> {
            let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            self.checkout.stamped(&owned(paths), &owned(names))
        }

        async fn judged(&self, anchors: &[Anchor]) -> Vec<Verdict> {
            let id = MemoryId::random();
            let mut found = self.checkout.verdicts(vec![(id, anchors.into())], LONG).await;
            found.remove(&id).unwrap_or_default().into_iter().map(|(_, verdict)| verdict).collect()
        }
    }

    #[test]
    fn a_file_that_nests_as_deep_as_it_is_long_is_parsed() {
        let source = "- [ ] ".repeat(FILE_BYTES_MAX / 6);
        let parse = || anchors_in("a.go", source.as_bytes(), &["x".to_owned()], &mut || true);
        assert!(deep(parse).is_some());
    }

    #[tokio::test]
    async fn what_became_of_code_is_found_in_the_checkout() {
        let repo = Repository::new();
        repo.write("src/a.rs", "fn one() { 1 }\nfn two() { 2 }\n");
        repo.write("notes.md", "notes");
        let anchors = repo.stamped(&["src/a.rs", "notes.md", "nowhere.rs"], &["one", "two"]);
        let shown: Vec<String> = anchors.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["src/a.rs:one", "src/a.rs:two", "notes.md"]);
        assert_eq!(repo.stamped(&["a.rs"], &["one"])[0].path, "src/a.rs", "below the client's own folder");
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh; 3]);
        repo.write("src/a.rs", "// Above.\nfn one() { 3 }\nfn two() { 2 }\n");
        assert_eq!(repo.judged(&anchors).await, [Verdict::Changed, Verdict::Fresh, Verdict::Fresh]);
        repo.write("src/a.rs", "fn one() { 1 }\n");
        fs::remove_file(repo.dir.path().join("repo/notes.md")).unwrap();
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh, Verdict::Gone, Verdict::Gone]);
    }

    #[tokio::test]
    async fn times_decide_nothing_and_save_a_second_reading() {
        let repo = Repository::new();
        let text = "fn one() { 1 }\n";
        repo.write("src/a.rs", text);
        let anchors = repo.stamped(&["src/a.rs"], &["one"]);
        let file = repo.dir.path().join("repo/src/a.rs");
        let set = |seconds| {
            let at = SystemTime::now() + Duration::from_secs(seconds);
            fs::File::options().append(true).open(&file).unwrap().set_modified(at).unwrap();
        };
        set(3_600);
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh], "touched");
        // The same length and time, but other bytes.
        repo.write("src/a.rs", "fn one() { 2 }\n");
        set(3_600);
        assert_eq!(repo.judged(&anchors).await, [Verdict::Changed]);
        repo.write("src/a.rs", text);
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh], "back again");
    }

    #[tokio::test]
    async fn nothing_outside_the_checkout_is_read() {
        let repo = Repository::new();
        fs::write(repo.dir.path().join("secret.rs"), "fn one() {}").unwrap();
        symlink("../../secret.rs", repo.dir.path().join("repo/src/link.rs")).unwrap();
        assert!(repo.stamped(&["../secret.rs", "src/link.rs", "src/../../secret.rs"], &["one"]).is_empty());
        let outside = repo.dir.path().join("secret.rs");
        assert!(repo.stamped(&[outside.to_str().unwrap()], &["one"]).is_empty());
        repo.write("src/a.rs", "fn one() {}");
        let mut anchors = repo.stamped(&["src/a.rs"], &["one"]);
        anchors[0].path = "../secret.rs".to_owned();
        assert_eq!(repo.judged(&anchors).await, [Verdict::Unknown]);
        anchors[0].path = "src/link.rs".to_owned();
        assert_eq!(repo.judged(&anchors).await, [Verdict::Unknown]);
        // Opening a pipe would block.
        let pipe = repo.dir.path().join("repo/src/pipe.rs");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        assert!(repo.stamped(&["src/pipe.rs"], &["one"]).is_empty());
        anchors[0].path = "src/pipe.rs".to_owned();
        assert_eq!(repo.judged(&anchors).await, [Verdict::Unknown]);
        repo.write("src/big.rs", &"fn one() {}\n".repeat(FILE_BYTES_MAX / 10));
        anchors[0].path = "src/big.rs".to_owned();
        assert_eq!(repo.judged(&anchors).await, [Verdict::Unknown]);
    }

    #[tokio::test]
    async fn documents_lie_below_the_clients_own_folder_and_behind_no_link() {
        let repo = Repository::new();
        let folder = repo.dir.path().join("repo/src");
        fs::write(repo.dir.path().join("secret.md"), "secret").unwrap();
        repo.write("above.md", "above");
        repo.write("src/a.md", "alpha");
        fs::create_dir(folder.join("docs")).unwrap();
        repo.write("src/docs/b.md", "beta");
        symlink("../../secret.md", folder.join("link.md")).unwrap();
        symlink("docs", folder.join("way")).unwrap();
        let read = async |path: &str| repo.checkout.document(path.into(), LONG).await;
        for path in ["a.md", "./a.md"] {
            assert_eq!(read(path).await.unwrap().1, b"alpha");
        }
        let whole = folder.canonicalize().unwrap().join("docs/b.md");
        assert_eq!(read(whole.to_str().unwrap()).await.unwrap(), (whole.clone(), b"beta".to_vec()));
        let outside = repo.dir.path().join("secret.md");
        let pipe = folder.join("pipe.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [
            "../above.md",
            "docs/../../above.md",
            "link.md",
            "way/b.md",
            "",
            ".",
            "docs",
            "pipe.md",
            "none.md",
            outside.to_str().unwrap(),
            "/etc/hostname",
        ] {
            assert!(read(path).await.is_err(), "{path}");
        }
    }

    #[tokio::test]
    async fn verdicts_are_in_the_order_of_the_anchors_whether_or_not_a_file_is_parsed() {
        let repo = Repository::new();
        repo.write("src/a.rs", "fn one() {}");
        repo.write("src/b.rs", "fn two() {}");
        let anchors = repo.stamped(&["src/b.rs", "src/a.rs"], &["one", "two"]);
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh; 2]);
        repo.write("src/b.rs", "fn two() { other(); }");
        for _ in 0..2 {
            assert_eq!(repo.judged(&anchors).await, [Verdict::Changed, Verdict::Fresh]);
        }
    }

    #[tokio::test]
    async fn a_call_looks_at_so_many_files_and_no_more() {
        let repo = Repository::new();
        let mut anchors = Vec::new();
        for number in 0..=FILES_MAX {
            let path = format!("f{number}.md");
            repo.write(&path, "x");
            anchors.extend(repo.stamped(&[&path], &[]));
        }
        assert_eq!(repo.judged(&anchors).await, [Verdict::Fresh; FILES_MAX]);
    }

    #[tokio::test]
    async fn a_workplace_is_a_folder_and_what_is_checked_out_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("app");
        fs::create_dir_all(root.join(".git/worktrees/side")).unwrap();
        fs::create_dir_all(root.join("src/store")).unwrap();
        let at = async |folder: PathBuf| Checkout::new(folder).workplace(LONG).await.unwrap();
        assert_eq!(at(root.join("src/store")).await.branch, None, "nothing is checked out yet");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/release/2\n").unwrap();
        let found = at(root.join("src/store")).await;
        assert_eq!((found.below.as_str(), found.branch.as_deref()), ("src/store", Some("release/2")));
        assert_eq!(Path::new(&found.folder), root.join("src/store"));
        assert_eq!(at(root.clone()).await.below, "");
        fs::write(root.join(".git/HEAD"), "0123456789abcdef0123456789abcdef01234567\n").unwrap();
        assert_eq!(at(root.clone()).await.branch, None, "a commit is no branch");
        // The folder of a worktree is named in a file.
        let side = dir.path().canonicalize().unwrap().join("side");
        fs::create_dir(&side).unwrap();
        fs::write(side.join(".git"), format!("gitdir: {}\n", root.join(".git/worktrees/side").display()))
            .unwrap();
        fs::write(root.join(".git/worktrees/side/HEAD"), "ref: refs/heads/side\n").unwrap();
        assert_eq!(at(side).await.branch.as_deref(), Some("side"));
    }
}
