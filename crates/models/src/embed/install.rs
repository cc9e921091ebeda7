//! Installs a model and ONNX Runtime on the folder: complete, verified and tried, or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::catalogue::{self, Listing, Source, Take};
use super::download::{Addresses, Fetcher, HubFile, Watch};
use super::folder::ModelFolder;
use super::hub::{self, HubModel, Overrides, Traits};
use super::local::Plan;
use super::manifest::{
    self, Fingerprint, MANIFEST, MODEL, Manifest, RUNTIME_MANIFEST, RuntimeManifest, TOKENIZER, fingerprint,
    verify,
};
use crate::provider::ProviderError;
use cerebro_durable as durable;

/// Age at which the remains of an interrupted installation are removed.
const STALE: Duration = Duration::from_secs(60 * 60);
/// Most bytes of one unpacked file; the largest known model of this kind has half as many.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Most bytes of a file that describes a model, and of a tokenizer.
const DESCRIPTION_BYTES_MAX: u64 = 4 * 1024 * 1024;
const TOKENIZER_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// The prefix of folders for installations in progress.
const STAGING: &str = ".staging-";

/// A folder beside the models for untested downloads; removed when it is no longer needed.
struct Staging<'a> {
    folder: &'a ModelFolder,
    dir: PathBuf,
}

impl<'a> Staging<'a> {
    fn begin(folder: &'a ModelFolder) -> Result<Self, ProviderError> {
        let models = folder.models_dir();
        for dir in [models, folder.runtime_dir()] {
            fs::create_dir_all(dir).map_err(|error| file_error("make", dir, &error))?;
        }
        sweep(models);
        let staging = Self { folder, dir: models.join(format!("{STAGING}{}", std::process::id())) };
        for dir in [staging.model_dir(), staging.runtime_dir()] {
            fs::create_dir_all(&dir).map_err(|error| file_error("make", &dir, &error))?;
        }
        Ok(staging)
    }

    fn model_dir(&self) -> PathBuf {
        self.dir.join("model")
    }

    fn runtime_dir(&self) -> PathBuf {
        self.dir.join("runtime")
    }

    /// The folder after the installation: with the new library if there is one.
    fn folder_after(&self) -> ModelFolder {
        if self.runtime_dir().join(RUNTIME_MANIFEST).is_file() {
            return ModelFolder::new(self.folder.models_dir().to_owned(), self.runtime_dir());
        }
        self.folder.clone()
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later installation.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Where models are installed.
#[derive(Debug, Clone, Copy)]
pub struct Installer<'a> {
    pub folder: &'a ModelFolder,
    /// An ONNX Runtime of the user's own, see [`take_library`].
    pub library: Option<&'a Path>,
}

impl Installer<'_> {
    /// Installs a model of the catalogue, and ONNX Runtime if it is missing. Files that exist and are intact are not
    /// fetched again.
    ///
    /// # Errors
    /// Nothing is installed; the error says what failed.
    pub async fn from_network(
        self,
        listing: &Listing,
        addresses: Addresses,
        watch: &mut Watch<'_>,
    ) -> Result<Manifest, ProviderError> {
        let present = installed(self.folder, listing.name);
        if let (Some(manifest), true) = (&present, self.has_runtime()) {
            return Ok(manifest.clone());
        }
        let fetcher = Fetcher::new(addresses)?;
        let staging = Staging::begin(self.folder)?;
        self.stage_runtime(&fetcher, &staging, watch).await?;
        match present {
            Some(manifest) => copy_files(&self.folder.model_dir(&manifest.name)?, &staging)?,
            None => {
                for source in listing.sources {
                    fetch(&fetcher, source, &staging, &staging.model_dir(), watch).await?;
                }
            }
        }
        let manifest = Manifest {
            name: listing.name.to_owned(),
            dimension: listing.dimension,
            pooling: listing.pooling,
            max_tokens: listing.max_tokens,
            query_prefix: listing.query_prefix.to_owned(),
            passage_prefix: listing.passage_prefix.to_owned(),
            source: String::new(),
            files: BTreeMap::new(),
        };
        finish(&staging, manifest)
    }

