//! Reads documents in a separate process. Its time and memory are bounded, it can open no file, and it does not get the
//! contents of the environment. If the system allows it, it can only compute (`confinement`). So a file cannot harm the
//! daemon or the command that reads it.
//!
//! One process reads several files, one after the other. [`serve`] is its side, [`Reader`] that of the caller. A
//! request is a line of JSON and the bytes of a file. An answer is a line of JSON and, for an image, its bytes.

mod confinement;

use std::io::{self, BufRead, Read as _, Write};
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use cerebro_documents::{Format, ImageSource, Reading, image, limits::FILE_BYTES_MAX, read};

/// How long reading one file may take.
pub const TIME_MAX: Duration = Duration::from_secs(30);
/// How much memory a process may use, in bytes. The program's code, which is shared, does not count.
pub const MEMORY_MAX: u64 = 512 << 20;
/// How many files one process reads. This bounds the memory that libraries leak.
const FILES_MAX: usize = 200;
/// How much processor time a process may use in total, in case its caller is gone.
const CPU_MAX: Duration = Duration::from_secs(600);
/// Longest line of a request, in bytes.
const ASKED_BYTES_MAX: u64 = 8 << 10;
/// Longest line of an answer, in bytes: texts are bounded, and escapes at most double them.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The hidden command that runs [`serve`].
pub const COMMAND: &str = "read-document";

/// The first message of a process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Hello {
    /// Whether it can only compute. Not every system allows it to give up the rest.
    isolated: bool,
}

/// A request; the bytes of the file follow.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Asked {
    format: Format,
    bytes: usize,
    /// The place of the image in the file, if an image is requested.
    image: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The contents of the file.
    Reading(Box<Reading>),
    /// The number of bytes of an image, which follow.
    Image(usize),
    /// Why it cannot be read.
    Fault(String),
}

/// Reads requests from one stream and writes answers to the other, until the first one ends.
pub fn serve(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    answer(&mut to, &Hello { isolated: confinement::confine() })?;
    loop {
        let mut line = String::new();
        if from.by_ref().take(ASKED_BYTES_MAX).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let asked: Asked = serde_json::from_str(&line)?;
        if asked.bytes > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is larger than the bound"));
        }
        let mut bytes = vec![0; asked.bytes];
        from.read_exact(&mut bytes)?;
        let Some(place) = asked.image else {
            let outcome = match read(asked.format, &bytes) {
                Ok(reading) => Answer::Reading(Box::new(reading)),
                Err(error) => Answer::Fault(error.to_string()),
            };
            answer(&mut to, &outcome)?;
            continue;
        };
        match image(asked.format, &bytes, &place) {
            Ok(found) => {
                answer(&mut to, &Answer::Image(found.len()))?;
                to.write_all(&found)?;
                to.flush()?;
            }
            Err(error) => answer(&mut to, &Answer::Fault(error.to_string()))?,
        }
    }
}

fn answer(to: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *to, answer)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// A running process that reads one file after the other.
struct Running {
    /// It is killed when this is dropped.
    _process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    isolated: bool,
    done: usize,
}

impl Running {
    async fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let no_pipe = || io::Error::other("the process has no pipes");
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        let mut running = Self { _process: child, stdin, stdout, isolated: false, done: 0 };
        running.isolated = running.line::<Hello>().await?.isolated;
        Ok(running)
    }

    async fn line<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = Vec::new();
        (&mut self.stdout).take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line).await?;
        Ok(serde_json::from_slice(&line)?)
    }

    async fn ask(&mut self, asked: &Asked, bytes: &[u8]) -> io::Result<(Answer, Vec<u8>)> {
        let mut line = serde_json::to_vec(asked)?;
        line.push(b'\n');
        self.stdin.write_all(&line).await?;
        self.stdin.write_all(bytes).await?;
        self.stdin.flush().await?;
        let answer: Answer = self.line().await?;
        let mut found = Vec::new();
        if let Answer::Image(length) = answer {
            let most = length.min(FILE_BYTES_MAX) as u64;
            (&mut self.stdout).take(most).read_to_end(&mut found).await?;
        }
        self.done += 1;
        Ok((answer, found))
    }
}

/// Reads files in a separate process. The process starts with the first file, and again after a file that crashed it.
/// It ends when this is dropped.
#[derive(Default)]
pub struct Reader {
    running: Option<Running>,
    isolated: Option<bool>,
}

impl Reader {
    /// Whether the process that read last could only compute; `None` before the first file.
    pub fn isolated(&self) -> Option<bool> {
        self.isolated
    }

