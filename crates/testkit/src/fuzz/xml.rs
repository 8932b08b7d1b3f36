//! Every document a client can send. What was understood, written as the service writes it and read again, is the same.

use lazuli_http::refusal::Refusal;
use lazuli_http::wire::xml;
use lazuli_model::Version;
use lazuli_model::service::{ServiceProperties, ServicePropertiesChange};

pub const WORDS: &[&str] = &[
    "<BlockList>",
    "</BlockList>",
    "<Latest>AAAA</Latest>",
    "<Committed>",
    "<SignedIdentifiers>",
    "<SignedIdentifier>",
    "<Id>a</Id>",
    "<AccessPolicy>",
    "<Start>2020-01-01</Start>",
    "<Expiry>",
    "<Permission>rwd</Permission>",
    "<Tags><TagSet>",
    "<Tag><Key>a</Key>",
    "<Value>",
    "<QueueMessage><MessageText>",
    "<StorageServiceProperties>",
    "<Cors><CorsRule>",
    "<AllowedOrigins>*</AllowedOrigins>",
    "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?xml version=\"1.0\"?>",
    "<!DOCTYPE a [",
    "&lt;",
    "&#x41;",
    "&#0;",
    "&#xD800;",
    "&a;",
    "<a/>",
    "\u{feff}",
    "<KeyInfo>",
    "<StaticWebsite>",
    "<ProtocolSettings><SMB>",
];

pub fn run(input: &[u8]) {
    if let Ok(policies) = xml::read_signed_identifiers(input, xml::letters::CONTAINER) {
        let again = xml::read_signed_identifiers(&xml::acl(&policies), xml::letters::CONTAINER);
        assert_eq!(again.as_ref(), Ok(&policies), "policies");
    }
    if let Ok(tags) = xml::read_tags(input) {
        assert_eq!(xml::read_tags(&xml::tags(&tags)), Ok(tags), "tags");
    }
    if let Ok(text) = xml::read_message(input) {
        let mut document = String::from("<QueueMessage><MessageText>");
        xml::escape(&mut document, &text);
        document.push_str("</MessageText></QueueMessage>");
        assert_eq!(xml::read_message(document.as_bytes()), Ok(text), "a message");
    }
    if let Ok(change) = xml::read_service_properties(input) {
        settles(&change, |all| xml::service_properties(all, Version::NEWEST), xml::read_service_properties);
    }
    if let Ok(change) = xml::read_queue_service_properties(input) {
        settles(&change, xml::queue_service_properties, xml::read_queue_service_properties);
    }
    if let Ok(change) = xml::read_file_service_properties(input) {
        let write = |properties: &_| xml::file_service_properties(properties, Version::NEWEST);
        settles(&change, write, xml::read_file_service_properties);
    }
    let _ = xml::read_block_list(input);
    let _ = xml::read_key_info(input);
    let _ = xml::read_query(input);
}

/// Properties that were set are shown so that setting what is shown changes nothing that is shown.
fn settles(
    change: &ServicePropertiesChange,
    write: impl Fn(&ServiceProperties) -> Vec<u8>,
    read: fn(&[u8]) -> Result<ServicePropertiesChange, Refusal>,
) {
    let properties = change.apply(ServiceProperties::default());
    let shown = write(&properties);
    let again = read(&shown).unwrap_or_else(|refused| panic!("{refused:?}: {}", String::from_utf8_lossy(&shown)));
    let again = write(&again.apply(properties));
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&shown));
}
