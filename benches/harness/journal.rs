//! The journal in this process, on a real store: what a client cannot measure by itself.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cerebro_core::domain::{Project, SessionId, Timestamp, WorkId};
use cerebro_ledger::{Ending, Step, World, limits};
use cerebro_service::work::{Actor, BeginWork, Happening, LOCAL_OWNER, Target};
use cerebro_service::{Embedding, Service, Settings, agent_name};

use super::stats::{median, percentile};

/// How many times one event, and 64 at once, are appended in turns.
const BATCHES: usize = 100;
/// How often a hint is asked for.
const HINTS: usize = 200;
/// How many pieces of work are open when the journal is swept.
const OPEN: usize = 1_000;
/// How many events a short and a long piece of work have: as many as fit, with room for those that begin it.
const SHORT: usize = 200;
const LONG: usize = 9_920;
/// How many pieces, short and long, are folded again from their events.
const SHORT_PIECES: usize = 20;
const LONG_PIECES: usize = 3;
/// How often a proof is asked for.
const PROOFS: usize = 50;
/// The length of a hash in a proof, which is printed in hex.
const HASH_BYTES: usize = 32;

/// The journal of a home that no daemon has open.
pub struct Journal(Service);

/// How much is written. In a small trial run, long pieces are shorter and fewer are open.
#[derive(Clone, Copy)]
pub struct Size {
    pub short: usize,
    pub long: usize,
    open: usize,
    events: usize,
}

impl Size {
    /// The sizes for a journal of so many events.
    pub fn of(events: usize) -> Self {
        Self { short: SHORT, long: LONG.min(events / 10).max(SHORT), open: OPEN.min(events / 10), events }
    }
}

/// Pieces of work that were filled.
pub struct Filled {
    pub short: Vec<WorkId>,
    pub long: Vec<WorkId>,
}

impl Journal {
    pub async fn open(home: &Path) -> Result<Self> {
        let (store, index) = (home.join("store"), home.join("index"));
        Ok(Self(Service::open(&store, &index, Settings::default(), Embedding::none(), Timestamp::now).await?))
    }

    pub async fn close(self) -> Result<()> {
        Ok(self.0.close().await?)
    }

    /// The medians of appending one event and of 64 at once, in milliseconds.
    pub async fn batches(&self) -> Result<(f64, f64)> {
        let (single, batch) = (self.begin().await?, self.begin().await?);
        let (mut one, mut many) = (Vec::new(), Vec::new());
        for n in 0..BATCHES {
            one.push(timed(self.append(&single, n, 1)).await?);
            many.push(timed(self.append(&batch, n, limits::BATCH_MAX)).await?);
        }
        Ok((median(&one), median(&many)))
    }

    /// The 99th percentile of hints over a piece of work of so many events.
    pub async fn hint(&self, events: usize) -> Result<f64> {
        let work = self.filled(events).await?;
        let mut took = Vec::new();
        for _ in 0..HINTS {
            took.push(timed(self.resume(&work)).await?);
        }
        Ok(percentile(&took, 99.0))
    }

    /// Fills the journal until it holds about so many events, and begins pieces that stay open.
    pub async fn fill_up(&self, size: Size) -> Result<Filled> {
        let mut filled = Filled { short: Vec::new(), long: Vec::new() };
        for _ in 0..SHORT_PIECES {
            filled.short.push(self.filled(size.short).await?);
        }
        let mut made = SHORT_PIECES * size.short + BATCHES * (limits::BATCH_MAX + 1) + size.long + size.open;
        while made < size.events || filled.long.len() < LONG_PIECES {
            filled.long.push(self.filled(size.long).await?);
            made += size.long;
        }
        filled.long.truncate(LONG_PIECES);
        for _ in 0..size.open {
            self.begin().await?;
        }
        Ok(filled)
    }

    /// How many open pieces a sweep looks at, and its milliseconds.
    pub async fn sweep(&self) -> Result<(usize, f64)> {
        let begun = Instant::now();
        let swept = self.0.journal.sweep().await?;
        Ok((swept.open, millis(begun)))
    }

    /// The longest hint over pieces without a cached state.
    pub async fn cold(&self, works: &[WorkId]) -> Result<f64> {
        let mut worst: f64 = 0.0;
        for work in works {
            worst = worst.max(timed(self.resume(work)).await?);
        }
        Ok(worst)
    }

    /// How many events were verified, and the seconds it took.
    pub async fn verify(&self) -> Result<(usize, f64)> {
        let begun = Instant::now();
        let verified = self.0.journal.verify(&[]).await?;
        ensure!(verified.findings.is_empty(), "{:?}", verified.findings);
        Ok((usize::try_from(verified.events)?, millis(begun) / 1e3))
    }

    /// The bytes of the largest proof of these pieces (leaf, hashes and the signed note), and the median time of making
    /// one where all is sealed.
    pub async fn proof(&self, works: &[WorkId]) -> Result<(f64, f64)> {
        self.0.journal.head().await?;
        let (mut bytes, mut took) = (0, Vec::new());
        for n in 0..PROOFS {
            let begun = Instant::now();
            let proof = self.0.journal.prove(&actor(), &works[n % works.len()]).await?.context("no proof")?;
            took.push(millis(begun));
            bytes = bytes.max(proof.leaf.len() + HASH_BYTES * proof.path.len() + proof.note.len());
        }
        Ok((bytes as f64, median(&took)))
    }

    async fn begin(&self) -> Result<WorkId> {
        let begin = BeginWork { title: "a piece of work".to_owned(), ..BeginWork::default() };
        Ok(self.0.journal.begin(&actor(), begin).await?.0.id)
    }

    async fn filled(&self, events: usize) -> Result<WorkId> {
        let work = self.begin().await?;
        let mut written = 0;
        while written < events {
            let count = limits::BATCH_MAX.min(events - written);
            self.append(&work, written, count).await?;
            written += count;
        }
        Ok(work)
    }

    async fn append(&self, work: &WorkId, from: usize, count: usize) -> Result<()> {
        let happenings = (from..from + count).map(ran).collect();
        let appended = self.0.journal.append(&actor(), Target::Work(*work), happenings).await?;
        ensure!(appended.recorded == count, "{appended:?}");
        Ok(())
    }

    async fn resume(&self, work: &WorkId) -> Result<()> {
        let world = World::at(Timestamp::now());
        let resumed = self.0.journal.resume(&actor(), Some(work), &world, limits::HINT_BYTES).await?;
        ensure!(resumed.is_some_and(|resumed| !resumed.text.is_empty()), "no hint");
        Ok(())
    }
}

fn actor() -> Actor {
    Actor {
        owner: LOCAL_OWNER.to_owned(),
        agent: agent_name("bench"),
        session: SessionId::parse("bench").ok(),
        project: Project::parse("bench").unwrap_or_else(Project::general),
        directory: None,
    }
}

fn ran(n: usize) -> Happening {
    let tail = format!("line {n} of what it printed; ").repeat(20);
    let command = format!("cargo test -p part{}", n % 7);
    let (ending, exit, ms) = (Ending::Passed, Some(0), Some(1_200));
    Step::Ran { call: None, command, ending, exit, ms, tests: None, tail }.into()
}

/// The milliseconds of a task.
async fn timed(task: impl Future<Output = Result<()>>) -> Result<f64> {
    let begun = Instant::now();
    Box::pin(task).await?;
    Ok(millis(begun))
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
