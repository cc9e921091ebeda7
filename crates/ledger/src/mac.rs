//! The MAC: what the chain, the rows and the seals are made of.

use std::fmt;

use cerebro_core::text;

/// A MAC, a commitment or a head: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mac(pub [u8; 32]);

impl Mac {
    /// Reads one in hex.
    pub fn parse(hex: &str) -> Option<Self> {
        text::unhex(hex)?.try_into().ok().map(Self)
    }

    pub fn hex(&self) -> String {
        text::hex(&self.0)
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.hex())
    }
}