    /// The contents of a file. The error says why it cannot be read, in words for a person.
    pub async fn read(&mut self, format: Format, bytes: &[u8]) -> Result<Reading, String> {
        match self.ask(Asked { format, bytes: bytes.len(), image: None }, bytes).await? {
            (Answer::Reading(reading), _) => Ok(*reading),
            (Answer::Fault(why), _) => Err(why),
            (Answer::Image(_), _) => Err("its reader sent the wrong answer".to_owned()),
        }
    }

    /// The bytes of an image in a file. The error says why there are none, in words for a person.
    pub async fn image(&mut self, format: Format, bytes: &[u8], place: &str) -> Result<Vec<u8>, String> {
        let asked = Asked { format, bytes: bytes.len(), image: Some(place.to_owned()) };
        match self.ask(asked, bytes).await? {
            (Answer::Image(length), found) if found.len() == length => Ok(found),
            (Answer::Fault(why), _) => Err(why),
            _ => Err("its reader sent the wrong answer".to_owned()),
        }
    }

    async fn ask(&mut self, asked: Asked, bytes: &[u8]) -> Result<(Answer, Vec<u8>), String> {
        loop {
            let held = self.running.take().filter(|running| running.done < FILES_MAX);
            let is_fresh = held.is_none();
            let attempt = async {
                let mut running = match held {
                    Some(running) => running,
                    None => Running::start().await.map_err(|error| (None, error))?,
                };
                let answer = running.ask(&asked, bytes).await;
                answer.map(|answer| (answer, running)).map_err(|error| (Some(()), error))
            };
            // Dropping a process that does not answer in time kills it.
            match tokio::time::timeout(TIME_MAX, attempt).await {
                Ok(Ok((answer, running))) => {
                    self.isolated = Some(running.isolated);
                    self.running = Some(running);
                    return Ok(answer);
                }
                Err(_) => return Err(format!("reading it took more than {} seconds", TIME_MAX.as_secs())),
                Ok(Err((None, error))) => return Err(format!("its reader cannot be run: {error}")),
                // Earlier files may have left the process in a broken state.
                Ok(Err(_)) if !is_fresh => {}
                Ok(Err(_)) => {
                    let why = "its reader crashed: the file is broken, or takes too much memory";
                    return Err(why.to_owned());
                }
            }
        }
    }
}

/// The file to which a path in a document refers. Does not access the disk.
pub fn beside(document: &Path, path: &str) -> PathBuf {
    let mut place = document.parent().unwrap_or(document).to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(part) => place.push(part),
            _ => {}
        }
    }
    place
}

/// The image files to which a document refers: the index of each in the list, and its path.
pub fn images_beside(reading: &Reading, document: &Path) -> Vec<(usize, PathBuf)> {
    let images = reading.images.iter().enumerate();
    images
        .filter_map(|(at, image)| match &image.place {
            ImageSource::Beside(path) => Some((at, beside(document, path))),
            ImageSource::Within(_) => None,
        })
        .collect()
}

/// Adds the bytes of an image file to which a document refers.
pub fn saw_image(reading: &mut Reading, at: usize, bytes: &[u8]) {
    if let Some(image) = reading.images.get_mut(at)
        && let Some(seen) = image.clone().seen(bytes)
    {
        *image = seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(format: Format, image: Option<&str>, bytes: &[u8]) -> Vec<u8> {
        let asked = Asked { format, bytes: bytes.len(), image: image.map(str::to_owned) };
        let mut line = serde_json::to_vec(&asked).unwrap();
        line.push(b'\n');
        line.extend(bytes);
        line
    }

    #[test]
    fn a_path_beside_a_document_is_that_of_its_folder() {
        for (path, place) in
            [("a.png", "/d/docs/a.png"), ("./i/a.png", "/d/docs/i/a.png"), ("../a.png", "/d/a.png")]
        {
            assert_eq!(beside(Path::new("/d/docs/x.md"), path), Path::new(place));
        }
    }

    #[test]
    fn asking_beyond_the_bound_or_in_other_words_ends_it() {
        let beyond = format!("{{\"format\":\"text\",\"bytes\":{}}}\n", FILE_BYTES_MAX + 1);
        for wrong in [beyond.as_bytes(), b"{}\n", b"\xff\n"] {
            let line = wrong.strip_suffix(b"\n").unwrap();
            assert!(serde_json::from_slice::<Asked>(line).map_or(true, |asked| asked.bytes > FILE_BYTES_MAX));
        }
        let whole = asked(Format::Text, Some("x"), b"abc");
        let line = whole.split(|byte| *byte == b'\n').next().unwrap();
        let read: Asked = serde_json::from_slice(line).unwrap();
        assert_eq!((read.bytes, read.image.as_deref()), (3, Some("x")));
    }
}
