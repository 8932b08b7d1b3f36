//! Information about the file system that a share is ([MS-FSCC] 2.5).

use crate::packet::wire::{Field, Parsed, Sink, Source, bits, numbers, record};
use crate::text::Wide;
use crate::time::FileTime;

numbers! { Class: u8 {
    Volume = 1,
    Label = 2,
    Size = 3,
    Device = 4,
    Attribute = 5,
    Control = 6,
    FullSize = 7,
    ObjectId = 8,
    DriverPath = 9,
    SectorSize = 11,
} }

/// Its label is a share's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    pub created: FileTime,
    pub serial: u32,
    pub supports_objects: bool,
    pub label: Wide,
}

impl Volume {
    pub const LEAST: usize = 18;
}

impl Field for Volume {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (created, serial, length) = (source.read()?, source.u32()?, source.size32()?);
        let supports_objects = source.read()?;
        source.skip(1)?;
        Ok(Self { created, serial, supports_objects, label: Wide::from_wire(source.take(length)?)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.write(&self.created);
        sink.u32(self.serial);
        sink.size32(self.label.len());
        sink.write(&self.supports_objects);
        sink.zeros(1);
        self.label.write(sink);
    }
}

record! { Size { total_units: u64, available_units: u64, sectors_per_unit: u32, bytes_per_sector: u32 } }

record! { FullSize {
    total_units: u64,
    caller_available_units: u64,
    available_units: u64,
    sectors_per_unit: u32,
    bytes_per_sector: u32,
} }

record! { Device { kind: u32, characteristics: u32 } }

pub const DEVICE_DISK: u32 = 0x7;
pub const DEVICE_IS_MOUNTED: u32 = 0x20;

bits! { SystemAttributes: u32 {
    CASE_SENSITIVE_SEARCH = 0x1,
    CASE_PRESERVED_NAMES = 0x2,
    UNICODE_ON_DISK = 0x4,
    PERSISTENT_ACLS = 0x8,
    FILE_COMPRESSION = 0x10,
    VOLUME_QUOTAS = 0x20,
    SPARSE_FILES = 0x40,
    REPARSE_POINTS = 0x80,
    OBJECT_IDS = 0x1_0000,
    NAMED_STREAMS = 0x4_0000,
    READ_ONLY = 0x8_0000,
    EXTENDED_ATTRIBUTES = 0x80_0000,
} }

/// What it can do, and what it is called; Windows decides a lot by the name "NTFS".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute {
    pub attributes: SystemAttributes,
    pub name_max: u32,
    pub name: Wide,
}

impl Attribute {
    pub const LEAST: usize = 12;
}

impl Field for Attribute {
    fn read(source: &mut Source) -> Parsed<Self> {
        let (attributes, name_max, length) = (source.read()?, source.u32()?, source.size32()?);
        Ok(Self { attributes, name_max, name: Wide::from_wire(source.take(length)?)? })
    }

    fn write(&self, sink: &mut Sink) {
        sink.write(&self.attributes);
        sink.u32(self.name_max);
        sink.size32(self.name.len());
        self.name.write(sink);
    }
}

record! { Control {
    start_filtering: u64,
    threshold: u64,
    stop_filtering: u64,
    quota_threshold: u64,
    quota_limit: u64,
    flags: u32 => 4,
} }

record! { ObjectId { id: [u8; 16] => 48 } }

record! { SectorSize {
    logical: u32,
    physical_atomic: u32,
    physical_performance: u32,
    effective_atomic: u32,
    flags: u32,
    sector_alignment: u32,
    partition_alignment: u32,
} }

#[cfg(test)]
mod tests {
    use super::*;

    fn length_and_back<T: Field + PartialEq + std::fmt::Debug>(value: T, length: usize) {
        assert_eq!(value.to_bytes().len(), length, "{value:?}");
        assert_eq!(T::from_bytes(value.to_bytes()), Ok(value));
    }

    /// The lengths that [MS-FSCC] gives, which clients check.
    #[test]
    fn classes_have_their_lengths() {
        length_and_back(Volume { serial: 7, ..Default::default() }, Volume::LEAST);
        length_and_back(Volume { label: "share".into(), created: FileTime(9), ..Default::default() }, 28);
        length_and_back(Size { total_units: 1, ..Default::default() }, 24);
        length_and_back(FullSize { available_units: 2, ..Default::default() }, 32);
        length_and_back(Device { kind: DEVICE_DISK, characteristics: DEVICE_IS_MOUNTED }, 8);
        length_and_back(Attribute { name_max: 255, name: "NTFS".into(), ..Default::default() }, 20);
        length_and_back(Control { quota_limit: 3, ..Default::default() }, 48);
        length_and_back(ObjectId { id: [1; 16] }, 64);
        length_and_back(SectorSize { logical: 512, ..Default::default() }, 28);
    }
}
