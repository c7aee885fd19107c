//! The little XML that S3 answers: the texts of one element's children. Nothing is expanded, and
//! what is read is bounded.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// A longer answer is none of S3's.
pub(crate) const LONGEST: usize = 64 << 10;
/// Children that are looked at.
const CHILDREN: usize = 64;

/// A document: its root's name, and the texts of its children by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub root: String,
    fields: BTreeMap<String, String>,
}

impl Document {
    /// What can be read of `bytes`; a document that is cut off or no XML at all ends where it does.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader::from_str(&text);
        let mut this = Self::default();
        let (mut depth, mut field) = (0_usize, None::<(String, String)>);
        while let Ok(event) = reader.read_event() {
            match event {
                Event::Start(start) => {
                    depth += 1;
                    let name = start.local_name().as_ref().to_owned();
                    match depth {
                        1 => this.root = name,
                        2 => field = Some((name, String::new())),
                        _ => {}
                    }
                }
                Event::End(_) => {
                    depth = depth.saturating_sub(1);
                    if depth == 1
                        && this.fields.len() < CHILDREN
                        && let Some((name, text)) = field.take()
                    {
                        this.fields.entry(name).or_insert(text);
                    }
                }
                Event::Text(text) if depth == 2 => push(&mut field, &text.xml10_content()),
                Event::CData(text) if depth == 2 => push(&mut field, &text.xml10_content()),
                Event::GeneralRef(name) if depth == 2 => match name.resolve_char_ref() {
                    Ok(Some(c)) => push(&mut field, c.encode_utf8(&mut [0; 4])),
                    _ => push(
                        &mut field,
                        resolve_predefined_entity(&name.xml10_content()).unwrap_or("?"),
                    ),
                },
                Event::Eof => break,
                _ => {}
            }
        }
        this
    }

    /// The text of the child `name`, empty when there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |text| text.trim())
    }
}

fn push(field: &mut Option<(String, String)>, text: &str) {
    if let Some((_, value)) = field {
        value.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_and_nothing_expanded() {
        let read = |text: &str| Document::read(text.as_bytes());
        let told = read(
            "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code>\
             <Message>a &amp; b &#39;c&#39;<![CDATA[<d>]]></Message><E><Code>inner</Code></E></Error>",
        );
        assert_eq!(told.root, "Error");
        assert_eq!(told.get("Code"), "AccessDenied");
        assert_eq!(told.get("Message"), "a & b 'c'<d>");
        assert_eq!(told.get("E"), "");
        let bomb = read(
            "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Error><Code>&b;</Code></Error>",
        );
        assert_eq!(bomb.get("Code"), "?");
    }

    #[test]
    fn nothing_that_is_sent_upsets_it() {
        let deep = "<a>".repeat(30_000);
        let many = format!("<Error>{}</Error>", "<x1>y</x1>".repeat(5_000));
        for bytes in [
            b"".as_slice(),
            b"\xff\xfe<",
            b"<Error><Code>cut",
            b"</Error></Error><Code>",
            b"<html><body>502</body>",
            deep.as_bytes(),
            many.as_bytes(),
        ] {
            assert!(Document::read(bytes).get("Code").len() < LONGEST);
        }
        assert_eq!(
            Document::read(b"<Error><Code>a</Code><Code>b</Code></Error>").get("Code"),
            "a"
        );
    }
}
