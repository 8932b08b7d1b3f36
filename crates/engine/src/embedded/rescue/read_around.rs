//! Reads a file of a disk that fails: what cannot be read is left out, in small parts, and is blank in the copy. Everything here has checksums, so
//! what is blank is found out when it is used.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const CHUNK: usize = 1 << 20;
/// What a disk fails to read as a whole.
const PART: usize = 4096;

/// Hands over the bytes of `from..to`, in order. Gives how many could not be read.
pub(super) fn read_around(
    file: &File,
    from: u64,
    to: u64,
    mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let (mut at, mut lost, mut buffer) = (from, 0, vec![0; CHUNK.min((to - from) as usize)]);
    while at < to {
        let length = buffer.len().min((to - at) as usize);
        let chunk = &mut buffer[..length];
        if file.read_exact_at(chunk, at).is_ok() {
            take(at, chunk)?;
        } else {
            for (number, part) in chunk.chunks_mut(PART).enumerate() {
                let place = at + (number * PART) as u64;
                match file.read_exact_at(part, place) {
                    Ok(()) => take(place, part)?,
                    Err(_) => lost += part.len() as u64,
                }
            }
        }
        at += length as u64;
    }
    Ok(lost)
}

/// All of a file, and how many bytes of it could not be read.
pub(super) fn whole(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).map_err(io::Error::other)?)?;
    bytes.resize(length as usize, 0);
    let lost = read_around(&file, 0, length, |at, part| {
        bytes[at as usize..][..part.len()].copy_from_slice(part);
        Ok(())
    })?;
    Ok((bytes, lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process's own memory can be read where something is, and not at its beginning.
    #[test]
    fn what_cannot_be_read_is_left_out() {
        let memory = File::open("/proc/self/mem").unwrap();
        let there = [7_u8; 3 * PART];
        let place = (there.as_ptr() as u64).next_multiple_of(PART as u64);
        let mut seen = Vec::new();
        let lost = read_around(&memory, place, place + PART as u64, |at, part| {
            seen.push((at, part.to_vec()));
            Ok(())
        });
        assert_eq!((lost.unwrap(), seen), (0, vec![(place, vec![7; PART])]));
        let lost = read_around(&memory, 0, 2 * PART as u64 + 5, |at, _| panic!("there is nothing at {at}"));
        assert_eq!(lost.unwrap(), 2 * PART as u64 + 5);
    }
}
