//! A small document as a tree. No DTD, no entities but the five and character references, no depth to speak of; how
//! long it may be is for the caller to bound.

use std::borrow::Cow;

use lazuli_model::depth;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::is_char;

use crate::refusal::Refusal;

/// Twice as many elements as the longest block list has; a tree of them stays small.
const NODES_MAX: usize = 100_000;

const UNREADABLE: &str = "Error parsing Xml content";

/// An element: what it contains is either text or elements.
#[derive(Debug)]
pub struct Node<'a> {
    pub name: &'a str,
    pub text: Cow<'a, str>,
    pub children: Vec<Node<'a>>,
    /// Where the name stands in its end tag; .NET's readers report errors about an element there.
    end: usize,
}

/// A document that was read, with its text for the sake of error positions.
pub struct Document<'a> {
    source: &'a str,
    pub root: Node<'a>,
}

impl<'a> Document<'a> {
    pub fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body).map_err(|error| {
            let good = std::str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default();
            refuse(good, good.len(), UNREADABLE)
        })?;
        let source = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = tree(source).map_err(|at| refuse(source, at, UNREADABLE))?;
        Ok(Self { source, root })
    }

    /// A document whose root has this name.
    pub fn expect(body: &'a [u8], name: &str) -> Result<Self, Refusal> {
        let document = Self::read(body)?;
        if document.root.name == name { Ok(document) } else { Err(document.refuse(&document.root, "")) }
    }

    /// InvalidXmlDocument about a node.
    pub fn refuse(&self, node: &Node<'_>, reason: &'static str) -> Refusal {
        refuse(self.source, node.end, reason)
    }
}

impl Document<'_> {
    /// InvalidXmlDocument about a document that ends where .NET's reader wants an element, in that reader's words.
    pub fn refuse_empty(&self) -> Refusal {
        let refusal = refuse(self.source, self.source.trim_end().len(), UNREADABLE);
        let Refusal::InvalidXmlDocument { line, position, .. } = refusal else { return refusal };
        let reason = format!("{UNREADABLE}: 'None' is an invalid XmlNodeType. Line {line}, position {position}.");
        Refusal::InvalidXmlDocument { line, position, reason: reason.into() }
    }
}

impl<'a> Node<'a> {
    pub fn child(&self, name: &str) -> Option<&Node<'a>> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of a child; an empty child is one without text.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }
}

fn refuse(source: &str, at: usize, reason: &'static str) -> Refusal {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    let before = &source[..at];
    let line = before.matches('\n').count() + 1;
    let position = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Refusal::InvalidXmlDocument { line: count(line), position: count(position), reason: reason.into() }
}

/// The root, or where the document goes wrong.
fn tree(source: &str) -> Result<Node<'_>, usize> {
    let mut reader = Reader::from_str(source);
    reader.config_mut().check_comments = true;
    let mut open: Vec<Node<'_>> = Vec::new();
    let mut root = None;
    let mut nodes = 0;
    loop {
        let begin = offset(reader.buffer_position());
        let event = reader.read_event().map_err(|_| offset(reader.error_position()))?;
        match event {
            Event::Start(_) | Event::Empty(_)
                if root.is_some() || open.len() == depth::XML.levels() || nodes == NODES_MAX =>
            {
                return Err(begin);
            }
            Event::Start(_) => {
                nodes += 1;
                open.push(start(source, begin)?);
            }
            Event::Empty(_) => {
                nodes += 1;
                let node = start(source, begin)?;
                close(node, &mut open, &mut root);
            }
            Event::End(_) => {
                let mut node = open.pop().ok_or(begin)?;
                node.end = begin + "</".len();
                close(node, &mut open, &mut root);
            }
            Event::Text(text) => {
                check_chars(source, begin, offset(reader.buffer_position()))?;
                append(&mut open, text.xml10_content(), begin)?;
            }
            Event::CData(data) => {
                check_chars(source, begin, offset(reader.buffer_position()))?;
                append(&mut open, data.xml10_content(), begin)?;
            }
            Event::GeneralRef(reference) => {
                append(&mut open, Cow::Owned(resolve(&reference).ok_or(begin)?.to_string()), begin)?;
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::DocType(_) => return Err(begin),
            Event::Eof => return root.filter(|_| open.is_empty()).ok_or(begin),
        }
    }
}

