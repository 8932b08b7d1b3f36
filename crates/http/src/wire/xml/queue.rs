//! The documents of the Queue service. Elements and their order are those of recorded answers.

use lazuli_model::Version;
use lazuli_model::queue::Message;
use lazuli_model::service::{ServiceProperties, ServicePropertiesChange};
use lazuli_store::{Delivery, QueuePage};

use super::listing::{Repeated, enumeration, metadata, surround};
use super::read::Document;
use super::{document, element, number, read_service_properties};
use crate::head::guid;
use crate::refusal::Refusal;
use crate::versions::Since;

/// The last second that a date can say: what never expires, expires then.
const NEVER: lazuli_model::Timestamp = lazuli_model::Timestamp::from_ticks(u64::MAX);

/// What List Queues repeats of its request.
#[derive(Clone, Copy, Debug)]
pub struct QueueListing<'a> {
    /// With a slash at the end.
    pub endpoint: &'a str,
    pub prefix: Option<&'a str>,
    pub marker: Option<&'a str>,
    pub max_results: Option<u32>,
    pub version: Version,
    pub metadata: bool,
}

pub fn queues(listing: &QueueListing<'_>, page: &QueuePage) -> Vec<u8> {
    let &QueueListing { endpoint, prefix, marker, max_results, version, .. } = listing;
    let by_account = !Since::ServiceEndpoint.is_in(version);
    let repeated = Repeated { endpoint, prefix, marker, max_results, by_account };
    enumeration(&repeated, ("Queues", &page.items), page.next.as_deref(), 128, |out, item| {
        out.push_str("<Queue>");
        element(out, "Name", item.name.as_str());
        if by_account {
            element(out, "Url", &format!("{endpoint}{}", item.name.as_str()));
        }
        if listing.metadata {
            metadata(out, &item.queue.metadata);
        }
        out.push_str("</Queue>");
    })
}

/// The answer to Put Message.
pub fn put_message(message: &Message) -> Vec<u8> {
    messages(1, 0, |out| {
        identity(out, message);
        hold(out, message);
        out.push_str("</QueueMessage>");
    })
}

pub fn got_messages(deliveries: &[Delivery]) -> Vec<u8> {
    messages(deliveries.len(), length(deliveries), |out| {
        for delivery in deliveries {
            identity(out, &delivery.message);
            hold(out, &delivery.message);
            content(out, delivery);
        }
    })
}

pub fn peeked_messages(deliveries: &[Delivery]) -> Vec<u8> {
    messages(deliveries.len(), length(deliveries), |out| {
        for delivery in deliveries {
            identity(out, &delivery.message);
            content(out, delivery);
        }
    })
}

fn length(deliveries: &[Delivery]) -> usize {
    deliveries.iter().map(|delivery| delivery.text.len()).sum()
}

fn messages(count: usize, length: usize, inside: impl FnOnce(&mut String)) -> Vec<u8> {
    let mut out = document(64 + count * 512 + length);
    surround(&mut out, "QueueMessagesList", count == 0, inside);
    out.into_bytes()
}

fn identity(out: &mut String, message: &Message) {
    out.push_str("<QueueMessage>");
    element(out, "MessageId", &guid(message.id));
    element(out, "InsertionTime", &message.place.inserted.to_http());
    element(out, "ExpirationTime", &message.expires.unwrap_or(NEVER).to_http());
}

fn hold(out: &mut String, message: &Message) {
    element(out, "PopReceipt", &message.receipt().to_string());
    element(out, "TimeNextVisible", &message.place.visible.to_http());
}

fn content(out: &mut String, delivery: &Delivery) {
    number(out, "DequeueCount", delivery.message.dequeued);
    element(out, "MessageText", &delivery.text);
    out.push_str("</QueueMessage>");
}

/// The text of Put Message and Update Message, exactly as it stands.
pub fn read_message(body: &[u8]) -> Result<String, Refusal> {
    let document = Document::expect(body, "QueueMessage")?;
    let missing = || Refusal::MissingRequiredXmlNode { name: "MessageText".into() };
    Ok(document.root.child("MessageText").ok_or_else(missing)?.text.to_string())
}

/// Get Queue Service Properties: no default version, nothing about deleted blobs and websites.
pub fn queue_service_properties(properties: &ServiceProperties) -> Vec<u8> {
    let mut out = document(1024);
    out.push_str("<StorageServiceProperties>");
    super::answers::analytics_and_cors(&mut out, properties);
    out.push_str("</StorageServiceProperties>");
    out.into_bytes()
}

const SECTIONS: [&str; 5] = ["Logging", "HourMetrics", "Metrics", "MinuteMetrics", "Cors"];