    /// Installs a model of a hub under a name. Its own configuration describes it, overridden by the user's `overrides`.
    /// The installation pins it: from then on, the name stands for these files.
    ///
    /// # Errors
    /// Nothing is installed; the error says what is missing, unknown, or does not work.
    pub async fn from_hub(
        self,
        name: &str,
        wanted: &HubModel,
        overrides: Overrides,
        addresses: Addresses,
        watch: &mut Watch<'_>,
    ) -> Result<Manifest, ProviderError> {
        self.folder.model_dir(name)?;
        let fetcher = Fetcher::new(addresses)?;
        let pinned = fetcher.pinned(wanted).await?;
        let source = pinned.to_string();
        let present = installed(self.folder, name)
            .filter(|present| present.source == source && overrides.agrees(present));
        if let (Some(manifest), true) = (present, self.has_runtime()) {
            return Ok(manifest);
        }
        let staging = Staging::begin(self.folder)?;
        self.stage_runtime(&fetcher, &staging, watch).await?;
        let mut described = BTreeMap::new();
        for path in hub::DESCRIPTIONS {
            let to = staging.dir.join("description");
            let file = HubFile { model: &pinned, path, bytes_max: DESCRIPTION_BYTES_MAX };
            if fetcher.fetch_of_hub(&file, &to, watch).await? {
                let text = fs::read(&to).map_err(|error| file_error("read", &to, &error))?;
                described.insert(path, serde_json::from_slice(&text).unwrap_or_default());
            }
        }
        let read = |path: &str| described.get(path).cloned().unwrap_or_default();
        let traits = hub::describe(read, overrides)?;
        let files =
            [(pinned.file.as_str(), MODEL, FILE_BYTES_MAX), (TOKENIZER, TOKENIZER, TOKENIZER_BYTES_MAX)];
        for (path, own, bytes_max) in files {
            let file = HubFile { model: &pinned, path, bytes_max };
            if !fetcher.fetch_of_hub(&file, &staging.model_dir().join(own), watch).await? {
                return Err(ProviderError::unusable(format!(
                    "{} has no {path}; --file names the path of its graph",
                    pinned.repository
                )));
            }
        }
        finish(&staging, described_by(name, traits, source))
    }

    /// Stages ONNX Runtime if it is missing: the user's own library, or the one of the catalogue.
    async fn stage_runtime(
        self,
        fetcher: &Fetcher,
        staging: &Staging<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), ProviderError> {
        if let Some(library) = self.library {
            take_library(library, staging)?;
            return Ok(());
        }
        if self.has_runtime() {
            return Ok(());
        }
        let runtime = catalogue::runtime().ok_or_else(|| {
            ProviderError::unusable(format!(
                "no ONNX Runtime for {} on {} is known; name a library of your own with --runtime-from FILE",
                std::env::consts::OS,
                std::env::consts::ARCH
            ))
        })?;
        let library = fetch(fetcher, &runtime.source, staging, &staging.runtime_dir(), watch).await?;
        describe_runtime(&library)?;
        Ok(())
    }

    /// Installs the model in a folder: `model.onnx` and `tokenizer.json`. A `model.toml` in the folder overrides
    /// `traits`.
    ///
    /// An ONNX Runtime in the folder is native code, and a supplier of weights need not be trusted to run code here. So
    /// it is used only if it is the one of the catalogue ([`find_library`]).
    ///
    /// # Errors
    /// Nothing is installed; the error says what is missing or does not work.
    pub fn from_folder(self, name: &str, dir: &Path, traits: Traits) -> Result<Manifest, ProviderError> {
        self.folder.model_dir(name)?;
        let described: Option<Manifest> = manifest::read(&dir.join(MANIFEST))?;
        for file in [MODEL, TOKENIZER] {
            let path = dir.join(file);
            if !path.is_file() {
                return Err(ProviderError::unusable(format!(
                    "{} is missing; a model's folder holds {MODEL} and {TOKENIZER}",
                    path.display()
                )));
            }
            if let Some(wanted) = described.as_ref().and_then(|manifest| manifest.files.get(file)) {
                verify(&path, wanted)?;
            }
        }
        let staging = Staging::begin(self.folder)?;
        copy_files(dir, &staging)?;
        match (self.library, find_library(dir)) {
            (Some(library), _) => {
                take_library(library, &staging)?;
            }
            // The copy is verified, so that no other process can change it afterwards.
            (None, Found::Known(library)) => {
                if !is_known(&take_library(&library, &staging)?) {
                    let path = library.display();
                    return Err(ProviderError::unusable(format!(
                        "{path} changed while it was copied; try again"
                    )));
                }
            }
            (None, Found::Foreign(_) | Found::Nothing) => {}
        }
        let own = described_by(name, traits, String::new());
        let manifest = described.map_or(own, |found| Manifest { name: name.to_owned(), ..found });
        finish(&staging, manifest)
    }