/// Where the first character stands that XML does not have.
fn check_chars(source: &str, from: usize, to: usize) -> Result<(), usize> {
    let raw = source.get(from..to).ok_or(from)?;
    // Without a way out in the middle, many bytes are looked at in one step.
    if raw.bytes().fold(true, |plain, byte| plain & (b' '..0x7f).contains(&byte)) {
        return Ok(());
    }
    raw.char_indices().find(|(_, c)| !is_char(*c)).map_or(Ok(()), |(at, _)| Err(from + at))
}

fn offset(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// The name as it stands in the source, without a prefix.
fn start(source: &str, begin: usize) -> Result<Node<'_>, usize> {
    let tag = source.get(begin + 1..).ok_or(begin)?;
    let end = tag.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').ok_or(begin)?;
    let name = tag[..end].rsplit(':').next().unwrap_or_default();
    if name.is_empty() {
        return Err(begin);
    }
    Ok(Node { name, text: Cow::Borrowed(""), children: Vec::new(), end: begin + 1 })
}

fn close<'a>(node: Node<'a>, open: &mut [Node<'a>], root: &mut Option<Node<'a>>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(node),
        None => *root = Some(node),
    }
}

fn append<'a>(open: &mut [Node<'a>], text: Cow<'a, str>, at: usize) -> Result<(), usize> {
    match open.last_mut() {
        None if text.trim().is_empty() => {}
        None => return Err(at),
        Some(node) if node.text.is_empty() => node.text = text,
        Some(node) => node.text.to_mut().push_str(&text),
    }
    Ok(())
}

fn resolve(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    match &**reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten().filter(|c| is_char(*c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::noise::survive;

    fn shape(node: &Node<'_>) -> String {
        let children: String = node.children.iter().map(shape).collect();
        format!("{}[{}{children}]", node.name, if node.children.is_empty() { &node.text } else { "" })
    }

    #[test]
    fn documents_become_trees() {
        let table = [
            ("<a/>", "a[]"),
            ("<a />", "a[]"),
            ("\u{feff}<?xml version='1.0' encoding='utf-8'?>\n<a><b>1</b> <c x='y'>2</c></a>\n", "a[b[1]c[2]]"),
            ("<a>&lt;&#65;&#x42;&amp;&apos;&quot;&gt;</a>", "a[<AB&'\">]"),
            ("<a><![CDATA[<&>]]></a>", "a[<&>]"),
            ("<!-- c --><n:a xmlns:n='x'>t</n:a><!-- d -->", "a[t]"),
        ];
        for (text, expected) in table {
            let document = Document::read(text.as_bytes()).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
            assert_eq!(shape(&document.root), expected, "{text}");
        }
    }

    /// The one in two lines is what the service was recorded to say of `<QueueMessage><MessageText>\u{1}`.
    #[test]
    fn errors_have_a_place() {
        let deep = "<a>".repeat(depth::XML.levels() + 1);
        let table = [
            ("", (1, 1)),
            ("text", (1, 1)),
            ("<a>", (1, 4)),
            ("<a/><b/>", (1, 5)),
            ("<a></b>", (1, 4)),
            ("</a>", (1, 1)),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", (1, 1)),
            ("<a>&b;</a>", (1, 4)),
            ("<a>&#0;</a>", (1, 4)),
            ("<a>&#xFFFF;</a>", (1, 4)),
            ("<?xml version='1.0'?>\n<QueueMessage><MessageText>\u{1}</MessageText></QueueMessage>", (2, 28)),
            ("<a><![CDATA[\u{1}]]></a>", (1, 13)),
            (&deep, (1, 49)),
        ];
        for (text, (line, position)) in table {
            let reason = Cow::Borrowed(UNREADABLE);
            let expected = Refusal::InvalidXmlDocument { line, position, reason };
            assert_eq!(Document::read(text.as_bytes()).err(), Some(expected), "{text}");
        }
        assert!(Document::read(b"<a>\xff</a>").is_err());
        let many = |count: usize| format!("<a>{}</a>", "<b/>".repeat(count));
        assert!(Document::read(many(NODES_MAX - 1).as_bytes()).is_ok());
        assert!(Document::read(many(NODES_MAX).as_bytes()).is_err());
    }

    #[test]
    fn nonsense_does_not_panic() {
        let good: &[u8] =
            "\u{feff}<?xml version='1.0'?>\n<a x='1'><!-- é --><b>&lt;&#65;</b><![CDATA[]]]]><c/></a>".as_bytes();
        survive(&[good], |bytes| drop(Document::read(bytes).map(|document| shape(&document.root))));
    }
}
