//! What goes in and out of IOCTL ([MS-SMB2] 2.2.31.1, 2.2.32; [MS-FSCC] 2.3).

use std::net::IpAddr;

use bytes::Bytes;

use super::negotiate::{Capabilities, SecurityMode};
use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers, record};
use crate::text::{self, Wide};

numbers! { Fsctl: u32 {
    DfsGetReferrals = 0x0006_0194,
    DfsGetReferralsEx = 0x0006_01b0,
    IsPathnameValid = 0x0009_002c,
    GetCompression = 0x0009_003c,
    SetCompression = 0x0009_c040,
    FilesystemGetStatistics = 0x0009_0060,
    GetNtfsVolumeData = 0x0009_0064,
    FindFilesBySid = 0x0009_008f,
    SetObjectId = 0x0009_0098,
    GetObjectId = 0x0009_009c,
    DeleteObjectId = 0x0009_00a0,
    SetReparsePoint = 0x0009_00a4,
    GetReparsePoint = 0x0009_00a8,
    DeleteReparsePoint = 0x0009_00ac,
    CreateOrGetObjectId = 0x0009_00c0,
    SetSparse = 0x0009_00c4,
    SetZeroData = 0x0009_80c8,
    QueryAllocatedRanges = 0x0009_40cf,
    ReadFileUsnData = 0x0009_00eb,
    QueryOnDiskVolumeInfo = 0x0009_013c,
    FileLevelTrim = 0x0009_8208,
    OffloadRead = 0x0009_4264,
    OffloadWrite = 0x0009_8268,
    GetIntegrityInformation = 0x0009_027c,
    SetIntegrityInformation = 0x0009_c280,
    QueryFileRegions = 0x0009_0284,
    DuplicateExtents = 0x0009_8344,
    DuplicateExtentsEx = 0x0009_83e8,
    PipePeek = 0x0011_400c,
    PipeWait = 0x0011_0018,
    PipeTransceive = 0x0011_c017,
    RequestResumeKey = 0x0014_0078,
    EnumerateSnapshots = 0x0014_4064,
    CopyChunk = 0x0014_40f2,
    CopyChunkWrite = 0x0014_80f2,
    ReadHash = 0x0014_41bb,
    RequestResiliency = 0x0014_01d4,
    QueryNetworkInterfaces = 0x0014_01fc,
    ValidateNegotiate = 0x0014_0204,
} }

/// Windows takes no more in one request, and clients ask for that many.
pub const CHUNKS_MAX: usize = 256;
const DIALECTS_MAX: usize = 64;

/// VALIDATE_NEGOTIATE_INFO: what the client offered, so that nobody can have changed it on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidateRequest {
    pub capabilities: Capabilities,
    pub client: [u8; 16],
    pub security_mode: SecurityMode,
    pub dialects: Vec<u16>,
}

impl Field for ValidateRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (capabilities, client, security_mode) = (source.read()?, source.read()?, source.read()?);
        let count = source.size16()?;
        if count > DIALECTS_MAX {
            return Err(Malformed::Count);
        }
        Ok(Self { capabilities, client, security_mode, dialects: source.list(count)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.write(&self.capabilities);
        sink.bytes(&self.client);
        sink.write(&self.security_mode);
        sink.size16(self.dialects.len());
        sink.list(&self.dialects);
    }
}

record! { ValidateResponse { capabilities: Capabilities, server: [u8; 16], security_mode: SecurityMode, dialect: u16 } }

record! {
    /// Names an open as the source of a copy.
    ResumeKey { key: [u8; 24] => 8 }
}

record! { Chunk { source: u64, target: u64, length: u32 => 4 } }

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRequest {
    pub source: [u8; 24],
    pub chunks: Vec<Chunk>,
}

impl Field for CopyRequest {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (key, count) = (source.read()?, source.size32()?);
        source.skip(4)?;
        if count > CHUNKS_MAX {
            return Err(Malformed::Count);
        }
        Ok(Self { source: key, chunks: source.list(count)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.bytes(&self.source);
        sink.size32(self.chunks.len());
        sink.zeros(4);
        sink.list(&self.chunks);
    }
}

record! {
    /// What was copied; or, with STATUS_INVALID_PARAMETER, the limits: chunks, bytes in one of them, bytes in all.
    CopyResponse { chunks: u32, chunk_bytes: u32, total_bytes: u32 }
}

/// SET_SPARSE without a word means yes.
pub fn parse_set_sparse(input: &[u8]) -> bool {
    input.first().is_none_or(|flag| *flag != 0)
}

record! { ZeroData { from: i64, to: i64 } }

record! {
    /// Asked for, and each of those that there are.
    AllocatedRange { offset: u64, length: u64 }
}

record! { Resiliency { timeout: u32 => 4 } }

/// As many ranges as fit, and whether these are all.
pub fn allocated_ranges(ranges: &[AllocatedRange], output_max: usize) -> (Bytes, bool) {
    let fit = ranges.len().min(output_max / 16);
    let mut sink = Sink::with_capacity(fit * 16);
    sink.list(&ranges[..fit]);
    (sink.finish().freeze(), fit == ranges.len())
}

bits! { InterfaceCapability: u32 {
    RSS = 0x1,
    RDMA = 0x2,
} }

/// An address that clients may open further channels to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub index: u32,
    pub capability: InterfaceCapability,
    /// In bits per second.
    pub speed: u64,
    pub address: IpAddr,
}