    /// Whether no other ONNX Runtime is wanted than the one that is installed.
    fn has_runtime(self) -> bool {
        let manifest = self.folder.runtime().ok().flatten().filter(|_| self.library.is_none());
        manifest
            .is_some_and(|it| verify(&self.folder.runtime_dir().join(&it.library), &it.fingerprint).is_ok())
    }
}

/// The manifest of a model whose dimension and files are not known yet.
fn described_by(name: &str, traits: Traits, source: String) -> Manifest {
    Manifest {
        name: name.to_owned(),
        dimension: 0,
        pooling: traits.pooling,
        max_tokens: traits.max_tokens,
        query_prefix: traits.query_prefix,
        passage_prefix: traits.passage_prefix,
        source,
        files: BTreeMap::new(),
    }
}

/// Tries the contents of the staging folder and moves them into place.
fn finish(staging: &Staging<'_>, mut manifest: Manifest) -> Result<Manifest, ProviderError> {
    let folder = staging.folder;
    manifest.files.clear();
    for file in [MODEL, TOKENIZER] {
        let path = staging.model_dir().join(file);
        let found = fingerprint(&path).map_err(|error| file_error("read", &path, &error))?;
        manifest.files.insert(file.to_owned(), found);
    }
    refuse_other_weights(folder, &manifest)?;
    let dimension = try_out(staging, &manifest)?;
    if manifest.dimension != 0 && manifest.dimension != dimension {
        return Err(ProviderError::unusable(format!(
            "the model gives vectors of {dimension} numbers, its description says {}",
            manifest.dimension
        )));
    }
    manifest.dimension = dimension;
    write(&staging.model_dir().join(MANIFEST), &manifest)?;
    install_runtime(staging)?;
    folder.remove(&manifest.name)?;
    let target = folder.model_dir(&manifest.name)?;
    fs::rename(staging.model_dir(), &target).map_err(|error| file_error("make", &target, &error))?;
    Ok(manifest)
}

/// Copies a model's own files from a folder.
fn copy_files(dir: &Path, staging: &Staging<'_>) -> Result<(), ProviderError> {
    for file in [MODEL, TOKENIZER] {
        let path = dir.join(file);
        fs::copy(&path, staging.model_dir().join(file)).map_err(|error| file_error("copy", &path, &error))?;
    }
    Ok(())
}

/// Vectors carry the model's name, so a name must stand for the same weights for ever.
fn refuse_other_weights(folder: &ModelFolder, manifest: &Manifest) -> Result<(), ProviderError> {
    let Ok(present) = folder.manifest(&manifest.name) else { return Ok(()) };
    let same = |file: &str| present.files.get(file) == manifest.files.get(file);
    if same(MODEL) && same(TOKENIZER) {
        return Ok(());
    }
    Err(ProviderError::unusable(format!(
        "another model is installed as `{}`; install this one under another name, since vectors of both must not \
         be mixed",
        manifest.name
    )))
}

/// The dimension of the vectors that the model actually gives.
fn try_out(staging: &Staging<'_>, manifest: &Manifest) -> Result<usize, ProviderError> {
    let (folder, dir) = (staging.folder_after(), staging.model_dir());
    let plan = Plan { folder, dir, manifest: manifest.clone(), threads: 1 };
    let vector = plan.load()?.embed(&manifest.query_prefix, "Does it work?", manifest.max_tokens)?;
    if vector.is_empty() || vector.iter().any(|x| !x.is_finite()) {
        return Err(ProviderError::unusable(format!(
            "the model `{}` gives no usable vectors",
            manifest.name
        )));
    }
    Ok(vector.len())
}

/// Fetches a file and puts the wanted part of it into `dir`. Returns its path.
async fn fetch(
    fetcher: &Fetcher,
    source: &Source,
    staging: &Staging<'_>,
    dir: &Path,
    watch: &mut Watch<'_>,
) -> Result<PathBuf, ProviderError> {
    match source.take {
        Take::Whole(name) => {
            let path = dir.join(name);
            fetcher.fetch(source, &path, watch).await?;
            Ok(path)
        }
        Take::Member(member, name) => {
            let archive = staging.dir.join("archive");
            fetcher.fetch(source, &archive, watch).await?;
            let path = dir.join(name);
            unpack(&archive, member, &path).map_err(|reason| {
                ProviderError::unusable(format!("cannot take {member} out of the fetched archive: {reason}"))
            })?;
            Ok(path)
        }
    }
}

