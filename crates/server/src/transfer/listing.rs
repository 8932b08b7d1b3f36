//! What is at a place: blobs below a prefix, or files below a directory.

use std::path::{Path, PathBuf};

use lazuli_model::Timestamp;

use super::client::{Ask, Client};
use crate::api::encoded;

/// Something that can be copied, by its name below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// With slashes.
    pub name: String,
    pub length: u64,
    pub modified: Option<Timestamp>,
    pub etag: String,
    pub is_prefix: bool,
}

/// All blobs whose names begin with `prefix`; of those beyond a slash only their beginning, unless `deep`.
pub async fn blobs(client: &Client, container: &str, prefix: &str, deep: bool) -> Result<Vec<Item>, String> {
    let (mut items, mut marker) = (Vec::new(), String::new());
    loop {
        let delimiter = if deep { "" } else { "&delimiter=%2F" };
        let prefix = query(prefix);
        let query =
            format!("restype=container&comp=list&maxresults=5000{delimiter}&prefix={prefix}&marker={}", query(&marker));
        let ask = Ask { method: "GET", path: encoded(container), query, ..Ask::default() };
        let answer = client.ask(&ask, &[]).await?;
        let text = String::from_utf8(answer.body.to_vec()).map_err(|_| "the list is not UTF-8".to_owned())?;
        marker = read(&text, &mut items)?;
        if marker.is_empty() {
            return Ok(items);
        }
    }
}

/// Reads one page; gives the marker of the next.
fn read(text: &str, items: &mut Vec<Item>) -> Result<String, String> {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(text);
    let (mut path, mut item, mut marker) = (Vec::<String>::new(), None::<Item>, String::new());
    let mut inside = String::new();
    loop {
        match reader.read_event().map_err(|error| format!("the list is no XML: {error}"))? {
            Event::Eof => return Ok(marker),
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_owned();
                if name == "Blob" || name == "BlobPrefix" {
                    let is_prefix = name == "BlobPrefix";
                    item =
                        Some(Item { name: String::new(), length: 0, modified: None, etag: String::new(), is_prefix });
                }
                path.push(name);
                inside.clear();
            }
            Event::Text(text) => inside.push_str(&text),
            Event::GeneralRef(entity) => inside.push_str(&resolved(&entity)?),
            Event::End(_) => {
                let tag = path.pop().unwrap_or_default();
                match (tag.as_str(), &mut item) {
                    ("Name", Some(item)) => item.name = std::mem::take(&mut inside),
                    ("Content-Length", Some(item)) => item.length = inside.parse().unwrap_or_default(),
                    ("Last-Modified", Some(item)) => item.modified = Timestamp::parse_http(&inside),
                    ("Etag" | "ETag", Some(item)) => item.etag = inside.trim_matches('"').to_owned(),
                    ("Blob" | "BlobPrefix", found) => items.extend(found.take()),
                    ("NextMarker", None) => marker = std::mem::take(&mut inside),
                    _ => {}
                }
                inside.clear();
            }
            Event::Empty(_) | Event::CData(_) | Event::Comment(_) => {}
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// `&amp;` and its kin, and characters by number.
fn resolved(entity: &quick_xml::events::BytesRef<'_>) -> Result<String, String> {
    if let Some(letter) = entity.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(letter.to_string());
    }
    Ok(match entity.as_ref() {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        other => return Err(format!("&{other}; is not known")),
    }
    .to_owned())
}

fn query(text: &str) -> String {
    encoded(text).replace('/', "%2F").replace('$', "%24")
}

/// All files below a directory; or the file itself, if it is one.
pub fn files(root: &Path) -> Result<Vec<Item>, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let (mut items, mut directories): (Vec<Item>, Vec<PathBuf>) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).map_err(|error| failed(&directory, error))? {
            let path = entry.map_err(|error| failed(&directory, error))?.path();
            let found = std::fs::symlink_metadata(&path).map_err(|error| failed(&path, error))?;
            if found.is_dir() {
                directories.push(path);
            } else if found.is_file() && !super::copy::is_ours(&path) {
                items.push(file(root, &path, &found)?);
            }
        }
    }
    items.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(items)
}

pub fn file(root: &Path, path: &Path, found: &std::fs::Metadata) -> Result<Item, String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).unwrap_or(path).components().map(|part| part.as_os_str().to_str()).collect();
    let name = parts.ok_or_else(|| format!("{}: a name must be UTF-8", path.display()))?.join("/");
    let modified = found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = modified.map(|since| {
        let ticks = u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX);
        Timestamp::from_ticks(lazuli_engine::clock::UNIX_EPOCH_TICKS.saturating_add(ticks))
    });
    Ok(Item { name, length: found.len(), modified, etag: String::new(), is_prefix: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read() {
        let text = "<?xml version=\"1.0\"?><EnumerationResults><Blobs>\
            <Blob><Name>a &amp; b/&#x41;.txt</Name><Properties><Content-Length>7</Content-Length><Etag>0x1</Etag>\
            <Last-Modified>Thu, 21 Jul 2022 23:53:15 GMT</Last-Modified></Properties></Blob>\
            <BlobPrefix><Name>cats/</Name></BlobPrefix></Blobs><NextMarker>go on</NextMarker></EnumerationResults>";
        let mut items = Vec::new();
        assert_eq!(read(text, &mut items).unwrap(), "go on");
        assert_eq!((items[0].name.as_str(), items[0].length, items[0].etag.as_str()), ("a & b/A.txt", 7, "0x1"));
        assert!(items[0].modified.is_some() && items[1].is_prefix && items[1].name == "cats/");
    }
}