/// Set Queue Service Properties.
pub fn read_queue_service_properties(body: &[u8]) -> Result<ServicePropertiesChange, Refusal> {
    let document = Document::expect(body, "StorageServiceProperties")?;
    // Observed: the Queue service wants at least one section.
    if document.root.children.is_empty() {
        return Err(document.refuse_empty());
    }
    match document.root.children.iter().find(|node| !SECTIONS.contains(&node.name)) {
        Some(node) => Err(Refusal::UnsupportedXmlNode { name: node.name.to_owned() }),
        None => read_service_properties(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lazuli_model::queue::{Place, PutMessage};
    use lazuli_model::{Metadata, QueueName, Timestamp};
    use lazuli_store::QueueItem;

    fn text(document: Vec<u8>) -> String {
        let text = String::from_utf8(document).expect("UTF-8");
        text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").expect("a declaration").to_owned()
    }

    fn at(time: &str) -> Timestamp {
        Timestamp::parse_http(time).expect("a time")
    }

    #[test]
    fn messages_as_recorded() {
        let put = PutMessage {
            id: 0x845bdf53_0a53_4b8d_b0d0_3a66ea28ab13,
            text: String::new(),
            hidden_seconds: 0,
            lives_seconds: Some(604_800),
        };
        let message = put.decide(at("Thu, 27 Oct 2022 22:04:56 GMT"));
        let taken = message.taken(31, at("Thu, 27 Oct 2022 22:04:56 GMT"));
        let head = "<QueueMessagesList><QueueMessage><MessageId>845bdf53-0a53-4b8d-b0d0-3a66ea28ab13</MessageId><InsertionTime>Thu, 27 Oct 2022 22:04:56 GMT</InsertionTime><ExpirationTime>Thu, 03 Nov 2022 22:04:56 GMT</ExpirationTime>";
        let receipt = |message: &Message| format!("<PopReceipt>{}</PopReceipt>", message.receipt());
        let end = "</QueueMessage></QueueMessagesList>";
        assert_eq!(
            text(put_message(&message)),
            format!("{head}{}<TimeNextVisible>Thu, 27 Oct 2022 22:04:56 GMT</TimeNextVisible>{end}", receipt(&message))
        );
        assert_eq!(
            text(got_messages(&[Delivery { message: taken.clone(), text: " <a>&\r\n ".into() }])),
            format!(
                "{head}{}<TimeNextVisible>Thu, 27 Oct 2022 22:05:27 GMT</TimeNextVisible><DequeueCount>1</DequeueCount><MessageText> &lt;a&gt;&amp;&#xD;\n </MessageText>{end}",
                receipt(&taken)
            )
        );
        assert_eq!(
            text(peeked_messages(&[Delivery { message: message.clone(), text: "message1".into() }])),
            format!("{head}<DequeueCount>0</DequeueCount><MessageText>message1</MessageText>{end}")
        );
        assert_eq!(text(got_messages(&[])), "<QueueMessagesList />");
        let place = Place { visible: message.place.visible, inserted: message.place.inserted };
        let forever = text(put_message(&Message { expires: None, place, ..message }));
        assert!(forever.contains("<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"), "{forever}");
    }

    #[test]
    fn queues_as_recorded() {
        let metadata = Metadata::new(vec![("val1".into(), "test".into()), ("val2".into(), "blah".into())]);
        let queue = lazuli_model::queue::Queue { id: 1, metadata: metadata.expect("metadata"), policies: vec![] };
        let item = QueueItem { name: QueueName::parse("pyqueuesync59e2a19").expect("a name"), queue };
        let listing = QueueListing {
            endpoint: "https://storagename.queue.core.windows.net/",
            prefix: Some("pyqueuesync59e2a19"),
            marker: None,
            max_results: Some(1),
            version: Version::new(2021, 2, 12),
            metadata: true,
        };
        assert_eq!(
            text(queues(&listing, &QueuePage { items: vec![item], next: None })),
            "<EnumerationResults ServiceEndpoint=\"https://storagename.queue.core.windows.net/\"><Prefix>pyqueuesync59e2a19</Prefix><MaxResults>1</MaxResults><Queues><Queue><Name>pyqueuesync59e2a19</Name><Metadata><val1>test</val1><val2>blah</val2></Metadata></Queue></Queues><NextMarker /></EnumerationResults>"
        );
    }

    #[test]
    fn texts_are_kept_exactly() {
        for (inner, expected) in [
            ("plain", "plain"),
            (" a\tb\n ", " a\tb\n "),
            ("&lt;b&gt;&amp;amp;&#xD;", "<b>&amp;\r"),
            ("<![CDATA[<x/>]]>", "<x/>"),
            ("", ""),
            ("啊齄\u{10000}", "啊齄\u{10000}"),
        ] {
            let body = format!("<QueueMessage><MessageText>{inner}</MessageText></QueueMessage>");
            assert_eq!(read_message(body.as_bytes()).as_deref(), Ok(expected), "{inner}");
        }
        assert!(matches!(read_message(b"<QueueMessage />"), Err(Refusal::MissingRequiredXmlNode { .. })));
        assert!(matches!(read_message(b""), Err(Refusal::InvalidXmlDocument { .. })));
    }

    #[test]
    fn properties_have_no_blobs_sections() {
        let shown = text(queue_service_properties(&ServiceProperties::default()));
        assert!(shown.ends_with("<Cors /></StorageServiceProperties>"), "{shown}");
        assert!(read_queue_service_properties(shown.as_bytes()).is_ok());
        let empty = b"<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties />";
        let reason = "Error parsing Xml content: 'None' is an invalid XmlNodeType. Line 2, position 29.";
        let refused = Refusal::InvalidXmlDocument { line: 2, position: 29, reason: reason.into() };
        assert_eq!(read_queue_service_properties(empty), Err(refused));
        for section in ["StaticWebsite", "DeleteRetentionPolicy", "DefaultServiceVersion"] {
            let body = format!("<StorageServiceProperties><{section} /></StorageServiceProperties>");
            let refused = Refusal::UnsupportedXmlNode { name: section.to_owned() };
            assert_eq!(read_queue_service_properties(body.as_bytes()), Err(refused));
        }
    }
}
