//! Security descriptors, as text and as bytes. Whichever way one is written, it says the same: its key does not change.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::file::{Format, PERMISSION_MAX, Sddl};

pub const WORDS: &[&str] = &[
    "O:",
    "G:",
    "D:",
    "S:",
    "BA",
    "SY",
    "WD",
    "S-1-5-21-1-2-3-4",
    "(A;OICI;FA;;;BA)",
    "(D;;0x1301bf;;;AU)",
    "PAI",
    "AR",
    "NO_ACCESS_CONTROL",
    "(OA;;RP;bf967953-0de6-11d0-a285-00aa003049e2;;AU)",
    "(AU;SAFA;FA;;;WD)",
    "0x",
    ";",
];

pub fn run(input: &[u8]) {
    if let Ok(sddl) = Sddl::parse(&String::from_utf8_lossy(input), Format::Sddl) {
        check(&sddl);
    }
    if let Ok(sddl) = Sddl::parse(&STANDARD.encode(input), Format::Binary) {
        check(&sddl);
    }
}

fn check(sddl: &Sddl) {
    let bytes = sddl.to_format(Format::Binary).expect("what was read has a binary form");
    if bytes.len() <= PERMISSION_MAX {
        let again = Sddl::parse(&bytes, Format::Binary).unwrap_or_else(|_| panic!("{} as {bytes}", sddl.as_str()));
        assert_eq!(again.key(), sddl.key(), "{} became {}", sddl.as_str(), again.as_str());
        if again.as_str().len() <= PERMISSION_MAX {
            let text = Sddl::parse(again.as_str(), Format::Sddl).unwrap_or_else(|_| panic!("{}", again.as_str()));
            assert_eq!(text.key(), sddl.key(), "{}", again.as_str());
        }
    }
    for by_directory in [true, false] {
        let inherited = sddl.inherited(by_directory, None);
        inherited.to_format(Format::Binary).expect("what is inherited has a binary form");
    }
}