const INTERFACE_SIZE: usize = 152;
const INTERFACES_MAX: usize = 256;
const FAMILY_V4: u16 = 2;
const FAMILY_V6: u16 = 0x17;

pub fn write_interfaces(interfaces: &[Interface]) -> Bytes {
    let mut sink = Sink::with_capacity(interfaces.len() * INTERFACE_SIZE);
    for (at, interface) in interfaces.iter().enumerate() {
        sink.size32(if at + 1 < interfaces.len() { INTERFACE_SIZE } else { 0 });
        sink.u32(interface.index);
        sink.write(&interface.capability);
        sink.zeros(4);
        sink.u64(interface.speed);
        let start = sink.offset();
        match interface.address {
            IpAddr::V4(address) => {
                sink.u16(FAMILY_V4);
                sink.zeros(2);
                sink.bytes(&address.octets());
            }
            IpAddr::V6(address) => {
                sink.u16(FAMILY_V6);
                sink.zeros(6);
                sink.bytes(&address.octets());
            }
        }
        sink.zeros(128 - (sink.offset() - start));
    }
    sink.finish().freeze()
}

pub fn read_interfaces(output: Bytes) -> Parsed<Vec<Interface>> {
    let mut interfaces = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        if interfaces.len() == INTERFACES_MAX {
            return Err(Malformed::Count);
        }
        let mut source = Source::new(rest.clone());
        let next = source.size32()?;
        let (index, capability) = (source.u32()?, source.read()?);
        source.skip(4)?;
        let (speed, family) = (source.u64()?, source.u16()?);
        source.skip(2)?;
        let address = match family {
            FAMILY_V4 => IpAddr::from(source.array::<4>()?),
            FAMILY_V6 => {
                source.skip(4)?;
                IpAddr::from(source.array::<16>()?)
            }
            _ => return Err(Malformed::Value),
        };
        interfaces.push(Interface { index, capability, speed, address });
        match next {
            0 => break,
            INTERFACE_SIZE => rest = if rest.len() > next { rest.slice(next..) } else { return Err(Malformed::Range) },
            _ => return Err(Malformed::Range),
        }
    }
    Ok(interfaces)
}

/// ENUMERATE_SNAPSHOTS: all of them are counted, and they are listed if all fit ([MS-SMB2] 3.3.5.15.1).
pub fn write_snapshots(tokens: &[String], output_max: usize) -> Bytes {
    let mut names: Vec<u8> = tokens.iter().flat_map(|token| text::encode(&format!("{token}\0"))).collect();
    names.extend_from_slice(&[0, 0]);
    let fit = 12 + names.len() <= output_max;
    let mut sink = Sink::new();
    sink.size32(tokens.len());
    sink.size32(if fit { tokens.len() } else { 0 });
    sink.size32(names.len());
    sink.bytes(if fit { &names } else { &[0; 4] });
    sink.finish().freeze()
}

/// One interface of the server, by its address ([MS-SMB2] 2.2.32.5), of a gigabit and without RSS or RDMA.
pub fn write_interface(address: std::net::IpAddr) -> Bytes {
    const SIZE: usize = 152;
    let mut sink = Sink::new();
    // The last one; its number; what it can do; reserved; bits in a second.
    [0_u32, 1, 0, 0].iter().for_each(|number| sink.write(number));
    sink.write(&1_000_000_000_u64);
    match address {
        std::net::IpAddr::V4(address) => {
            sink.write(&2_u16);
            sink.zeros(2);
            sink.bytes(&address.octets());
        }
        std::net::IpAddr::V6(address) => {
            sink.write(&0x17_u16);
            sink.zeros(6);
            sink.bytes(&address.octets());
        }
    }
    sink.zeros(SIZE - sink.offset());
    sink.finish().freeze()
}

