//! Takes a tree of files up, lists it, takes it down and compares, renames and deletes, with the crate `smb`.
//!
//! `smb-rust SHARE PORT USER KEY allowed|required`: the last word says whether everything has to be encrypted.

use std::error::Error;
use std::str::FromStr;

use smb::connection::EncryptionMode;
use smb::{
    Client, ClientConfig, ConnectionConfig, CreateOptions, Directory, FileAccessMask, FileAttributes, FileCreateArgs,
    FileDispositionInformation, FileNamesInformation, FileRenameInformation, UncPath,
};

type Done = Result<(), Box<dyn Error>>;

fn content(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + number * 7 + at / 251) as u8).collect()
}

fn names(directory: &Directory) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in directory.query::<FileNamesInformation>("*")? {
        names.push(entry?.file_name.to_string());
    }
    names.retain(|name| name != "." && name != "..");
    names.sort();
    Ok(names)
}

fn main() -> Done {
    let [share, port, user, key, encryption] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("SHARE PORT USER KEY allowed|required".into());
    };
    let encryption_mode = if encryption == "required" { EncryptionMode::Required } else { EncryptionMode::Allowed };
    let connection = ConnectionConfig { port: Some(port.parse()?), encryption_mode, ..Default::default() };
    let client = Client::new(ClientConfig { dfs: false, connection, ..Default::default() });
    let root = UncPath::from_str(&format!(r"\\127.0.0.1\{share}"))?;
    client.share_connect(&root, user, key.clone())?;
    let all = || FileAccessMask::new().with_generic_all(true);
    let open = |path: &str| client.create_file(&root.clone().with_path(path), &FileCreateArgs::make_open_existing(all()));

    for path in ["tree", r"tree\deep"] {
        let directory = FileCreateArgs::make_create_new(
            FileAttributes::new().with_directory(true),
            CreateOptions::new().with_directory_file(true),
        );
        client.create_file(&root.clone().with_path(path), &directory)?.unwrap_dir().close()?;
    }
    let lengths = [0, 1, 4_096, 65_537, 3_000_000];
    for (number, length) in lengths.iter().enumerate() {
        let args = FileCreateArgs::make_create_new(FileAttributes::new(), CreateOptions::new());
        let file = client.create_file(&root.clone().with_path(&format!(r"tree\deep\{number}.bin")), &args)?.unwrap_file();
        let bytes = content(number, *length);
        for (at, piece) in bytes.chunks(1 << 20).enumerate() {
            let written = file.write_block(piece, (at << 20) as u64, None)?;
            assert_eq!(written, piece.len());
        }
        file.flush()?;
        file.close()?;
    }
    let wanted: Vec<String> = (0..lengths.len()).map(|number| format!("{number}.bin")).collect();
    let directory = open(r"tree\deep")?.unwrap_dir();
    assert_eq!(names(&directory)?, wanted);
    directory.close()?;
    for (number, length) in lengths.iter().enumerate() {
        let file = open(&format!(r"tree\deep\{number}.bin"))?.unwrap_file();
        let mut bytes = vec![0; *length];
        let mut at = 0;
        while at < *length {
            let end = (at + (1 << 20)).min(*length);
            let read = file.read_block(&mut bytes[at..end], at as u64, None, false)?;
            assert!(read > 0, "the file ends at {at} of {length}");
            at += read;
        }
        assert!(bytes == content(number, *length), "file {number} came back different");
        let moved = FileRenameInformation {
            replace_if_exists: false.into(),
            root_directory: 0,
            file_name: format!(r"tree\{number}.moved").as_str().into(),
        };
        file.set_info(moved)?;
        file.close()?;
    }
    let directory = open("tree")?.unwrap_dir();
    assert_eq!(names(&directory)?.len(), lengths.len() + 1);
    directory.close()?;
    for number in 0..lengths.len() {
        let file = open(&format!(r"tree\{number}.moved"))?.unwrap_file();
        file.set_info(FileDispositionInformation::default())?;
        file.close()?;
    }
    for path in [r"tree\deep", "tree"] {
        let directory = open(path)?.unwrap_dir();
        directory.set_info(FileDispositionInformation::default())?;
        directory.close()?;
    }
    let top = open("")?.unwrap_dir();
    assert_eq!(names(&top)?, Vec::<String>::new());
    top.close()?;
    client.close()?;
    Ok(())
}
