//! Seeded nonsense: good inputs, spoilt a little. Parsers must survive thousands of them.

/// Bytes that mean something to one parser or another.
const MARKS: &[u8] = b"<>&;\"'=-,/ \n\0\xff0A";

/// Xorshift: the same inputs in every run.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap_or(0)
    }

    /// `input` with a few bytes changed, dropped, doubled or cut off.
    pub fn spoil(&mut self, input: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 if !bytes.is_empty() => bytes[at] = self.below(256) as u8,
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 => bytes.insert(at, MARKS[self.below(MARKS.len())]),
                3 => bytes.truncate(at),
                _ => {
                    let to = at + self.below(bytes.len() - at);
                    let piece = bytes[at..to].to_vec();
                    bytes.extend(piece);
                }
            }
        }
        bytes
    }
}

/// Runs `parse` over many spoilt forms of each input.
pub fn survive(inputs: &[&[u8]], parse: impl Fn(&[u8])) {
    let mut noise = Noise::new(0x9E37_79B9_7F4A_7C15);
    for round in 0..4000 {
        let input = inputs[round % inputs.len()];
        parse(&noise.spoil(input));
    }
}