/// How many there are, and those that are listed.
pub fn read_snapshots(output: Bytes) -> Parsed<(u32, Vec<String>)> {
    let mut source = Source::new(output);
    let (total, returned, _) = (source.u32()?, source.size32()?, source.u32()?);
    let text = Wide::from_wire(source.rest())?.to_text().map_err(|_| Malformed::Value)?;
    Ok((total, text.split('\0').filter(|token| !token.is_empty()).take(returned).map(str::to_owned).collect()))
}

/// DFS_GET_REFERRALS: up to which version, and of what. There are none; the name is for the log.
pub fn parse_referral(input: Bytes) -> Parsed<(u16, Wide)> {
    let mut source = Source::new(input);
    let level = source.u16()?;
    let name = source.rest();
    let end = name.chunks_exact(2).position(|unit| unit == [0, 0]).map_or(name.len() & !1, |at| at * 2);
    Ok((level, Wide::from_wire(name.slice(..end))?))
}

/// PIPE_WAIT: whether a pipe of that name will be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeWait {
    pub timeout: Option<i64>,
    pub name: Wide,
}

impl Field for PipeWait {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (timeout, length, given): (i64, usize, bool) = (source.read()?, source.size32()?, source.read()?);
        source.skip(1)?;
        Ok(Self { timeout: given.then_some(timeout), name: Wide::from_wire(source.take(length)?)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.write(&self.timeout.unwrap_or(0));
        sink.size32(self.name.len());
        sink.write(&self.timeout.is_some());
        sink.zeros(1);
        self.name.write(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Field + PartialEq + std::fmt::Debug>(value: T) {
        assert_eq!(T::from_bytes(value.to_bytes()), Ok(value));
    }

    #[test]
    fn payloads_read_what_they_write() {
        again(ValidateRequest { client: [7; 16], dialects: vec![0x202, 0x311], ..Default::default() });
        again(ValidateResponse { dialect: 0x300, server: [9; 16], ..Default::default() });
        again(CopyRequest { source: [3; 24], chunks: vec![Chunk { source: 1, target: 2, length: 3 }] });
        again(CopyResponse { chunks: 1, chunk_bytes: 0, total_bytes: 3 });
        again(ZeroData { from: -1, to: 5 });
        again(PipeWait { timeout: Some(-5), name: "srvsvc".into() });
        again(PipeWait { timeout: None, name: Wide::default() });
        assert_eq!(ResumeKey { key: [1; 24] }.to_bytes().len(), 32, "as long as clients make room for");
        assert!(parse_set_sparse(&[]) && parse_set_sparse(&[1]) && !parse_set_sparse(&[0]));
    }

    #[test]
    fn interfaces_read_back() {
        let interface = |index, address: &str| Interface {
            index,
            capability: InterfaceCapability::RSS,
            speed: 10_000_000_000,
            address: address.parse().expect("an address"),
        };
        let list = vec![interface(1, "127.0.0.1"), interface(2, "fe80::1"), interface(3, "10.0.0.1")];
        let bytes = write_interfaces(&list);
        assert_eq!(bytes.len(), 3 * INTERFACE_SIZE);
        assert_eq!(read_interfaces(bytes), Ok(list));
        assert_eq!(read_interfaces(Bytes::new()), Ok(vec![]));
    }

    #[test]
    fn snapshots_are_counted_where_they_do_not_fit() {
        let tokens = vec!["@GMT-2024.01.02-03.04.05".to_owned(), "@GMT-2024.01.03-03.04.05".to_owned()];
        assert_eq!(read_snapshots(write_snapshots(&tokens, 4096)), Ok((2, tokens.clone())));
        assert_eq!(read_snapshots(write_snapshots(&tokens, 16)), Ok((2, vec![])));
        assert_eq!(write_snapshots(&tokens, 16)[8..12], (2 * 25 * 2 + 2u32).to_le_bytes());
    }

    #[test]
    fn ranges_that_do_not_fit_are_left_out_and_said_to_be() {
        let ranges = [AllocatedRange { offset: 0, length: 1 }, AllocatedRange { offset: 4, length: 1 }];
        assert_eq!(allocated_ranges(&ranges, 32), (ranges.iter().flat_map(|r| r.to_bytes()).collect(), true));
        assert_eq!(allocated_ranges(&ranges, 31), (ranges[0].to_bytes(), false));
    }

    #[test]
    fn too_many_chunks_are_refused_before_they_are_read() {
        let mut input = CopyRequest { source: [0; 24], chunks: vec![] }.to_bytes().to_vec();
        input[24..28].copy_from_slice(&257_u32.to_le_bytes());
        assert_eq!(CopyRequest::from_bytes(input.into()), Err(Malformed::Count));
    }
}
