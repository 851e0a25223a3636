//! A hash that is the same on every machine and in every release: FNV-1a with 128 bits.
//!
//! For ids and for comparing prefixes. It keeps nobody out.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u128);

impl Default for Digest {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Digest {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    /// With one more part. Where a part ends counts: "ab", "c" is not "a", "bc".
    #[must_use]
    pub fn with(self, part: &[u8]) -> Self {
        let length = (part.len() as u64).to_le_bytes();
        let step = |sum: u128, byte: &u8| (sum ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        Self(part.iter().chain(&length).fold(self.0, step))
    }

    /// Twenty-four characters that make an id of it.
    pub fn short(self) -> String {
        format!("{:024x}", (self.0 >> 32) ^ (self.0 & 0xffff_ffff))
    }
}
