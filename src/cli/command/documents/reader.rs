//! `cerebro read-document`: the process in which documents are read. See [`crate::reading`].

use super::super::prelude::*;
use crate::reading;

/// Read documents from standard input and print their contents as JSON; `cerebro ingest` and the daemon run this
#[derive(Debug, Args)]
pub struct ReadArgs {}

pub fn run(_context: &CommandContext, _args: &ReadArgs) -> Result<()> {
    let served = reading::serve(std::io::stdin().lock(), std::io::stdout().lock());
    served.map_err(|error| Error::stream("standard input", &error))?;
    Ok(())
}