fn unpack(archive: &Path, member: &str, path: &Path) -> Result<(), String> {
    let file = File::open(archive).map_err(|error| error.to_string())?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| error.to_string())?;
    let found = archive.by_name(member).map_err(|error| error.to_string())?;
    let mut into = File::create(path).map_err(|error| error.to_string())?;
    let bytes = io::copy(&mut io::Read::take(found, FILE_BYTES_MAX), &mut into);
    bytes.and_then(|_| into.sync_all()).map_err(|error| error.to_string())
}

/// The installed model, if its files are intact.
fn installed(folder: &ModelFolder, name: &str) -> Option<Manifest> {
    let manifest = folder.manifest(name).ok()?;
    let dir = folder.model_dir(name).ok()?;
    let whole = [MODEL, TOKENIZER]
        .iter()
        .all(|file| manifest.files.get(*file).is_some_and(|wanted| verify(&dir.join(file), wanted).is_ok()));
    whole.then_some(manifest)
}

/// Writes the manifest of a library beside it.
fn describe_runtime(library: &Path) -> Result<Fingerprint, ProviderError> {
    let found = fingerprint(library).map_err(|error| file_error("read", library, &error))?;
    let manifest = RuntimeManifest { library: file_name(library), fingerprint: found };
    write(&library.with_file_name(RUNTIME_MANIFEST), &manifest)?;
    Ok(manifest.fingerprint)
}

/// Moves a new library into place; a process that has loaded the old one keeps it. The new one is on disk already
/// and its digest is checked at each load, so the move itself need not be durable.
fn install_runtime(staging: &Staging<'_>) -> Result<(), ProviderError> {
    let folder = staging.folder;
    let new = ModelFolder::new(folder.models_dir().to_owned(), staging.runtime_dir());
    let Some(manifest) = new.runtime()? else { return Ok(()) };
    for file in [manifest.library.as_str(), RUNTIME_MANIFEST] {
        let target = folder.runtime_dir().join(file);
        fs::rename(staging.runtime_dir().join(file), &target)
            .map_err(|error| file_error("make", &target, &error))?;
    }
    Ok(())
}

/// The ONNX Runtime library in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// There is none.
    Nothing,
    /// The one of the catalogue, by its hash.
    Known(PathBuf),
    /// Another one, which is loaded only if the user names it.
    Foreign(PathBuf),
}

/// Looks for ONNX Runtime's library in a folder. Nothing is loaded.
pub fn find_library(dir: &Path) -> Found {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = file_name(path);
        let is_library =
            name.starts_with("libonnxruntime.") && (name.contains(".so") || name.contains(".dylib"));
        is_library && path.is_file()
    });
    paths.sort();
    let known = paths.iter().find(|path| fingerprint(path).is_ok_and(|found| is_known(&found)));
    match (known, paths.first()) {
        (Some(known), _) => Found::Known(known.clone()),
        (None, Some(other)) => Found::Foreign(other.clone()),
        (None, None) => Found::Nothing,
    }
}

fn is_known(library: &Fingerprint) -> bool {
    catalogue::runtime().is_some_and(|runtime| runtime.is(library))
}

/// Accepts any library as the ONNX Runtime of this home: it will be loaded into this process and into the daemon.
/// From then on it must not change.
fn take_library(library: &Path, staging: &Staging<'_>) -> Result<Fingerprint, ProviderError> {
    if !library.is_file() {
        return Err(ProviderError::unusable(format!("{} is not a file", library.display())));
    }
    let copy = staging.runtime_dir().join(file_name(library));
    fs::copy(library, &copy).map_err(|error| file_error("copy", library, &error))?;
    describe_runtime(&copy)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write(path: &Path, manifest: &impl serde::Serialize) -> Result<(), ProviderError> {
    let text = toml::to_string(manifest)
        .map_err(|error| ProviderError::unusable(format!("cannot write {}: {error}", path.display())))?;
    durable::write(path, durable::Kind::Own, text.as_bytes())
        .map_err(|error| file_error("write", path, &error))
}

/// Removes what killed installations left behind.
fn sweep(models: &Path) {
    let Ok(entries) = fs::read_dir(models) else { return };
    for entry in entries.flatten() {
        let is_staging = entry.file_name().to_string_lossy().starts_with(STAGING);
        let age = entry.metadata().and_then(|found| found.modified()).ok();
        let age = age.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        if is_staging && age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn file_error(verb: &str, path: &Path, error: &io::Error) -> ProviderError {
    ProviderError::unusable(format!("cannot {verb} {}: {error}", path.display()))
}
