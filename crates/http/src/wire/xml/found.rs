//! Find Blobs by Tags. Unlike other listings it begins on a new line, and escapes apostrophes (as recorded).

use lazuli_model::tags::TagSearch;
use lazuli_model::{Tags, Version};
use lazuli_store::FoundPage;

use super::answers::tag_set;
use super::listing::{name, surround};
use super::{attribute, document, element, escape, number, optional};

/// What the answer repeats of its request.
#[derive(Clone, Copy, Debug)]
pub struct FoundListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub expression: &'a str,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub version: Version,
    pub search: &'a TagSearch,
}

pub fn found_blobs(listing: &FoundListing<'_>, page: &FoundPage) -> Vec<u8> {
    let mut out = document(512 + page.blobs.len() * 256);
    out.push_str("\n<EnumerationResults");
    attribute(&mut out, "ServiceEndpoint", listing.endpoint);
    out.push('>');
    optional(&mut out, "Marker", listing.marker);
    let mut expression = String::new();
    escape(&mut expression, listing.expression);
    out.extend(["<Where>", &expression.replace('\'', "&apos;").replace('"', "&quot;"), "</Where>"]);
    if let Some(most) = listing.max_results {
        number(&mut out, "MaxResults", most);
    }
    surround(&mut out, "Blobs", page.blobs.is_empty(), |out| {
        for blob in &page.blobs {
            out.push_str("<Blob>");
            name(out, blob.name.as_str(), listing.version);
            element(out, "ContainerName", blob.container.as_str());
            optional(out, "VersionId", blob.version.map(|id| id.to_iso()).as_deref());
            if blob.version.is_some() && blob.is_current {
                element(out, "IsCurrentVersion", "true");
            }
            if blob.is_deleted {
                element(out, "Deleted", "true");
            }
            let shown = listing.search.shown(&blob.tags);
            let shown = shown.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            tag_set(out, &Tags::new(shown).unwrap_or_default());
            out.push_str("</Blob>");
        }
    });
    element(&mut out, "NextMarker", page.next.as_deref().unwrap_or_default());
    out.push_str("</EnumerationResults>");
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazuli_model::{BlobName, ContainerName};
    use lazuli_store::FoundBlob;

    #[test]
    fn a_page_as_recorded() {
        let expression = "tag1='firsttag' and tag2='secondtag'";
        let listing = FoundListing {
            endpoint: "https://storagename.blob.core.windows.net/",
            expression,
            marker: None,
            max_results: Some(2),
            version: Version::NEWEST,
            search: &TagSearch::parse(expression).unwrap(),
        };
        let blob = FoundBlob {
            container: ContainerName::parse("testfindf6db29bb").unwrap(),
            name: BlobName::parse("blob1").unwrap(),
            tags: Tags::parse_query("tag1=firsttag&tag2=secondtag&tag3=thirdtag").unwrap(),
            version: None,
            is_current: true,
            is_deleted: false,
        };
        let page = FoundPage { blobs: vec![blob], next: Some("next".to_owned()) };
        assert_eq!(
            String::from_utf8(found_blobs(&listing, &page)).unwrap(),
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<EnumerationResults ServiceEndpoint=\"https://storagename.blob.core.windows.net/\"><Where>tag1=&apos;firsttag&apos; and tag2=&apos;secondtag&apos;</Where><MaxResults>2</MaxResults><Blobs><Blob><Name>blob1</Name><ContainerName>testfindf6db29bb</ContainerName><Tags><TagSet><Tag><Key>tag1</Key><Value>firsttag</Value></Tag><Tag><Key>tag2</Key><Value>secondtag</Value></Tag></TagSet></Tags></Blob></Blobs><NextMarker>next</NextMarker></EnumerationResults>"
        );
    }
}
