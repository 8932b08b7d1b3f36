//! MD5's compression function (RFC 1321, 3.4), for one stream and for eight in lockstep.
//!
//! Held true: both are the same steps over a different word, so a stream may go from one to the other after any block.
//! One stream is a single chain of dependent steps, which leaves most of a core idle; eight chains side by side fill it.

use std::array::from_fn;

use wide::u32x4;

/// So many streams advance together: two vectors of four. One has half the throughput, three or four no more.
pub const LANES: usize = 8;

pub type Md5Block = [u8; 64];
pub type Words = [u32; 4];

pub const INITIAL: Words = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Advances one stream over all of `blocks`.
#[inline(never)]
pub fn advance_one(state: &mut Words, blocks: &[Md5Block]) {
    for block in blocks {
        compress(state, &words(block));
    }
}

/// Advances each stream over its blocks, as many as the shortest has, and says how many those were.
#[inline(never)]
#[expect(clippy::needless_range_loop, reason = "it takes one block of every lane, not all of one")]
pub fn advance_all(states: &mut [Words; LANES], blocks: [&[Md5Block]; LANES]) -> usize {
    let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
    // Cut to one length, so that the loop below checks no bounds.
    let blocks = blocks.map(|blocks| &blocks[..count]);
    let mut across: [Lanes; 4] = from_fn(|word| Lanes::gather(|lane| states[lane][word]));
    for at in 0..count {
        let message = interleave(from_fn(|lane| words(&blocks[lane][at])));
        compress(&mut across, &message);
    }
    for (word, lanes) in across.iter().enumerate() {
        for (lane, value) in lanes.0.iter().flat_map(|four| four.to_array()).enumerate() {
            states[lane][word] = value;
        }
    }
    count
}

#[inline(always)]
fn words(block: &Md5Block) -> [u32; 16] {
    from_fn(|at| u32::from_le_bytes([block[at * 4], block[at * 4 + 1], block[at * 4 + 2], block[at * 4 + 3]]))
}

/// From one message for each lane to one word of all lanes at a time.
#[inline(always)]
fn interleave(messages: [[u32; 16]; LANES]) -> [Lanes; 16] {
    let mut across = [Lanes::splat(0); 16];
    for half in 0..2 {
        for quarter in (0..16).step_by(4) {
            let rows = from_fn(|row| {
                let message = &messages[half * 4 + row];
                u32x4::new([message[quarter], message[quarter + 1], message[quarter + 2], message[quarter + 3]])
            });
            for (column, four) in u32x4::transpose(rows).into_iter().enumerate() {
                across[quarter + column].0[half] = four;
            }
        }
    }
    across
}

/// What MD5 computes with.
trait Word: Copy {
    fn splat(value: u32) -> Self;
    fn add(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn rotate<const BITS: u32>(self) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn splat(value: u32) -> Self {
        value
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn rotate<const BITS: u32>(self) -> Self {
        self.rotate_left(BITS)
    }
}

#[derive(Clone, Copy)]
struct Lanes([u32x4; 2]);

impl Lanes {
    fn gather(of: impl Fn(usize) -> u32) -> Self {
        Self(from_fn(|half| u32x4::new(from_fn(|lane| of(half * 4 + lane)))))
    }

    #[inline(always)]
    fn zip(self, other: Self, with: impl Fn(u32x4, u32x4) -> u32x4) -> Self {
        Self([with(self.0[0], other.0[0]), with(self.0[1], other.0[1])])
    }
}

impl Word for Lanes {
    #[inline(always)]
    fn splat(value: u32) -> Self {
        Self([u32x4::splat(value); 2])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|four| !four))
    }
    #[inline(always)]
    fn rotate<const BITS: u32>(self) -> Self {
        Self(self.0.map(|four| (four << BITS) | (four >> (32 - BITS))))
    }
}

#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The four rounds' functions. In the second the two halves never share a bit, so they are added, not joined: the sum with
/// the first half is then ready before the chain's newest word is.
#[inline(always)]
fn mix<T: Word, const ROUND: usize>(sum: T, b: T, c: T, d: T) -> T {
    match ROUND {
        0 => sum.add(d.xor(b.and(c.xor(d)))),
        1 => sum.add(d.not().and(c)).add(d.and(b)),
        2 => sum.add(c.xor(d).xor(b)),
        _ => sum.add(c.xor(b.or(d.not()))),
    }
}

macro_rules! step {
    ($round:literal, $i:expr, $a:ident, $b:ident, $c:ident, $d:ident, $message:ident) => {
        const { assert!($round < 4 && $i < 16) };
        let word = const { [$i, (5 * ($i) + 1) % 16, (3 * ($i) + 5) % 16, (7 * ($i)) % 16][$round] };
        let sum = $a.add($message[word]).add(T::splat(const { SINES[$round * 16 + $i] }));
        $a = mix::<T, $round>(sum, $b, $c, $d).rotate::<{ SHIFTS[$round][($i) % 4] }>().add($b);
    };
}

macro_rules! round {
    ($round:literal, $a:ident, $b:ident, $c:ident, $d:ident, $message:ident) => {
        round!($round, $a, $b, $c, $d, $message, 0, 4, 8, 12);
    };
    ($round:literal, $a:ident, $b:ident, $c:ident, $d:ident, $message:ident, $($i:literal),*) => {
        $(
            step!($round, $i, $a, $b, $c, $d, $message);
            step!($round, $i + 1, $d, $a, $b, $c, $message);
            step!($round, $i + 2, $c, $d, $a, $b, $message);
            step!($round, $i + 3, $b, $c, $d, $a, $message);
        )*
    };
}

#[inline(always)]
fn compress<T: Word>(state: &mut [T; 4], message: &[T; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    round!(0, a, b, c, d, message);
    round!(1, a, b, c, d, message);
    round!(2, a, b, c, d, message);
    round!(3, a, b, c, d, message);
    *state = [state[0].add(a), state[1].add(b), state[2].add(c), state[3].add(d)];
}
